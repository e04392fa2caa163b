"""Materials on the real adapters: each call of a worker stops at a gate, each event waits for the schedule."""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import psycopg
from sakuin.knowledge.bucket_events import BucketEvents
from sakuin.knowledge.messages import BucketEvent, MaterialQueue
from sakuin.knowledge.page import Explanation
from sakuin.knowledge.postgres_search import ChunkSearch, PostgresChunks, ReadKnowledge
from sakuin.platform.aws import EventBridgeBus
from sakuin.platform.sqs import SqsQueue
from sakuin.platform.supabase.client import Client, connected
from sakuin.platform.waiting import WorkRecords
from sakuin.tables.messages import TableQueues
from sakuin.wiring import index_material, maintain
from sakuin.wiring.index_versions import reconciling
from sakuin_local.supabase.database import Database

from tests.convergence.delivery import Delivery, Surprises, handler_of, silent_telemetry
from tests.convergence.gates import PATIENCE_SECONDS, Gate, aws_failure, circuit_open, gated, unavailable
from tests.convergence.passing import time_passes
from tests.doubles.bucket import MemoryBucket
from tests.doubles.embedder import WEIGHTS, MemoryEmbedder
from tests.doubles.event_bus import ModelledBus
from tests.doubles.sqs import ModelledSqs
from tests.worlds import doubles

_QUEUE = "material"
# So few that some pages are staged.
_TERMS = 60
_TABLES = (
    *("knowledge_chunks", "chunk_words", "posting", "reading", "competing_key", "upload_result", "site_synonyms"),
    *("authored_file", "pending_learns", "learns_cache", "material", "knowledge_vector"),
)


@dataclass(frozen=True)
class MaterialsBackend:
    client: Client
    sql: psycopg.Connection


@contextmanager
def materials_backend(database: Database) -> Iterator[MaterialsBackend]:
    with psycopg.connect(database.dsn_postgres, autocommit=True) as sql:
        client = connected(database.rest_url, database.service_key, seconds=PATIENCE_SECONDS)
        gated(client.postgrest.session, "supabase")
        yield MaterialsBackend(client, sql)


@dataclass(frozen=True)
class _Surprised:
    """The events of the bucket, whose surprises are kept."""

    events: BucketEvents
    surprises: Surprises

    def __getattr__(self, name: str) -> Any:
        return getattr(self.events, name)

    def process(self, event: BucketEvent, record: Any) -> None:
        self.surprises.of(self.events.process)(event, record)


class SayingModel:
    """A language model that says of each text what it is about."""

    name = "saying/1"

    def learns(self, explanations: Sequence[Explanation]) -> dict[str, tuple[str, ...]]:
        return {one.anchor: said_of(one.content) for one in explanations}


def said_of(content: str) -> tuple[str, ...]:
    """The answer of `SayingModel` about this text."""
    return tuple(f"{content[-12:-1]}の{noun}" for noun in ("計算", "手順", "説明"))


@dataclass
class MaterialsWorld:
    """The services of one schedule over a bucket of its own."""

    backend: MaterialsBackend
    bucket: MemoryBucket = field(default_factory=MemoryBucket)
    sqs: ModelledSqs = field(default_factory=ModelledSqs)
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.bus = ModelledBus(self.sqs, "tool")
        bucket, sqs = Gate(self.bucket, "s3", unavailable("s3")), Gate(self.sqs, "sqs", aws_failure)
        outside = SimpleNamespace(
            client=self.backend.client,
            bucket=bucket,
            queue=MaterialQueue(SqsQueue(sqs, _QUEUE)),
            model=Gate(SayingModel(), "openai", unavailable("openai"), circuit_open("openai")),
            queues=TableQueues(SqsQueue(sqs, "tool"), SqsQueue(sqs, "embed")),
            bus=EventBridgeBus(Gate(self.bus, "bus", aws_failure), "bus"),
            **dict.fromkeys(("store", "bodies")),
        )
        embedder = Gate(MemoryEmbedder(), "openai", unavailable("openai"), circuit_open("openai"))
        outside.embedder_of = lambda _model: embedder
        clients = doubles(outside, silent_telemetry())
        events = index_material.bucket_events(clients)
        self.index = replace(events.index, terms_per_request=_TERMS)
        pages = replace(events.pages, index=self.index)
        ask_model = replace(events.ask_model, pages=pages)
        surprises = Surprises()
        work: Any = _Surprised(replace(events, index=self.index, pages=pages, ask_model=ask_model), surprises)
        maintenance = maintain.maintenance(clients, tuple)
        self.send_learns, self.announce_pages = maintenance.send_learns, maintenance.announce_pages
        records = WorkRecords(self.backend.client)
        self.reconcile = replace(reconciling(clients, tuple)().materials, now=lambda: self.bucket.now)
        self.handle = Delivery({_QUEUE: handler_of(sqs, _QUEUE, work, records)}, surprises, self.counts)
        self.search = ChunkSearch(PostgresChunks(self.backend.client), WEIGHTS)
        self.read = ReadKnowledge(self.backend.client, "")

    def notify(self) -> None:
        """Sends the bucket's events to the queue."""
        for body in self.bucket.take_messages():
            self.sqs.send_message(QueueUrl=_QUEUE, MessageBody=body)

    def ask_again(self, key: str) -> None:
        """Requests that a page is indexed again."""
        name = unicodedata.normalize("NFC", key).removesuffix(".html")
        MaterialQueue(SqsQueue(self.sqs, _QUEUE)).reindex([name], reason="asked")

    def each_minute(self) -> bool:
        """Runs the maintenance of each minute; returns whether there was anything to do."""
        sent = bool(self.send_learns()) | bool(self.announce_pages())
        return sent | bool(self.index.sweep_words())

    def waits_for_model(self) -> bool:
        """Returns whether any page waits for the language model."""
        return self.backend.sql.execute("select 1 from pending_learns").fetchone() is not None

    def each_night(self) -> bool:
        """Runs the nightly maintenance; returns whether anything differed."""
        return bool(self.reconcile.keys(None, dry_run=False).differences)

    def time_passes(self, seconds: int) -> None:
        """Moves the clocks of the database and the bucket."""
        time_passes(self.backend.sql, seconds)
        self.bucket.now += timedelta(seconds=seconds)

    def look_at_bucket(self) -> bool:
        """Reconciles on command; returns whether anything differed."""
        return bool(self.reconcile.keys(None, dry_run=False, grace=timedelta(0)).differences)

    def clear(self) -> None:
        self.backend.sql.execute("; ".join(f"delete from {table}" for table in _TABLES).encode())
