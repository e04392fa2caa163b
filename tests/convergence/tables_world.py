"""The services over Tables for one schedule, on the product's adapters: each call of a worker stops at a gate."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
from sakuin.knowledge.messages import MaterialQueue
from sakuin.platform.aws import EventBridgeBus
from sakuin.platform.calls import Ask, background
from sakuin.platform.queue_handler import QueueWork
from sakuin.platform.sqs import SqsQueue
from sakuin.platform.supabase.client import Client, call, connected
from sakuin.platform.turbopuffer.client import connected as store_connected
from sakuin.platform.waiting import WorkRecords
from sakuin.retrieval.index_version import StoredIndexVersion, TableCut
from sakuin.tables.embed_chunks import EmbedWork
from sakuin.tables.index_table import IndexTable
from sakuin.tables.messages import TableQueues
from sakuin.tables.postgres import TableIndex
from sakuin.tables.turbopuffer import ChunkStore
from sakuin.tables.work import ToolWork
from sakuin.upkeep.index_versions import IndexVersions
from sakuin.upkeep.maintain import Maintain
from sakuin.wiring import embed_chunks, index_tool, maintain, mcp
from sakuin.wiring.clients import Clients
from sakuin.wiring.index_versions import live_last, reconciling
from sakuin_local.serving import served
from sakuin_local.supabase.database import Database
from sakuin_local.turbopuffer.endpoint import application
from sakuin_local.turbopuffer.store import Store
from turbopuffer import DefaultHttpxClient

from tests.convergence.delivery import Delivery, Surprises, handler_of, silent_telemetry
from tests.convergence.gates import PATIENCE_SECONDS, Gate, aws_failure, circuit_open, gated, unavailable
from tests.convergence.passing import time_passes
from tests.doubles.bucket import MemoryBucket
from tests.doubles.embedder import WEIGHTS, MemoryEmbedder
from tests.doubles.event_bus import ModelledBus
from tests.doubles.sqs import ModelledSqs
from tests.events import s3_message
from tests.worlds import SETTINGS, doubles, table_search_with

# Small, so that short texts have several chunks.
CUT = TableCut(chunk_size=16, overlap=4)
THRESHOLD = 12
# The index version that answers, and one that is built beside it.
LIVE = replace(SETTINGS, cut=CUT)
FINGERPRINT = LIVE.tables
BESIDE = replace(LIVE, cut=TableCut(chunk_size=24, overlap=6))
_TOOLS, _EMBEDS = "tool", "embed"
_OF_TABLES = ("node", "chunks", "chunk_vector", "table_reading", "table_object")


_LEFT = ("orphaned_upload", "outbox", "table_namespace", "deletion")


@dataclass(frozen=True)
class TablesBackend:
    """What all schedules share: a database, a store, and the gated connections to them."""

    client: Client
    store: ChunkStore
    stand_in: Store
    sql: psycopg.Connection


@contextmanager
def tables_backend(database: Database, folder: Path) -> Iterator[TablesBackend]:
    stand_in = Store(folder / "turbopuffer.sqlite")
    with served(application(stand_in)) as port, psycopg.connect(database.dsn_postgres, autocommit=True) as sql:
        client = connected(database.rest_url, database.service_key, seconds=PATIENCE_SECONDS)
        gated(client.postgrest.session, "supabase")
        session = DefaultHttpxClient()
        gated(session, "turbopuffer")
        # A request that is done again is a fate of the schedule's, so the client does none by itself.
        puffer = store_connected(f"http://127.0.0.1:{port}", "any", session).with_options(max_retries=0)
        retried = Retried(replace(background(), sleep=lambda _: None))
        circuit = Gate(retried, "turbopuffer's circuit", unavailable("turbopuffer"), circuit_open("turbopuffer"))
        # A row a request: what is stored of a batch may be any part of it.
        yield TablesBackend(client, ChunkStore(puffer, 1, ask=circuit.ask, ask_now=circuit.ask), stand_in, sql)


@dataclass(frozen=True)
class Retried:
    """What is behind the gate of a circuit."""

    ask: Ask


@dataclass(frozen=True)
class FewAMessage(TableQueues):
    """Queues that make two messages of a batch of four: batches of one Table overtake each other."""

    def embed_chunks(self, project_id: str, table_id: str, batches: Sequence[Sequence[str]]) -> None:
        small = [batch[at : at + 2] for batch in batches for at in range(0, len(batch), 2)]
        super().embed_chunks(project_id, table_id, small)


@dataclass(frozen=True)
class Kept:
    """An index version that every change is written to."""

    version: StoredIndexVersion
    index: TableIndex


@dataclass
class TablesWorld:
    """The services of one schedule.

    `two_versions`: another index version is kept beside the one that answers. `processed` are the keys of the uploads
    whose event was processed.
    """

    backend: TablesBackend
    two_versions: bool = False
    bodies: MemoryBucket = field(default_factory=MemoryBucket)
    processed: set[str] = field(default_factory=set)
    sqs: ModelledSqs = field(default_factory=ModelledSqs)
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.bus = ModelledBus(self.sqs, _TOOLS)
        self.index = TableIndex(self.backend.client, FINGERPRINT)
        sqs = Gate(self.sqs, "sqs", aws_failure)
        self.tool_queue, self.embed_queue = SqsQueue(sqs, _TOOLS), SqsQueue(sqs, _EMBEDS)
        outside = SimpleNamespace(
            client=self.backend.client,
            store=self.backend.store,
            queues=FewAMessage(self.tool_queue, self.embed_queue),
            queue=MaterialQueue(SqsQueue(sqs, "materials")),
            bodies=Gate(self.bodies, "s3", unavailable("s3")),
            bus=EventBridgeBus(Gate(self.bus, "bus", aws_failure), "bus"),
            bucket=None,
        )
        embedder = Gate(MemoryEmbedder(), "openai", unavailable("openai"), circuit_open("openai"))
        outside.embedder_of = lambda _model: embedder
        clients = doubles(outside, silent_telemetry(), table_cut=BESIDE.cut)
        versions = self._versions(clients)
        self.kept = [Kept(each, TableIndex(self.backend.client, each.settings.tables)) for each in versions]

        def kept() -> Sequence[StoredIndexVersion]:
            return versions

        self.reconcile = reconciling(clients, kept)().tables
        self.maintain = self._maintenance(maintain.maintenance(clients, kept))
        self.send_events = self.maintain.publish_events
        self.work_records = WorkRecords(self.backend.client)
        self.handle = self._delivery(sqs, index_tool.tool_work(clients, kept), embed_chunks.embed_work(clients, kept))
        search = replace(mcp.Searches(clients, kept).table_search(), store=self.backend.store)
        self.search = table_search_with(search, embedder=MemoryEmbedder(), weights=WEIGHTS)
        self.records = self.search.records

    def _versions(self, clients: Clients) -> list[StoredIndexVersion]:
        """Returns the index versions, the one that answers last."""
        self.build = maintain.building(clients)
        if not self.two_versions:
            return [StoredIndexVersion(LIVE, True, True, FINGERPRINT.id, "")]
        versions = IndexVersions(self.backend.client)
        versions.add(LIVE)
        versions.add(BESIDE)
        return live_last(versions.all)

    def _maintenance(self, whole: Maintain) -> Maintain:
        """Returns the maintenance of Tables alone."""

        def nothing() -> int:
            return 0

        others = ("delete_uploads", "send_learns", "write_quotas", "delete_questions")
        return replace(whole, index=self.index, clock=lambda: 0.0, daily={}, **dict.fromkeys(others, nothing))

    def _delivery(self, sqs: Gate, tool: ToolWork, embed: EmbedWork) -> Delivery:
        """Returns the functions of the two queues. Scans have small pages."""
        surprises, self.import_document = Surprises(), tool.import_document

        def small(version: StoredIndexVersion) -> IndexTable:
            return replace(tool.scan_of(version), chunks_a_page=2)

        imports: Any = self._import
        works: dict[str, QueueWork[Any]] = {
            _TOOLS: replace(tool, scan_of=small, import_document=imports),
            _EMBEDS: embed,
        }
        handlers = {
            queue: handler_of(sqs, queue, surprises.of_work(work), self.work_records) for queue, work in works.items()
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
        self.sqs.send_message(QueueUrl=_TOOLS, MessageBody=json.dumps(s3_message(key, bucket="tables")))
        return key

    def call(self, function: str, **arguments: Any) -> Any:
        """One of the functions that the API calls, for an admin."""
        return call(self.backend.client, function, {f"p_{name}": value for name, value in arguments.items()})

    def each_minute(self) -> bool:
        """Runs the maintenance of each minute; returns whether there was anything to do."""
        if self.two_versions:
            self.build()
        done = self.maintain()
        return any(done[part] for part in ("events", "restarted", "completed"))

    def each_night(self) -> bool:
        """Runs the nightly maintenance; returns whether anything differed."""
        differed, after = False, None
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
