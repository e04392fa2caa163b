"""What a function logs, counts and traces, and the clients of vendors that take part in it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools import Logger, Metrics, Tracer

from sakuin.adapters.supabase_client import connected
from sakuin.adapters.vendor_calls import OPENAI_HEADER, REQUEST_HEADER, messages_with_work, watched
from sakuin.entrypoints.observing import CurrentWork, EmfMeter
from sakuin.settings import Secrets, Settings, configured

if TYPE_CHECKING:
    from openai import OpenAI
    from postgrest import SyncPostgrestClient as Client

    from sakuin.adapters.turbopuffer import TurbopufferChunkStore
    from sakuin.ports.embedding import Embedder, QuestionEmbedder
    from sakuin.ports.materials import LearnsModel

_OPENAI_SECONDS = 30.0
_OPENAI_RETRIES = 4
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Watch:
    """One function's. `work` names what it does now."""

    logger: Logger
    metrics: Metrics
    tracer: Tracer
    work: CurrentWork
    meter: EmfMeter


def watch(activity: str) -> Watch:
    """A function's watch; metrics about its vendors begin with `activity`."""
    metrics = Metrics(namespace="Sakuin")
    return Watch(Logger(), metrics, Tracer(), CurrentWork(), EmfMeter(metrics, activity))


def supabase(settings: Settings, secrets: Secrets, watch: Watch) -> "Client":
    """Supabase, with the service key."""
    client = connected(settings.supabase_url, secrets.supabase_service_key)
    watched(client.session, watch.meter, watch.work, header=REQUEST_HEADER, leg="Database")
    return client


def openai(settings: Settings, secrets: Secrets, watch: Watch, *, leg: str) -> "OpenAI":
    """OpenAI, or what speaks its API."""
    from openai import DefaultHttpxClient, OpenAI

    session = DefaultHttpxClient()
    watched(session, watch.meter, watch.work, header=OPENAI_HEADER, leg=leg)
    return OpenAI(
        api_key=secrets.openai_api_key,
        base_url=settings.openai_base_url,
        timeout=_OPENAI_SECONDS,
        max_retries=_OPENAI_RETRIES,
        http_client=session,
    )


def question_embedder(settings: Settings, secrets: Secrets, watch: Watch) -> "QuestionEmbedder":
    """The embedder of searches: always there."""
    from sakuin.adapters.openai_questions import OpenAIQuestions
    from sakuin.adapters.openai_questions import connected as openai_connected

    session = openai_connected(settings.openai_base_url, secrets.openai_api_key)
    watched(session, watch.meter, watch.work, header=OPENAI_HEADER, leg="Embedding")
    return OpenAIQuestions(session, settings.embedding_model, partial(_used, settings, watch))


def indexing_embedder(settings: Settings, secrets: Secrets, watch: Watch, client: "Client") -> "Embedder":
    """The embedder of indexing, which keeps to the day's budget where one is set."""
    if not settings.embedding_daily_tokens:
        return _embedder(settings, secrets, watch, lambda _tokens: None)
    from sakuin.adapters.supabase_ledger import SupabaseLedger
    from sakuin.services.embedding_budget import BudgetedEmbedder

    ledger = SupabaseLedger(client)
    counting = _embedder(settings, secrets, watch, ledger.add)
    return BudgetedEmbedder(counting, ledger, settings.embedding_daily_tokens)


def learns_model(settings: Settings, secrets: Secrets, watch: Watch, client: "Client") -> "LearnsModel | None":
    """The model that writes `learns`, which keeps to the budget of what will be embedded; None where none is set."""
    if not settings.learns_model:
        return None
    from sakuin.adapters.openai_learns import OpenAILearnsModel

    model = OpenAILearnsModel(openai(settings, secrets, watch, leg="Learns"), settings.learns_model)
    if not settings.embedding_daily_tokens:
        return model
    from sakuin.adapters.supabase_ledger import SupabaseLedger
    from sakuin.services.embedding_budget import BudgetedLearnsModel

    return BudgetedLearnsModel(model, SupabaseLedger(client), settings.embedding_daily_tokens)


def _embedder(settings: Settings, secrets: Secrets, watch: Watch, spend: Callable[[int], None]) -> "Embedder":
    from sakuin.adapters.openai_embeddings import OpenAIEmbedder

    def used(tokens: int) -> None:
        _used(settings, watch, tokens)
        spend(tokens)

    return OpenAIEmbedder(openai(settings, secrets, watch, leg="Embedding"), settings.embedding_model, used)


def _used(settings: Settings, watch: Watch, tokens: int) -> None:
    watch.meter.count("EmbeddingTokens", tokens)
    watch.meter.count("EmbeddingUsd", tokens * settings.embedding_usd_per_million_tokens / _MILLION)


def chunk_store(settings: Settings, secrets: Secrets, watch: Watch) -> "TurbopufferChunkStore":
    """turbopuffer."""
    from turbopuffer import DefaultHttpxClient

    from sakuin.adapters.turbopuffer import TurbopufferChunkStore
    from sakuin.adapters.turbopuffer_client import connected as store_connected

    url = configured(settings.turbopuffer_base_url, "TURBOPUFFER_BASE_URL", "https://gcp-us-central1.turbopuffer.com")
    session = DefaultHttpxClient()
    watched(session, watch.meter, watch.work, header=REQUEST_HEADER, leg="Store")
    return TurbopufferChunkStore(store_connected(url, secrets.turbopuffer_api_key, session))


def queues(watch: Watch) -> Any:
    """boto3's client of SQS."""
    from sakuin.adapters.aws import client

    return messages_with_work(client("sqs"), watch.work)
