"""The services over Tables for one schedule, on the product's adapters: each call of a worker stops at a gate."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psycopg
from sakuin.knowledge.messages import MaterialQueue
from sakuin.platform.calls import Ask, background
from sakuin.platform.sqs import SqsQueue
from sakuin.platform.supabase.client import Client, call, connected
from sakuin.platform.unfinished_work import UnfinishedWorkStore
from sakuin.retrieval.index_version import (
    ANALYZER,
    CHUNKER,
    TEXT_TEMPLATE,
    IndexVersion,
    StoredIndexVersion,
    TableCut,
    TableIndexVersion,
)
from sakuin.tables.admin.eventbridge import EventBridgeBus
from sakuin.tables.admin.outbox import Outbox, PublishOutbox
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.embed_chunks import EmbedChunks, EmbedInEachVersion, EmbedWork
from sakuin.tables.index_table import IndexTable
from sakuin.tables.messages import TableQueues
from sakuin.tables.postgres import TableIndex, ToolSearch
from sakuin.tables.reconcile import ReconcileVersions
from sakuin.tables.recovery import RecordTableFailure, RestartTables
from sakuin.tables.search import SearchTable
from sakuin.tables.turbopuffer.client import connected as store_connected
from sakuin.tables.turbopuffer.store import TurbopufferChunkStore
from sakuin.tables.work import ImportDocument, IndexInEachVersion, ToolWork
from sakuin.upkeep.index_versions import BuildIndexVersions, IndexVersions
from sakuin.upkeep.maintain import Maintain, ResumeWork
from sakuin.wiring.index_versions import live_last
from sakuin_local.serving import served
from sakuin_local.supabase.database import Database
from sakuin_local.turbopuffer.endpoint import application
from sakuin_local.turbopuffer.pace import AT_ONCE
from sakuin_local.turbopuffer.store import Store
from turbopuffer import DefaultHttpxClient

from tests.convergence.delivery import Delivery, Surprises, handler_of, silent
from tests.convergence.gates import Gate, aws_failure, circuit_open, gated, unavailable
from tests.convergence.passing import time_passes
from tests.doubles.embedder import CALIBRATION, MODEL, MemoryEmbedder
from tests.doubles.sqs import ModelledSqs
from tests.doubles.table_bodies import MemoryBodies

# Small, so that short texts have several chunks.
CUT = TableCut(chunk_size=16, overlap=4)
THRESHOLD = 12
FINGERPRINT = TableIndexVersion(MODEL, CUT)
# The index version that answers, and one that is built beside it.
LIVE = IndexVersion(MODEL, TEXT_TEMPLATE, ANALYZER, CUT, CHUNKER)
BESIDE = replace(LIVE, cut=TableCut(chunk_size=24, overlap=6))
_TOOLS, _EMBEDS = "tools", "embeds"
_OF_TABLES = ("node", "chunks", "chunk_vector", "pending_deletion", "table_reading", "table_object")


_LEFT = ("orphaned_upload", "outbox", "table_namespace", "unfinished_work")


@dataclass(frozen=True)
class TablesBackend:
    """What all schedules share: a database, a store, and the gated connections to them."""

    client: Client
    store: TurbopufferChunkStore
    stand_in: Store
    sql: psycopg.Connection


@contextmanager
def tables_backend(database: Database, folder: Path) -> Iterator[TablesBackend]:
    stand_in = Store(folder / "turbopuffer.sqlite", AT_ONCE)
    with served(application(stand_in)) as port, psycopg.connect(database.dsn_postgres, autocommit=True) as sql:
        client = connected(database.rest_url, database.service_key)
        gated(client.session, "supabase")
        session = DefaultHttpxClient()
        gated(session, "turbopuffer")
        # A request that is done again is a fate of the schedule's, so the client does none by itself.
        puffer = store_connected(f"http://127.0.0.1:{port}", "any", session).with_options(max_retries=0)
        retried = Retried(replace(background(), sleep=lambda _: None))
        circuit = Gate(retried, "turbopuffer's circuit", unavailable("turbopuffer"), circuit_open("turbopuffer"))
        # A row a request: what is stored of a batch may be any part of it.
        yield TablesBackend(
            client, TurbopufferChunkStore(puffer, 1, ask=circuit.ask, ask_now=circuit.ask), stand_in, sql
        )


@dataclass(frozen=True)
class Retried:
    """What is behind the gate of a circuit."""

    ask: Ask


@dataclass
class ModelledBus:
    """boto3's client of EventBridge: what it takes goes to `queue`, as the product's rule has it.

    `refused` says which entries of the next request it does not take.
    """

    sqs: ModelledSqs
    queue: str
    refused: frozenset[int] = frozenset()

    def put_events(self, *, Entries: list[dict[str, str]]) -> dict[str, Any]:
        refused, self.refused = self.refused, frozenset()
        answer = []
        for number, entry in enumerate(Entries):
            if number in refused:
                answer.append({"ErrorCode": "ThrottlingException"})
            else:
                body = f'{{"detail-type": "{entry["DetailType"]}", "detail": {entry["Detail"]}}}'
                self.sqs.send_message(QueueUrl=self.queue, MessageBody=body)
                answer.append({"EventId": "1"})
        return {"FailedEntryCount": len(refused), "Entries": answer}


@dataclass(frozen=True)
class FewAMessage:
    """`TableQueues` that makes two messages of a batch of four: batches of one Table overtake each other."""

    real: TableQueues

    def index(self, project_id: str, table_id: str, **asked: Any) -> None:
        self.real.index(project_id, table_id, **asked)

    def embed_chunks(
        self, project_id: str, table_id: str, batches: Sequence[Sequence[str]], *, resumed: bool = False
    ) -> None:
        small = [batch[at : at + 2] for batch in batches for at in range(0, len(batch), 2)]
        self.real.embed_chunks(project_id, table_id, small, resumed=resumed)

    def import_document(self, key: str) -> None:
        self.real.import_document(key)


@dataclass(frozen=True)
class Kept:
    """An index version that every change is written to."""

    version: StoredIndexVersion
    index: TableIndex
    queues: FewAMessage


@dataclass
class TablesWorld:
    """The services of one schedule. `store` may be swapped for one that is broken on purpose.

    `two_versions`: another index version is kept beside the one that answers. `processed` are the keys of the uploads
    whose event was processed.
    """

    backend: TablesBackend
    store: Any = None
    two_versions: bool = False
    bodies: MemoryBodies = field(default_factory=MemoryBodies)
    processed: set[str] = field(default_factory=set)
    sqs: ModelledSqs = field(default_factory=ModelledSqs)
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.store = self.store or self.backend.store
        self.bus = ModelledBus(self.sqs, _TOOLS)
        self.index = TableIndex(self.backend.client, FINGERPRINT)
        sqs = Gate(self.sqs, "sqs", aws_failure)
        self.tool_queue, self.embed_queue = SqsQueue(sqs, _TOOLS), SqsQueue(sqs, _EMBEDS)
        self.materials = MaterialQueue(SqsQueue(sqs, "materials"))
        self.kept = self._kept()
        embedder = Gate(MemoryEmbedder(), "openai", unavailable("openai"), circuit_open("openai"))
        bodies = Gate(self.bodies, "s3", unavailable("s3"))
        self.scans = {
            each.index.fingerprint: IndexTable(
                each.index,
                bodies,
                self.store,
                each.queues,
                each.version.settings.cut,
                each.version.suffix,
                chunks_a_page=2,
            )
            for each in self.kept
        }
        self.embeds = {
            each.index.fingerprint: EmbedChunks(each.index, self.store, embedder, each.version.suffix)
            for each in self.kept
        }
        self.import_document = ImportDocument(ProjectRecords(self.backend.client), bodies)
        live_first = [each.version for each in reversed(self.kept)]
        self.reconcile = ReconcileVersions.of(self.backend.client, self.store, self._queues_of(""), live_first)
        bus = EventBridgeBus(Gate(self.bus, "bus", aws_failure), "bus")
        self.send_events = PublishOutbox(Outbox(self.backend.client), bus)
        self.unfinished = UnfinishedWorkStore(self.backend.client)
        self.give_up = RecordTableFailure(self.indexes)
        self.maintain = self._maintenance()
        self.handle = self._delivery(sqs)
        self.records = ToolSearch(self.backend.client, FINGERPRINT.id)
        self.search = SearchTable(self.records, self.backend.store, MemoryEmbedder(), CALIBRATION)

    def indexes(self) -> dict[str, TableIndex]:
        return {each.index.fingerprint: each.index for each in self.kept}

    def _kept(self) -> list[Kept]:
        """The index versions, the one that answers last."""
        found: Sequence[StoredIndexVersion] = [StoredIndexVersion(LIVE, True, True, FINGERPRINT.id, "")]
        versions = IndexVersions(self.backend.client)
        if self.two_versions:
            versions.add(LIVE)
            versions.add(BESIDE)
            found = live_last(versions.all)
        self.build = BuildIndexVersions(versions, BESIDE, self.materials, self._queues_of)
        return [
            Kept(each, TableIndex(self.backend.client, each.settings.tables), self._queues_of(each.tables))
            for each in found
        ]

    def _queues_of(self, fingerprint: str) -> Any:
        return FewAMessage(TableQueues(self.tool_queue, self.embed_queue, fingerprint))

    def _maintenance(self) -> Maintain:
        """As `bootstrap` puts it together."""

        def has_backlog() -> bool:
            return not (self.tool_queue.is_empty() and self.embed_queue.is_empty())

        return Maintain(
            self.send_events,
            self.index,
            self.store,
            RestartTables(self.indexes, self._queues_of, has_backlog, self.give_up),
            ResumeWork(self.unfinished, self.materials, self._queues_of),
            lambda: 0,
            lambda: 0,
        )

    def _delivery(self, sqs: Gate) -> Delivery:
        """The functions of the two queues, as `bootstrap` puts them together."""
        surprises = Surprises()
        scan: Any = surprises.of(IndexInEachVersion(lambda: self.scans))
        embed: Any = surprises.of(EmbedInEachVersion(lambda: self.embeds))
        imports: Any = surprises.of(self._import)
        handlers = {
            _TOOLS: handler_of(sqs, _TOOLS, ToolWork(scan, imports, self.give_up, *silent()), self.unfinished),
            _EMBEDS: handler_of(sqs, _EMBEDS, EmbedWork(embed, self.give_up, *silent()), self.unfinished),
        }
        return Delivery(handlers, surprises, self.counts)

    def _import(self, table_id: str, upload: int, key: str) -> bool:
        imported = self.import_document(table_id, upload, key)
        self.processed.add(key)
        return imported

    def upload(self, project: str, table: str, body: bytes) -> str:
        """Somebody uploads a document to the bucket; its event is in the queue. Returns its key."""
        upload = self.call("begin_upload", table=table, bytes=len(body))["upload"]
        key = f"tables/{project}/{table}/{upload}.json"
        self.bodies.write(key, body)
        stored = {"key": key, "versionId": "v1", "sequencer": "01"}
        record = {"eventName": "ObjectCreated:Put", "s3": {"bucket": {"name": "tables"}, "object": stored}}
        self.sqs.send_message(QueueUrl=_TOOLS, MessageBody=json.dumps({"Records": [record]}))
        return key

    def call(self, function: str, **arguments: Any) -> Any:
        """One of the functions that the API calls, for an admin."""
        return call(self.backend.client, function, {f"p_{name}": value for name, value in arguments.items()})

    def each_minute(self) -> bool:
        """Runs the maintenance of each minute; returns whether there was anything to do."""
        done = self.maintain()
        built = self.two_versions and self.build().tables
        return bool(done.sent or done.restarted or done.resumed or done.completed or built)

    def each_night(self) -> bool:
        """Runs the nightly maintenance; returns whether anything differed."""
        differed, after = False, ""
        while True:
            page = self.reconcile.page(after, dry_run=False, is_over=lambda: False)
            differed |= bool(page.differences)
            if page.after is None:
                return differed
            after = page.after

    def clear(self) -> None:
        for name in self.backend.stand_in.listed("", "", 1000)["namespaces"]:
            self.backend.stand_in.delete(name["id"])
        tables = ("context_table", *_OF_TABLES, "project", "index_version", *_LEFT)
        self.backend.sql.execute("; ".join(f"delete from {table}" for table in tables).encode())

    def write_elsewhere(self, table: str, data: str) -> None:
        """A platform writes the record in the database itself."""
        self.backend.sql.execute("update context_table set data = %s where id = %s", [data, table])

    def time_passes(self, seconds: int) -> None:
        """So many seconds, in the database."""
        time_passes(self.backend.sql, seconds)
