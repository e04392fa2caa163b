"""What a function logs and counts, and its clients of vendors."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx
from aws_lambda_powertools import Logger, Metrics, Tracer

from sakuin.platform.calls import Change, Circuit, Retries, VendorCalls, background, interactive
from sakuin.platform.redaction import Redaction, redacting_logger
from sakuin.platform.secrets import Secrets
from sakuin.platform.secrets_manager import NamedSecret, RenewedKey, auth_of
from sakuin.platform.sqs import SqsQueue
from sakuin.platform.supabase.client import connected, credentials
from sakuin.platform.telemetry import (
    OPENAI_HEADER,
    REQUEST_HEADER,
    CurrentWork,
    EmfMeter,
    instrument_client,
    name_work_in_messages,
)
from sakuin.settings import Settings

if TYPE_CHECKING:
    from openai import OpenAI

    from sakuin.knowledge.learns.sources import LearnsModel
    from sakuin.knowledge.messages import MaterialQueue
    from sakuin.platform.embedding import Embedder, QuestionEmbedder
    from sakuin.platform.s3 import S3Bucket
    from sakuin.platform.supabase.client import Client
    from sakuin.tables.queues import TableQueues
    from sakuin.tables.turbopuffer.store import TurbopufferChunkStore

_OPENAI_SECONDS = 30.0

_OPENAI_CONNECT_SECONDS = 5.0

_COUNTED: dict[Change, str] = {"opened": "CircuitsOpened", "not called": "CallsNotMade", "refused": "CallsDenied"}

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Telemetry:
    """One function's. `work` names what it does now."""

    logger: Logger
    metrics: Metrics
    tracer: Tracer
    work: CurrentWork
    meter: EmfMeter
    redaction: Redaction
    circuits: dict[str, Circuit] = field(default_factory=dict)

    def record_circuit(self, name: str, change: Change) -> None:
        """Counts and logs what becomes of a circuit."""
        if change in _COUNTED:
            self.meter.count(_COUNTED[change])
        if change in ("opened", "closed"):
            self.logger.warning("circuit changed", circuit=name, change=change)


def start_telemetry(activity: str) -> Telemetry:
    """A function's telemetry; metrics about its vendors begin with `activity`."""
    metrics = Metrics(namespace="Sakuin")
    logger, redaction = redacting_logger()
    return Telemetry(logger, metrics, Tracer(), CurrentWork(), EmfMeter(metrics, activity), redaction)


def secret_of(settings: Settings, telemetry: Telemetry) -> NamedSecret:
    """The functions' secret: whatever is read of it now or later is hidden in all that leaves the function.

    Each holder of one gets its looks at it for itself: wrong keys must not use up those of a vendor's key.
    """
    return NamedSecret(settings.secret_name, told=telemetry.redaction.know)


def _renewed_key(
    settings: Settings, secrets: Secrets, key_of: Callable[[Secrets], str], telemetry: Telemetry
) -> RenewedKey:
    secret = secret_of(settings, telemetry)
    return RenewedKey(key_of(secrets), lambda: key_of(secret.now()))


def supabase(settings: Settings, secrets: Secrets, telemetry: Telemetry) -> "Client":
    """Supabase, with the service key."""
    client = renew_key(connected(settings.supabase_url, secrets.supabase_service_key), settings, secrets, telemetry)
    instrument_client(client.session, telemetry.meter, telemetry.work, header=REQUEST_HEADER, leg="Database")
    return client


def renew_key(client: "Client", settings: Settings, secrets: Secrets, telemetry: Telemetry) -> "Client":
    """The same client, which takes the service key that the secret has now."""
    renewed = _renewed_key(settings, secrets, lambda now: now.supabase_service_key, telemetry)
    renewed.headers = credentials
    # The one place where it takes what httpx calls an auth.
    client.basic_auth = auth_of(httpx.Auth, renewed)
    return client


def openai(settings: Settings, secrets: Secrets, telemetry: Telemetry, *, leg: str) -> "OpenAI":
    """OpenAI, or what speaks its API."""
    import httpx2
    from openai import DefaultHttpxClient, OpenAI, Timeout

    session = DefaultHttpxClient()
    session.auth = auth_of(httpx2.Auth, _renewed_key(settings, secrets, lambda now: now.openai_api_key, telemetry))
    instrument_client(session, telemetry.meter, telemetry.work, header=OPENAI_HEADER, leg=leg)
    return OpenAI(
        api_key=secrets.openai_api_key,
        base_url=settings.openai_base_url,
        timeout=Timeout(_OPENAI_SECONDS, connect=_OPENAI_CONNECT_SECONDS),
        max_retries=0,
        http_client=session,
    )


def question_embedder(settings: Settings, secrets: Secrets, telemetry: Telemetry) -> "QuestionEmbedder":
    """The embedder of searches: always there."""
    from sakuin.platform.openai.questions import OpenAIQuestions
    from sakuin.platform.openai.questions import connected as openai_connected

    session = openai_connected(settings.openai_base_url, secrets.openai_api_key)
    session.auth = auth_of(httpx.Auth, _renewed_key(settings, secrets, lambda now: now.openai_api_key, telemetry))
    instrument_client(session, telemetry.meter, telemetry.work, header=OPENAI_HEADER, leg="Embedding")
    ask = _calls(telemetry, interactive(tries=2), vendor="openai", work="questions")
    return OpenAIQuestions(session, settings.embedding_model, partial(_used, settings, telemetry), ask)


def indexing_embedder(settings: Settings, secrets: Secrets, telemetry: Telemetry, client: "Client") -> "Embedder":
    """The embedder of indexing, which keeps to the day's budget where one is set."""
    if not settings.limits.embedding_daily_tokens:
        return _embedder(settings, secrets, telemetry, lambda _tokens: None)
    from sakuin.retrieval.embedding_budget import BudgetedEmbedder, EmbeddingLedger, TokenCounter

    ledger = EmbeddingLedger(client)
    counting = _embedder(settings, secrets, telemetry, TokenCounter(ledger))
    return BudgetedEmbedder(counting, ledger, settings.limits.embedding_daily_tokens)


def learns_model(settings: Settings, secrets: Secrets, telemetry: Telemetry, client: "Client") -> "LearnsModel | None":
    """The model that writes `learns`, which keeps to the budget of what will be embedded; None where none is set."""
    if not settings.learns_model:
        return None
    from sakuin.knowledge.learns.openai import LONGEST_LEARNS, OpenAILearnsModel

    retries = background(tries=1, seconds_left=telemetry.work.seconds_left, longest_call=LONGEST_LEARNS)
    ask = _calls(telemetry, retries, vendor="openai", work="learns")
    model = OpenAILearnsModel(openai(settings, secrets, telemetry, leg="Learns"), settings.learns_model, ask=ask)
    if not settings.limits.embedding_daily_tokens:
        return model
    from sakuin.knowledge.learns.openai import BudgetedLearnsModel
    from sakuin.retrieval.embedding_budget import EmbeddingLedger

    return BudgetedLearnsModel(model, EmbeddingLedger(client), settings.limits.embedding_daily_tokens)


def _embedder(settings: Settings, secrets: Secrets, telemetry: Telemetry, spend: Callable[[int], None]) -> "Embedder":
    from sakuin.platform.openai.embeddings import OpenAIEmbedder

    def used(tokens: int) -> None:
        _used(settings, telemetry, tokens)
        spend(tokens)

    retries = background(tries=3, seconds_left=telemetry.work.seconds_left)
    ask = _calls(telemetry, retries, vendor="openai", work="passages")
    return OpenAIEmbedder(openai(settings, secrets, telemetry, leg="Embedding"), settings.embedding_model, used, ask)


def _used(settings: Settings, telemetry: Telemetry, tokens: int) -> None:
    telemetry.meter.count("EmbeddingTokens", tokens)
    telemetry.meter.count("EmbeddingUsd", tokens * settings.embedding_usd_per_million_tokens / _MILLION)


def chunk_store(settings: Settings, secrets: Secrets, telemetry: Telemetry) -> "TurbopufferChunkStore":
    """turbopuffer."""
    import httpx2
    from turbopuffer import DefaultHttpxClient

    from sakuin.tables.turbopuffer.client import connected as store_connected
    from sakuin.tables.turbopuffer.store import TurbopufferChunkStore

    session = DefaultHttpxClient()
    key = _renewed_key(settings, secrets, lambda now: now.turbopuffer_api_key, telemetry)
    session.auth = auth_of(httpx2.Auth, key)
    instrument_client(session, telemetry.meter, telemetry.work, header=REQUEST_HEADER, leg="Store")
    return TurbopufferChunkStore(
        store_connected(settings.turbopuffer_base_url, secrets.turbopuffer_api_key, session),
        ask=_calls(
            telemetry, background(seconds_left=telemetry.work.seconds_left), vendor="turbopuffer", work="writes"
        ),
        ask_now=_calls(telemetry, interactive(), vendor="turbopuffer", work="searches"),
    )


def _calls(telemetry: Telemetry, retries: Retries, *, vendor: str, work: str) -> VendorCalls:
    """How `vendor` is called for one kind of work. All calls of a worker for it share a circuit."""
    name = f"{vendor}-{work}"
    if name not in telemetry.circuits:
        telemetry.circuits[name] = Circuit(name, vendor, telemetry.record_circuit)
    return VendorCalls(retries, telemetry.circuits[name])


def queues(telemetry: Telemetry) -> Any:
    """boto3's client of SQS."""
    from sakuin.platform.aws import client

    return name_work_in_messages(client("sqs"), telemetry.work)


def aws(service: str) -> Any:
    """One of boto3's clients."""
    from sakuin.platform.aws import client

    return client(service)


def bucket_of_pages(settings: Settings) -> "S3Bucket":
    """The bucket of materials."""
    from sakuin.platform.s3 import S3Bucket

    return S3Bucket(aws("s3"), settings.bucket)


def material_queue(settings: Settings, telemetry: Telemetry) -> "MaterialQueue":
    """Messages to the function that indexes materials."""
    from sakuin.knowledge.messages import MaterialQueue

    return MaterialQueue(SqsQueue(queues(telemetry), settings.queue_url))


def table_queues(settings: Settings, telemetry: Telemetry, fingerprint: str = "") -> "TableQueues":
    """Messages to the workers of Tables, for one index over Tables or, with "", for all."""
    from sakuin.tables.queues import TableQueues

    client = queues(telemetry)
    tool = SqsQueue(client, settings.tool_queue_url)
    embed = SqsQueue(client, settings.embed_queue_url)
    return TableQueues(tool, embed, fingerprint)


@dataclass(frozen=True, slots=True)
class SecretKeys:
    """A `KeyRing`: the secret is read again from time to time, and for `newer` keys at once."""

    secret: NamedSecret
    hashes_of: Callable[[Secrets], Iterable[str]]

    def hashes(self, *, newer: bool = False) -> Iterable[str]:
        return self.hashes_of(self.secret.newer() if newer else self.secret.now())
