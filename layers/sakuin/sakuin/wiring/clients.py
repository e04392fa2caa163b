"""The telemetry of a function, and its clients of vendors and AWS."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx
from aws_lambda_powertools import Logger, Metrics, Tracer

from sakuin.platform.aws import client as aws
from sakuin.platform.calls import Change, Circuit, Retries, VendorCalls, background, interactive
from sakuin.platform.redaction import Redaction, redacting_logger
from sakuin.platform.retry import QueueName
from sakuin.platform.secrets import NamedSecret, RenewedKey, Secrets, auth_of
from sakuin.platform.sqs import SqsQueue
from sakuin.platform.supabase.client import connected, credentials
from sakuin.platform.supabase.sign_in import SignIn, issuer_of
from sakuin.platform.telemetry import (
    OPENAI_HEADER,
    REQUEST_HEADER,
    CurrentWork,
    EmfMeter,
    add_work_to_messages,
    instrument_client,
    vendor_subsegment,
)
from sakuin.settings import Settings

if TYPE_CHECKING:
    import httpx2
    from openai import OpenAI

    from sakuin.knowledge.learns.sources import LearnsModel
    from sakuin.knowledge.messages import MaterialQueue
    from sakuin.platform.embedding import Embedder, QuestionEmbedder
    from sakuin.platform.s3 import S3Bucket
    from sakuin.platform.supabase.client import Client
    from sakuin.tables.messages import TableQueues
    from sakuin.tables.turbopuffer.cache_hints import CacheHints
    from sakuin.tables.turbopuffer.store import TurbopufferChunkStore
    from sakuin.upkeep.dead_letters import DeadLetterQueues

_OPENAI_SECONDS = 30.0
_OPENAI_CONNECT_SECONDS = 5.0
_METRICS: dict[Change, str] = {"opened": "CircuitsOpened", "not called": "CallsNotMade", "refused": "CallsDenied"}
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Telemetry:
    """The logger, metrics, tracer, redaction and circuits of one function, and its current work."""

    logger: Logger
    metrics: Metrics
    tracer: Tracer
    work: CurrentWork
    meter: EmfMeter
    redaction: Redaction
    circuits: dict[str, Circuit] = field(default_factory=dict)

    def record_circuit(self, name: str, change: Change) -> None:
        """Counts and logs a change of a circuit."""
        if change in _METRICS:
            self.meter.count(_METRICS[change])
        if change in ("opened", "closed"):
            self.logger.warning("circuit changed", circuit=name, change=change)


def start_telemetry(activity: str) -> Telemetry:
    """Returns the telemetry of a function. The names of its durations begin with `activity`."""
    metrics = Metrics(namespace="Sakuin")
    logger, redaction = redacting_logger()
    return Telemetry(logger, metrics, Tracer(), CurrentWork(), EmfMeter(metrics, activity), redaction)


def secret_of(settings: Settings, telemetry: Telemetry, *, users: str = "") -> NamedSecret:
    """Returns the functions' secret. All members that are ever read are redacted.

    Each caller gets its own, with its own rate of reads: wrong keys of callers must not delay a vendor's new key.
    """
    return NamedSecret(settings.secret_name, on_read=telemetry.redaction.add, users=users)


def sign_in_of(settings: Settings, secret: NamedSecret) -> SignIn:
    """Returns where users sign in. Without a publishable key in the secret, no user is accepted."""
    issuer = issuer_of(settings.supabase_url)

    def accepts_users() -> bool:
        return bool(secret.now().supabase_publishable_key)

    return SignIn(issuer, accepts_users, settings.library_for_users, settings.api_url)


def _renewed_key(
    settings: Settings, secrets: Secrets, key_of: Callable[[Secrets], str], telemetry: Telemetry
) -> RenewedKey:
    secret = secret_of(settings, telemetry)
    return RenewedKey(key_of(secrets), lambda: key_of(secret.now()))


def supabase(settings: Settings, secrets: Secrets, telemetry: Telemetry) -> "Client":
    """Returns the client of Supabase, with the service key."""
    client = renew_key(connected(settings.supabase_url, secrets.supabase_service_key), settings, secrets, telemetry)
    instrument_client(client.session, telemetry.meter, telemetry.work, header=REQUEST_HEADER, system="Database")
    return client


def renew_key(client: "Client", settings: Settings, secrets: Secrets, telemetry: Telemetry) -> "Client":
    """Makes the client use the current service key of the secret, and returns it."""
    renewed = _renewed_key(settings, secrets, lambda now: now.supabase_service_key, telemetry)
    renewed.headers = credentials
    # The client has no other parameter for an `auth` of httpx.
    client.basic_auth = auth_of(httpx.Auth, renewed)
    return client


def openai(settings: Settings, secrets: Secrets, telemetry: Telemetry, *, system: str) -> "OpenAI":
    """Returns the client of OpenAI, or of an endpoint with its API."""
    import httpx2
    from openai import DefaultHttpxClient, OpenAI, Timeout

    session = DefaultHttpxClient()
    session.auth = auth_of(httpx2.Auth, _renewed_key(settings, secrets, lambda now: now.openai_api_key, telemetry))
    instrument_client(session, telemetry.meter, telemetry.work, header=OPENAI_HEADER, system=system)
    return OpenAI(
        api_key=secrets.openai_api_key,
        base_url=settings.openai_base_url,
        timeout=Timeout(_OPENAI_SECONDS, connect=_OPENAI_CONNECT_SECONDS),
        max_retries=0,
        http_client=session,
    )


def question_embedder(settings: Settings, secrets: Secrets, telemetry: Telemetry) -> "QuestionEmbedder":
    """Returns the embedder of questions."""
    from sakuin.platform.openai.questions import OpenAIQuestions
    from sakuin.platform.openai.questions import connected as openai_connected

    session = openai_connected(settings.openai_base_url, secrets.questions_key)
    session.auth = auth_of(httpx.Auth, _renewed_key(settings, secrets, lambda now: now.questions_key, telemetry))
    instrument_client(session, telemetry.meter, telemetry.work, header=OPENAI_HEADER, system="Embedding")
    ask = _calls(telemetry, interactive(attempts=2), vendor="openai", work="questions")
    return OpenAIQuestions(session, settings.embedding_model, partial(_count_tokens, settings, telemetry), ask)


def indexing_embedder(settings: Settings, secrets: Secrets, telemetry: Telemetry, client: "Client") -> "Embedder":
    """Returns the embedder of texts, within the budget of the day if there is one."""
    if not settings.limits.embedding_daily_tokens:
        return _embedder(settings, secrets, telemetry, lambda _tokens: None)
    from sakuin.retrieval.embedding_budget import BudgetedEmbedder, EmbeddingLedger, TokenCounter

    ledger = EmbeddingLedger(client)
    counting = _embedder(settings, secrets, telemetry, TokenCounter(ledger))
    return BudgetedEmbedder(counting, ledger, settings.limits.embedding_daily_tokens)


def learns_model(settings: Settings, secrets: Secrets, telemetry: Telemetry, client: "Client") -> "LearnsModel | None":
    """Returns the model that writes `learns`, within the budget of the day; None if no model is set."""
    if not settings.learns_model:
        return None
    from sakuin.knowledge.learns.openai import BudgetedLearnsModel, OpenAILearnsModel
    from sakuin.retrieval.embedding_budget import EmbeddingLedger, TokenCounter

    ledger = EmbeddingLedger(client, "learns")
    spend = TokenCounter(ledger)

    def on_tokens(tokens: int) -> None:
        telemetry.meter.count("LearnsTokens", tokens)
        spend(tokens)

    retries = background(attempts=1, seconds_left=telemetry.work.seconds_left)
    ask = _calls(telemetry, retries, vendor="openai", work="learns")
    client_of_model = openai(settings, secrets, telemetry, system="Learns")
    model = OpenAILearnsModel(client_of_model, settings.learns_model, on_tokens, ask=ask)
    limit = settings.limits.learns_daily_tokens
    return BudgetedLearnsModel(model, ledger, limit) if limit else model


def _embedder(settings: Settings, secrets: Secrets, telemetry: Telemetry, spend: Callable[[int], None]) -> "Embedder":
    from sakuin.platform.openai.embeddings import OpenAIEmbedder

    def on_tokens(tokens: int) -> None:
        _count_tokens(settings, telemetry, tokens)
        spend(tokens)

    retries = background(attempts=3, seconds_left=telemetry.work.seconds_left)
    ask = _calls(telemetry, retries, vendor="openai", work="passages")
    client = openai(settings, secrets, telemetry, system="Embedding")
    return OpenAIEmbedder(client, settings.embedding_model, on_tokens, ask)


def _count_tokens(settings: Settings, telemetry: Telemetry, tokens: int) -> None:
    telemetry.meter.count("EmbeddingTokens", tokens)
    telemetry.meter.count("EmbeddingUsd", tokens * settings.embedding_usd_per_million_tokens / _MILLION)


def chunk_store(settings: Settings, secrets: Secrets, telemetry: Telemetry) -> "TurbopufferChunkStore":
    """Returns the store of chunks in turbopuffer."""
    import httpx2
    from turbopuffer import DefaultHttpxClient

    from sakuin.tables.turbopuffer.client import connected as store_connected
    from sakuin.tables.turbopuffer.store import TurbopufferChunkStore

    session = DefaultHttpxClient()
    key = _renewed_key(settings, secrets, lambda now: now.turbopuffer_api_key, telemetry)
    session.auth = auth_of(httpx2.Auth, key)
    instrument_client(session, telemetry.meter, telemetry.work, header=REQUEST_HEADER, system="Store")
    return TurbopufferChunkStore(
        store_connected(settings.turbopuffer_base_url, secrets.turbopuffer_api_key, session),
        ask=_calls(
            telemetry, background(seconds_left=telemetry.work.seconds_left), vendor="turbopuffer", work="writes"
        ),
        ask_now=_calls(telemetry, interactive(), vendor="turbopuffer", work="searches"),
    )


def cache_hints(settings: Settings, secrets: Secrets, telemetry: Telemetry) -> "CacheHints":
    """Returns the hints for the cache of turbopuffer."""
    from sakuin.tables.turbopuffer.cache_hints import SECONDS, CacheHints

    def connect() -> "httpx2.Client":
        import httpx2

        key = _renewed_key(settings, secrets, lambda now: now.turbopuffer_api_key, telemetry)
        auth, headers = auth_of(httpx2.Auth, key), key.headers(key.first)
        return httpx2.Client(base_url=settings.turbopuffer_base_url, auth=auth, headers=headers, timeout=SECONDS)

    return CacheHints(connect)


def _calls(telemetry: Telemetry, retries: Retries, *, vendor: str, work: str) -> VendorCalls:
    """Returns the calls of `vendor` for one kind of work, which share a circuit in a worker."""
    name = f"{vendor}-{work}"
    if name not in telemetry.circuits:
        telemetry.circuits[name] = Circuit(name, vendor, telemetry.record_circuit)
    return VendorCalls(retries, telemetry.circuits[name], partial(vendor_subsegment, telemetry.tracer))


def sqs(telemetry: Telemetry) -> Any:
    """Returns boto3's client of SQS, whose messages have the correlation id."""
    return add_work_to_messages(aws("sqs"), telemetry.work)


def bucket_of_pages(settings: Settings) -> "S3Bucket":
    """Returns the bucket of materials."""
    from sakuin.platform.s3 import S3Bucket

    return S3Bucket(aws("s3"), settings.bucket)


def material_queue(settings: Settings, telemetry: Telemetry) -> "MaterialQueue":
    """Returns the queue of the function `index_material`."""
    from sakuin.knowledge.messages import MaterialQueue

    return MaterialQueue(SqsQueue(sqs(telemetry), settings.queue_url))


def table_queues(settings: Settings, telemetry: Telemetry, fingerprint: str = "") -> "TableQueues":
    """Returns the queues of Tables, for one index over Tables or, with "", for all."""
    from sakuin.tables.messages import TableQueues

    client = sqs(telemetry)
    tool, embed = SqsQueue(client, settings.tool_queue_url), SqsQueue(client, settings.embed_queue_url)
    return TableQueues(tool, embed, fingerprint)


def dead_letters(settings: Settings) -> "DeadLetterQueues":
    """Returns the dead letters of all queues. They keep their own correlation ids."""
    from sakuin.upkeep.dead_letters import DeadLetterQueues

    urls: dict[QueueName, str] = {
        "material": settings.queue_url,
        "tool": settings.tool_queue_url,
        "embed": settings.embed_queue_url,
    }
    return DeadLetterQueues(aws("sqs"), urls, settings.dead_letter_urls)
