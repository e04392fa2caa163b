"""Everything that a function uses from outside: settings, secrets, telemetry, vendors, AWS and clocks."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from aws_lambda_powertools import Logger, Metrics, Tracer

from sakuin.platform.aws import LambdaFunction
from sakuin.platform.aws import client as aws_client
from sakuin.platform.calls import Change, Circuit, Retries, VendorCalls, background, interactive
from sakuin.platform.embedding import EmbeddingModel
from sakuin.platform.redaction import Redaction, redacting_logger
from sakuin.platform.secrets import NamedSecret, Secrets, renewed, search_secret
from sakuin.platform.sqs import SqsQueue
from sakuin.platform.supabase.client import connected
from sakuin.platform.supabase.sign_in import SignIn, issuer_of
from sakuin.platform.telemetry import (
    OPENAI_HEADER,
    REQUEST_HEADER,
    CurrentWork,
    EmfMeter,
    TracedTransport,
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
    from sakuin.platform.aws import EventBridgeBus
    from sakuin.platform.embedding import Embedder, QuestionEmbedder
    from sakuin.platform.openai.budget import DailyTokens
    from sakuin.platform.s3 import S3Bucket
    from sakuin.platform.supabase.client import Client
    from sakuin.tables.messages import TableQueues
    from sakuin.tables.turbopuffer import ChunkStore
    from sakuin.upkeep.queues import Queues

# For all attempts together: an agent waits, and a search by words alone needs no vector. The first call of a worker
# looks up a name and opens a connection with TLS, on a small processor.
_QUESTION_SECONDS, _FIRST_QUESTION_SECONDS = 0.8, 2.0
# A model on this machine shares the processor with what is indexed: a question waits for the passage before it.
_LOCAL_QUESTION_SECONDS, _THIS_MACHINE = 5.0, ("127.0.0.1", "localhost", "::1")
# For texts whose vectors a caller of `api` waits for, which has 29 seconds.
_AT_ONCE_SECONDS = 20.0
# After the last call of turbopuffer in a request or a part of maintenance.
_SECONDS_TO_ANSWER = 2.0
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
    # It would import all libraries that it knows to look at their calls; ours are traced where they are made.
    tracer = Tracer(patch_modules=("botocore",))
    logger, redaction = redacting_logger()
    return Telemetry(logger, metrics, tracer, CurrentWork(), EmfMeter(metrics, activity), redaction)


def starts_ahead(environ: Mapping[str, str]) -> bool:
    """Returns whether no request waits for this start, as for a snapshot."""
    return environ.get("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand") != "on-demand"


@dataclass(frozen=True)
class Clients:
    """What a function uses from outside. A test replaces members by doubles.

    `secrets` are those at the start; clients of vendors use the current key of the secret. `starts_ahead`: no request
    waits for this start.
    """

    settings: Settings
    secrets: Secrets
    telemetry: Telemetry
    starts_ahead: bool = False

    @classmethod
    def of(cls, environ: Mapping[str, str], activity: str) -> "Clients":
        """Reads the environment of a function. The names of its durations begin with `activity`."""
        settings, telemetry = Settings.read(environ), start_telemetry(activity)
        secrets = _secret_of(settings, telemetry).now()
        return cls(settings, secrets, telemetry, starts_ahead(environ))

    def secret(self, *, with_all: bool = False) -> NamedSecret:
        """Returns the function's secret, `with_all` with what only `mcp` or `api` need: only `api` may read those.

        Each caller gets its own, with its own rate of reads: wrong keys of callers must not delay a vendor's new key.
        """
        settings = self.settings
        names = (search_secret(settings.secret_name), settings.users_secret_name) if with_all else ()
        return _secret_of(settings, self.telemetry, tuple(filter(None, names)))

    def aws(self, service: str) -> Any:
        """Returns boto3's client of a service."""
        return aws_client(service)

    def clock(self) -> float:
        """Returns seconds that only increase."""
        return time.monotonic()

    def now(self) -> datetime:
        """Returns the time in UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    @cached_property
    def supabase(self) -> "Client":
        """The client of Supabase, with the service key, in `mcp` with that of searches."""
        client = self._connected(wrap=partial(TracedTransport, self.telemetry.tracer))
        self._instrument(client.postgrest.session, REQUEST_HEADER, "Database")
        return client

    def short_supabase(self, seconds: float) -> "Client":
        """Returns a client of Supabase whose requests take at most so many seconds and are not repeated."""
        return self._connected(seconds=seconds)

    def _connected(self, **options: Any) -> "Client":
        current = self._renewed(lambda now: now.database_key)
        apikey = self.secrets.supabase_search_apikey
        return connected(
            self.settings.supabase_url, self.secrets.database_key, apikey=apikey, current=current, **options
        )

    def openai(self, system: str, *, urgency: int | None = None, base_url: str = "") -> "OpenAI":
        """Returns a client of OpenAI, or of an endpoint with its API, whose durations are those of `system`.

        An endpoint at another `base_url` gets no key.
        """
        from sakuin.platform.openai.client import connected as openai_connected
        from sakuin.platform.openai.client import punctual_session

        session = punctual_session()
        self._instrument(session, OPENAI_HEADER, system)
        key = self._renewed(lambda now: now.openai_api_key)
        if base_url:
            # OpenAI's key is for OpenAI.
            return openai_connected(base_url, "none", session, urgency=urgency)
        return openai_connected(self.settings.openai_base_url, key, session, urgency=urgency)

    def question_embedder(self, model: EmbeddingModel, *, is_public: bool = False) -> "QuestionEmbedder":
        """Returns the embedder of questions, with `is_public` within the budget of the day for those without a key."""
        from sakuin.platform.openai.budget import DailyTokens
        from sakuin.platform.openai.embeddings import OpenAIEmbedder
        from sakuin.platform.openai.hedging import HedgedQuestions

        embeddings, count = self.openai("Embedding").embeddings, self._count_tokens
        ask = self._calls(interactive(attempts=2), vendor="openai", work="questions")
        embedder = OpenAIEmbedder(embeddings, model, count, ask)
        if is_public:
            budget = DailyTokens(self.supabase, "public", self.settings.limits.public_daily_tokens)
            embedder = replace(embedder, on_tokens=self._counted(budget), require_budget=budget.require)
        is_local = urlsplit(self.settings.openai_base_url).hostname in _THIS_MACHINE
        most = (_LOCAL_QUESTION_SECONDS,) * 2 if is_local else (_QUESTION_SECONDS, _FIRST_QUESTION_SECONDS)
        return HedgedQuestions(
            lambda seconds: replace(embedder, all_seconds=seconds), *most, count=self.telemetry.meter.count
        )

    def indexing_embedder(
        self, model: EmbeddingModel, *, urgency: int | None = None, at_once: bool = False
    ) -> "Embedder":
        """Returns the embedder of texts for a model, within the budget of the day.

        `at_once`: a caller waits for the vectors, in a function that has less time than a slow call takes.
        """
        from sakuin.platform.openai.budget import DailyTokens
        from sakuin.platform.openai.embeddings import OpenAIEmbedder

        budget = DailyTokens(self.supabase, "embedding", self.settings.limits.embedding_daily_tokens)
        retries = interactive(attempts=2) if at_once else self._background(attempts=3)
        return OpenAIEmbedder(
            self.openai("Embedding", urgency=urgency).embeddings,
            model,
            self._counted(budget),
            self._calls(retries, vendor="openai", work="passages"),
            all_seconds=_AT_ONCE_SECONDS if at_once else math.inf,
            require_budget=budget.require,
        )

    def _counted(self, budget: "DailyTokens") -> Callable[[int], None]:
        """Returns what counts embedded tokens in the metrics and in a budget."""

        def on_tokens(tokens: int) -> None:
            self._count_tokens(tokens)
            budget.add(tokens)

        return on_tokens

    def _count_tokens(self, tokens: int) -> None:
        from sakuin.platform.openai.models import model_facts

        meter, price = self.telemetry.meter, model_facts(self.settings.embedding_model.name).usd_read
        meter.count("EmbeddingTokens", tokens)
        if price is not None:
            meter.count("EmbeddingUsd", tokens * price / _MILLION)

    def learns_model(self) -> "LearnsModel | None":
        """Returns the model that writes `learns`, within the budget of the day; None if no model is set."""
        if not self.settings.learns_model:
            return None
        from sakuin.knowledge.learns.openai import LEARNS_TIMEOUT, OpenAILearnsModel
        from sakuin.platform.openai.budget import DailyTokens

        budget = DailyTokens(self.supabase, "learns", self.settings.limits.learns_daily_tokens)

        def on_tokens(tokens: int) -> None:
            self.telemetry.meter.count("LearnsTokens", tokens)
            budget.add(tokens)

        ask = self._calls(self._background(attempts=1, max_wait=0), vendor="openai", work="learns")
        model = self.settings.learns_model
        return OpenAILearnsModel(
            self.openai("Learns", base_url=self.settings.learns_base_url),
            *(model, on_tokens, LEARNS_TIMEOUT, ask),
            require_budget=budget.require,
        )

    def chunk_store(self, *, for_upkeep: bool = False) -> "ChunkStore":
        """Returns the store of chunks in turbopuffer.

        `for_upkeep`: for maintenance and reconciliation. No call takes long, since `api` has 29 seconds, and `maintain`
        other parts.
        """
        from turbopuffer import DefaultHttpxClient

        from sakuin.platform.turbopuffer.client import LONGEST_QUICK_CALL, quick
        from sakuin.platform.turbopuffer.client import connected as store_connected
        from sakuin.tables.turbopuffer import ChunkStore

        session = DefaultHttpxClient()
        self._instrument(session, REQUEST_HEADER, "Store")
        key, current = self.secrets.turbopuffer_api_key, self._renewed(lambda now: now.turbopuffer_api_key)
        client = store_connected(self.settings.turbopuffer_base_url, key, session, current)
        retries = self._background()
        if for_upkeep:
            client = quick(client)
            retries = self._background(attempts=2, longest_call=LONGEST_QUICK_CALL, to_finish=_SECONDS_TO_ANSWER)
        return ChunkStore(
            client,
            ask=self._calls(retries, vendor="turbopuffer", work="writes"),
            ask_now=self._calls(interactive(), vendor="turbopuffer", work="searches"),
        )

    def http(self, seconds: float) -> "httpx2.Client":
        """Returns a client of HTTP whose requests take at most so many seconds."""
        import httpx2

        return httpx2.Client(timeout=seconds)

    def material_bucket(self) -> "S3Bucket":
        from sakuin.platform.s3 import S3Bucket

        return S3Bucket(self.aws("s3"), self.settings.bucket)

    def tables_bucket(self) -> "S3Bucket":
        from sakuin.platform.s3 import S3Bucket

        return S3Bucket(self.aws("s3"), self.settings.tables_bucket)

    def event_bus(self) -> "EventBridgeBus":
        """Returns the bus for the product's events."""
        from sakuin.platform.aws import EventBridgeBus

        return EventBridgeBus(self.aws("events"), self.settings.event_bus_name)

    def mcp_function(self) -> LambdaFunction:
        return LambdaFunction(self.aws("lambda"), self.settings.mcp_function)

    def queue(self, url: str) -> SqsQueue:
        """Returns a queue whose messages have the correlation id."""
        return SqsQueue(self._sqs, url)

    @cached_property
    def _sqs(self) -> Any:
        return add_work_to_messages(self.aws("sqs"), self.telemetry.work)

    def material_queue(self) -> "MaterialQueue":
        """Returns the queue of the function `index_material`."""
        from sakuin.knowledge.messages import MaterialQueue

        return MaterialQueue(self.queue(self.settings.queue_url))

    def table_queues(self) -> "TableQueues":
        """Returns the queues of Tables, for all indexes over Tables."""
        from sakuin.tables.messages import TableQueues

        return TableQueues(self.queue(self.settings.tool_queue_url), self.queue(self.settings.embed_queue_url))

    def queues(self) -> "Queues":
        """Returns all queues with their dead letters, which keep their own correlation ids."""
        from sakuin.upkeep.queues import Queues

        return Queues(self.aws("sqs"), self.settings.queue_urls, self.settings.dead_letter_urls)

    def _renewed(self, key_of: Callable[[Secrets], str]) -> Callable[[], str]:
        secret = self.secret()
        return renewed(key_of(self.secrets), lambda: key_of(secret.now()))

    def _instrument(self, session: Any, header: str, system: str) -> None:
        instrument_client(session, self.telemetry.meter, self.telemetry.work, header=header, system=system)

    def _background(self, **options: Any) -> Retries:
        return background(**options, seconds_left=self.telemetry.work.seconds_left)

    def _calls(self, retries: Retries, *, vendor: str, work: str) -> VendorCalls:
        """Returns the calls of `vendor` for one kind of work, which share a circuit in a worker."""
        telemetry, name = self.telemetry, f"{vendor}-{work}"
        if name not in telemetry.circuits:
            telemetry.circuits[name] = Circuit(name, vendor, telemetry.record_circuit)
        return VendorCalls(retries, telemetry.circuits[name], partial(vendor_subsegment, telemetry.tracer))


def _secret_of(settings: Settings, telemetry: Telemetry, more: tuple[str, ...] = ()) -> NamedSecret:
    """Returns the function's secret. All members that are ever read are redacted."""
    return NamedSecret(settings.secret_name, on_read=telemetry.redaction.add, more=more)


def sign_in_of(settings: Settings, secret: NamedSecret) -> SignIn:
    """Returns where users sign in. Without a publishable key in the secret, no user is accepted."""
    issuer = issuer_of(settings.supabase_url)

    def accepts_users() -> bool:
        return bool(secret.now().supabase_publishable_key)

    return SignIn(issuer, accepts_users, settings.library_for_users, settings.api_url)
