"""Tables on the real adapters: each call of a worker stops at a gate, each message waits for the schedule."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from sakuin.adapters.eventbridge import EventBridgeBus
from sakuin.adapters.sqs_tables import SqsTableQueues
from sakuin.adapters.supabase_client import call, connected
from sakuin.adapters.supabase_outbox import SupabaseOutbox
from sakuin.adapters.supabase_projects import SupabaseProjects
from sakuin.adapters.supabase_reconciliation import SupabaseTableClaims
from sakuin.adapters.supabase_tables import SupabaseTableIndex, SupabaseToolSearch
from sakuin.adapters.turbopuffer import TurbopufferChunkStore
from sakuin.adapters.turbopuffer_client import connected as store_connected
from sakuin.domain.table_cut import TableCut
from sakuin.domain.table_index import TableFingerprint
from sakuin.entrypoints.tool_messages import Heard, IndexAsked, embed_work, tool_work
from sakuin.errors import Unavailable
from sakuin.services.compare_store import CountTable
from sakuin.services.embed_chunks import EmbedChunks
from sakuin.services.hear_of_changes import HearOfChanges
from sakuin.services.index_table import IndexTable
from sakuin.services.maintain import Maintain
from sakuin.services.reconcile_tables import ReconcileTables
from sakuin.services.search_table import SearchTable
from sakuin.services.send_events import SendEvents
from sakuin_local.database import Database
from sakuin_local.serving import served
from sakuin_local.turbopuffer.endpoint import application
from sakuin_local.turbopuffer.store import Store
from supabase import Client
from turbopuffer import DefaultHttpxClient

from tests.convergence.gates import Gate, aws_failure, gated
from tests.convergence.queues import MAX_RECEIVE_COUNT, Message, ModelledBus, ModelledSqs
from tests.in_memory.embedder import MODEL, MemoryEmbedder

# Small, so that short texts have several chunks.
CUT = TableCut(threshold=12, chunk_size=16, overlap=4)
FINGERPRINT = TableFingerprint(MODEL, CUT)
_TOOLS, _EMBEDS = "tools", "embeds"


@dataclass(frozen=True)
class TablesHouse:
    """What all schedules share: a database, a store, and the gated connections to them."""

    client: Client
    store: TurbopufferChunkStore
    stand_in: Store
    sql: psycopg.Connection


@contextmanager
def tables_house(database: Database, folder: Path) -> Iterator[TablesHouse]:
    """Opens the house."""
    stand_in = Store(folder / "turbopuffer.sqlite")
    with served(application(stand_in)) as port, psycopg.connect(database.dsn_postgres, autocommit=True) as sql:
        client = connected(database.rest_url, database.service_key)
        gated(client.session, "supabase")
        session = DefaultHttpxClient()
        gated(session, "turbopuffer")
        # A request that is done again is a fate of the schedule's, so the client does none by itself.
        puffer = store_connected(f"http://127.0.0.1:{port}", "any", session).with_options(max_retries=0)
        # A row a request: what is stored of a batch may be any part of it.
        yield TablesHouse(client, TurbopufferChunkStore(puffer, max_request_bytes=1), stand_in, sql)


@dataclass(frozen=True)
class FewAMessage:
    """`TableQueues` that makes two messages of a batch of four: batches of one Table overtake each other."""

    real: SqsTableQueues

    def index(self, project_id: str, table_id: str, *, generation: int | None = None, skip: int = 0) -> None:
        self.real.index(project_id, table_id, generation=generation, skip=skip)

    def embed(self, project_id: str, table_id: str, batches: Sequence[Sequence[str]]) -> None:
        small = [batch[at : at + 2] for batch in batches for at in range(0, len(batch), 2)]
        self.real.embed(project_id, table_id, small)


def _no_answer() -> Exception:
    return Unavailable("as the schedule has it")


@dataclass
class TablesWorld:
    """The services of one schedule. `store` may be swapped for one that is broken on purpose."""

    house: TablesHouse
    store: Any = None
    sqs: ModelledSqs = field(default_factory=ModelledSqs)

    def __post_init__(self) -> None:
        self.store = self.store or self.house.store
        self.bus = ModelledBus(self.sqs, _TOOLS)
        self.index = SupabaseTableIndex(self.house.client, FINGERPRINT)
        self.queues = FewAMessage(SqsTableQueues(Gate(self.sqs, "sqs", aws_failure), _TOOLS, _EMBEDS))
        embedder = Gate(MemoryEmbedder(), "openai", _no_answer)
        claims = SupabaseTableClaims(self.house.client, FINGERPRINT.id)
        count = CountTable(self.store, claims)
        bodies = Gate({}, "s3", _no_answer)
        self.walk = IndexTable(self.index, bodies, self.store, self.queues, CUT, nodes_a_page=2, count=count)
        self.embed = EmbedChunks(self.index, self.store, embedder, count=count)
        self.reconcile = ReconcileTables(claims, self.index, self.store, self.queues, lambda: "")
        bus = EventBridgeBus(Gate(self.bus, "bus", aws_failure), "bus")
        self.send_events = SendEvents(SupabaseOutbox(self.house.client), bus)
        self.maintain = Maintain(self.send_events, self.index, self.queues, self.store)
        self.hear = HearOfChanges(SupabaseProjects(self.house.client))
        self.records = SupabaseToolSearch(self.house.client, FINGERPRINT.id)
        self.search = SearchTable(self.records, self.house.store, MemoryEmbedder())

    def call(self, function: str, **arguments: Any) -> Any:
        """One of the functions that the API calls, for an admin."""
        return call(self.house.client, function, {f"p_{name}": value for name, value in arguments.items()})

    def handle(self, message: Message) -> None:
        """What the queues' functions do with a message."""
        try:
            if message.queue == _EMBEDS:
                batch = embed_work(message.body)
                self.embed(batch.project_id, batch.table_id, batch.chunks)
            else:
                for asked in self._asked(message):
                    heard = isinstance(asked, Heard)
                    self.walk(
                        asked.project_id, asked.table_id, generation=asked.generation, skip=asked.skip, heard=heard
                    )
        except Exception:
            if message.tries >= MAX_RECEIVE_COUNT:
                self._fail(message)
            raise

    def each_minute(self) -> bool:
        """What the schedule's function does each minute; whether there was anything to do."""
        done = self.maintain()
        found = self.reconcile.counted(limit=10, is_over=lambda: False)
        return bool(done.sent or done.restarted or found)

    def clear(self) -> None:
        """Leaves nothing of this schedule to the next."""
        for name in self.house.stand_in.listed("", "", 1000)["namespaces"]:
            self.house.stand_in.delete(name["id"])
        self.house.sql.execute("delete from project")
        self.house.sql.execute("delete from outbox")
        self.house.sql.execute("delete from table_namespace")

    def write_elsewhere(self, table: str, data: str, *, told: int) -> None:
        """A platform writes the record in the database itself; its webhook says so, so many times."""
        written = "update context_table set data = %s where id = %s returning id::text, project_id::text, generation"
        (found,) = self.house.sql.execute(written, [data, table]).fetchall()
        row = dict(zip(("id", "project_id", "generation"), found, strict=True))
        payload = {"type": "UPDATE", "table": "context_table", "record": row | {"data": data}, "old_record": row}
        for _ in range(told):
            self.hear(payload)

    def time_passes(self) -> None:
        """An hour: what gave no sign of life since is stuck."""
        self.house.sql.execute(
            "update tool set metadata = jsonb_set(jsonb_set(metadata, '{search_index,configured_at}',"
            " to_jsonb(now() - interval '1 hour')), '{search_index,heartbeat_at}', to_jsonb(now() - interval '1 hour'))"
            " where metadata->'search_index' is not null"
        )

    def _asked(self, message: Message) -> list[IndexAsked]:
        return [asked for asked in tool_work(message.body) if isinstance(asked, IndexAsked)]

    def _fail(self, message: Message) -> None:
        tables = [embed_work(message.body)] if message.queue == _EMBEDS else self._asked(message)
        for asked in tables:
            work = self.index.work(asked.table_id)
            if work is not None:
                self.index.failed(asked.table_id, work.generation, "It failed five times.")
