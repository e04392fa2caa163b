"""The world of a schedule: each call of a worker stops at a gate, each event waits for the schedule."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
from sakuin.knowledge.learns.instructions import Section
from sakuin.knowledge.messages import MaterialQueue
from sakuin.platform.aws import EventBridgeBus
from sakuin.platform.calls import background
from sakuin.platform.queue_handler import QueueHandler, QueueWork
from sakuin.platform.sqs import SqsQueue
from sakuin.platform.supabase.client import Client, connected
from sakuin.platform.turbopuffer.client import connected as store_connected
from sakuin.platform.waiting import WorkRecords
from sakuin.tables.messages import TableQueues
from sakuin.tables.turbopuffer import ChunkStore
from sakuin_local.serving import served
from sakuin_local.supabase.database import Database
from sakuin_local.turbopuffer.endpoint import application
from sakuin_local.turbopuffer.store import Store
from turbopuffer import DefaultHttpxClient

from tests.convergence.gates import PATIENCE_SECONDS, Gate, aws_failure, gated, unavailable, vendor
from tests.convergence.passing import time_passes
from tests.doubles.event_bus import ModelledBus
from tests.doubles.sqs import Message, Silence, handler_of
from tests.emptied import emptied
from tests.events import a_telemetry
from tests.worlds import EMBEDS, TOOLS, Doubles, Outside

MATERIALS = "material"


@dataclass(frozen=True)
class Backend:
    """What all schedules share: a database and a store that nothing else fills, and the gated connections to them."""

    database: Database
    client: Client
    sql: psycopg.Connection
    store: ChunkStore
    stand_in: Store


@contextmanager
def backend_of(database: Database, folder: Path) -> Iterator[Backend]:
    stand_in = Store(folder / "turbopuffer.sqlite")
    with served(application(stand_in)) as port, psycopg.connect(database.dsn_postgres, autocommit=True) as sql:
        emptied(sql)
        client = connected(database.rest_url, database.service_key, seconds=PATIENCE_SECONDS)
        gated(client.postgrest.session, "supabase")
        session = DefaultHttpxClient()
        gated(session, "turbopuffer")
        # A request that is done again is a fate of the schedule's, so the client does none by itself.
        puffer = store_connected(f"http://127.0.0.1:{port}", "any", session).with_options(max_retries=0)
        ask = vendor(
            SimpleNamespace(ask=replace(background(), sleep=lambda _: None)), "turbopuffer", "turbopuffer's circuit"
        ).ask
        # A row a request: what is stored of a batch may be any part of it.
        yield Backend(database, client, sql, ChunkStore(puffer, 1, ask=ask, ask_now=ask), stand_in)


@dataclass(frozen=True)
class FewAMessage(TableQueues):
    """Queues that make two messages of a batch of four: batches of one Table overtake each other."""

    def embed_chunks(self, project_id: str, table_id: str, batches: Sequence[Sequence[str]]) -> None:
        small = [batch[at : at + 2] for batch in batches for at in range(0, len(batch), 2)]
        super().embed_chunks(project_id, table_id, small)


class SayingModel:
    """A language model that says of each text what it is about."""

    name = "saying/1"

    def learns(self, sections: Sequence[Section]) -> dict[str, tuple[str, ...]]:
        return {section.anchor: said_of(section.text) for section in sections}


def said_of(content: str) -> tuple[str, ...]:
    """The answer of `SayingModel` about this text."""
    return tuple(f"{content[-12:-1]}の{noun}" for noun in ("計算", "手順", "説明"))


@dataclass(frozen=True)
class GatedDoubles(Doubles):
    """The parts of a world, each behind its gate. The client of Supabase and the store have gates of their own."""

    def indexing_embedder(self, *_model: Any, **_how: Any) -> Any:
        return vendor(self.world.embedder, "openai")

    def learns_model(self) -> Any:
        return vendor(SayingModel(), "openai")

    def material_bucket(self) -> Any:
        return Gate(self.world.bucket, "s3", unavailable("s3"))

    def tables_bucket(self) -> Any:
        return Gate(self.world.bodies, "s3", unavailable("s3"))

    def event_bus(self) -> Any:
        return EventBridgeBus(Gate(self.world.bus, "bus", aws_failure), "bus")

    def material_queue(self) -> Any:
        return MaterialQueue(SqsQueue(self.aws("sqs"), MATERIALS))

    def table_queues(self) -> Any:
        return FewAMessage(SqsQueue(self.aws("sqs"), TOOLS), SqsQueue(self.aws("sqs"), EMBEDS))

    def aws(self, service: str) -> Any:
        return Gate(self.world.sqs, "sqs", aws_failure)


@dataclass(kw_only=True)
class Scheduled(Outside):
    """A world whose workers are a schedule's. `counts` what becomes of messages."""

    doubles = GatedDoubles
    backend: Backend
    counts: Counter[str] = field(default_factory=Counter)
    log: Silence = field(default_factory=Silence)
    handlers: dict[str, QueueHandler] = field(default_factory=dict)

    def __post_init__(self) -> None:
        log: Any = self.log
        self.telemetry = replace(a_telemetry(log), metrics=log)
        self.bus = ModelledBus(self.sqs, TOOLS)

    def employ(self, queue: str, work: QueueWork[Any]) -> None:
        """Makes the function of a queue."""
        records = WorkRecords(self.backend.client)
        self.handlers[queue] = handler_of(Gate(self.sqs, "sqs", aws_failure), queue, work, records, self.log)

    def handler(self, queue: str) -> QueueHandler:
        return self.handlers[queue]

    def handle(self, message: Message) -> bool:
        """The same; raises a failure that nothing explains."""
        is_done = super().handle(message)
        if self.log.surprises:
            raise self.log.surprises.pop()
        self.counts["messages done" if is_done else "messages failed"] += 1
        return is_done

    def time_passes(self, seconds: int) -> None:
        """Moves the clock of the database."""
        time_passes(self.backend.sql, seconds)
