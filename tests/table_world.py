"""Tables end to end without Lambda: a real database, the stand-in for turbopuffer, messages delivered by tests."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from mcp_types import CallToolResult
from sakuin.errors import NotFound
from sakuin.mcp.search_tools import SearchTools
from sakuin.platform.supabase.client import Client, call, connected
from sakuin.platform.unfinished_work import UnfinishedWorkStore
from sakuin.retrieval.index_version import TableCut, TableIndexVersion
from sakuin.tables.admin.outbox import Outbox, PublishOutbox
from sakuin.tables.chunk_store import Found, namespace
from sakuin.tables.document import written_table
from sakuin.tables.embed_chunks import EmbedChunks
from sakuin.tables.index_table import CHUNKS_A_PAGE, NODES_A_COMPARISON, IndexTable
from sakuin.tables.messages import TableQueues
from sakuin.tables.postgres import TableIndex, ToolSearch
from sakuin.tables.recovery import RecordTableFailure, RestartTables
from sakuin.tables.search import SearchTable, TableAnswer
from sakuin.tables.turbopuffer.client import connected as store_connected
from sakuin.tables.turbopuffer.store import TurbopufferChunkStore
from sakuin.upkeep.maintain import Maintain, MaintenanceResult, ResumeWork
from sakuin_local.serving import served
from sakuin_local.supabase.database import Database
from sakuin_local.turbopuffer.endpoint import application
from sakuin_local.turbopuffer.pace import AT_ONCE
from sakuin_local.turbopuffer.store import Store
from turbopuffer import Turbopuffer

from tests.database_server import connection_to
from tests.doubles.embedder import CALIBRATION, MODEL, MemoryEmbedder
from tests.doubles.event_bus import MemoryBus
from tests.doubles.table_bodies import MemoryBodies
from tests.effort import EFFORT

FINGERPRINT = TableIndexVersion(MODEL, TableCut())


@dataclass
class MemoryQueues:
    """`TableQueues` whose messages wait until a test delivers them."""

    asked: list[tuple[Any, ...]] = field(default_factory=list)

    def index(
        self, project_id: str, table_id: str, *, generation: int | None = None, skip: int = 0, resumed: bool = False
    ) -> None:
        self.asked.append(("index", project_id, table_id, generation, skip))

    def embed_chunks(
        self, project_id: str, table_id: str, batches: Sequence[Sequence[str]], *, resumed: bool = False
    ) -> None:
        self.asked += [("embed", project_id, table_id, tuple(batch)) for batch in batches]

    def import_document(self, key: str) -> None:
        self.asked.append(("import", key))


@dataclass
class WatchedStore:
    """A store that calls a function once, right before or after a method, by the method's name."""

    real: Any
    before: dict[str, Callable[[], None]] = field(default_factory=dict)
    after: dict[str, Callable[[], None]] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.real, name)

        def called(*arguments: Any, **named: Any) -> Any:
            self.before.pop(name, _nothing)()
            result = method(*arguments, **named)
            self.after.pop(name, _nothing)()
            return result

        return called


@dataclass
class SayingStore:
    """A store whose every search finds what the test says."""

    found: Found

    def search(self, namespace: str, **asked: Any) -> Found:
        return self.found


def _nothing() -> None:
    pass


@dataclass
class TableWorld:
    """One project with everything it needs. `store` and `embedder` may be replaced by failing ones."""

    client: Client
    store: Any
    embedder: MemoryEmbedder = field(default_factory=MemoryEmbedder)
    queues: MemoryQueues = field(default_factory=MemoryQueues)
    bodies: MemoryBodies = field(default_factory=MemoryBodies)
    cut: TableCut = field(default_factory=TableCut)
    project: str = ""
    dsn: str = field(default="", repr=False)
    chunks_a_page: int = CHUNKS_A_PAGE
    nodes_a_comparison: int = NODES_A_COMPARISON

    @property
    def index(self) -> TableIndex:
        return TableIndex(self.client, FINGERPRINT)

    @property
    def scan(self) -> IndexTable:
        sizes = {"chunks_a_page": self.chunks_a_page, "nodes_a_comparison": self.nodes_a_comparison}
        return IndexTable(self.index, self.bodies, self.store, self.queues, self.cut, **sizes)

    @property
    def embed(self) -> EmbedChunks:
        return EmbedChunks(self.index, self.store, self.embedder)

    def call(self, function: str, **arguments: Any) -> Any:
        return call(self.client, function, {f"p_{name}": value for name, value in arguments.items()})

    def table(self, document: object, *, threshold: int = 200) -> str:
        data = written_table(document)
        made = self.call("create_table", project=self.project, name="t", data=data, chunk_threshold=threshold)
        return str(made["id"])

    def replace(self, table: str, document: object) -> None:
        self.call("replace_table", table=table, data=written_table(document), expected_version=None)
        self.queues.index(self.project, table)

    def tool(self, table: str, json_path: str, name: str = "search") -> str:
        place = {"project": self.project, "table": table, "json_path": json_path}
        made = self.call("create_tool", **place, name=name, description="d")
        self.queues.index(self.project, table)
        return str(made["id"])

    def endpoint(self, *tools: str) -> str:
        made = self.call("create_mcp", project=self.project, name="e", key_hash="0" * 64, tools=list(tools))
        return str(made["id"])

    def documented(self, document: object) -> tuple[str, str, str]:
        """Makes a Table, a Tool over all of it and an endpoint; returns their ids."""
        table = self.table(document)
        tool = self.tool(table, "")
        return table, tool, self.endpoint(tool)

    def indexed(self, document: object) -> tuple[str, str, str]:
        """The same, indexed."""
        made = self.documented(document)
        self.settle()
        return made

    def deliver(self, message: tuple[Any, ...]) -> None:
        """Delivers one message to its worker."""
        if message[0] == "index":
            _, project, table, generation, skip = message
            self.scan(project, table, generation=generation, skip=skip)
        else:
            _, project, table, ids = message
            self.embed(project, table, ids)

    def settle(self) -> None:
        """Delivers messages until there are none; with more effort each twice, as queues may."""
        while self.queues.asked:
            message = self.queues.asked.pop(0)
            for _ in range(min(EFFORT, 2)):
                self.deliver(message)

    def status(self, tool: str) -> dict[str, Any]:
        status: dict[str, Any] = self.call("read_tool", tool=tool)["metadata"]["search_index"]
        return status

    @property
    def tools(self) -> SearchTools:
        return SearchTools(self)

    def table_search(self, version: str | None = None) -> SearchTable:
        return SearchTable(self.records, self.store, self.embedder, CALIBRATION)

    @property
    def records(self) -> ToolSearch:
        return ToolSearch(self.client, FINGERPRINT.id)

    def ask(self, endpoint: str, arguments: dict[str, Any], *, tool: str = "search") -> CallToolResult | None:
        """Calls a tool; returns None for an unknown name."""
        found = self.records.endpoint(endpoint)
        assert found is not None
        return self.tools.call(found, tool, arguments)

    def found(self, endpoint: str, query: str = "説明", *, tool: str | None = None) -> set[str]:
        """Returns the pointers of all results."""
        return {hit.chunk.json_pointer for hit in self.search(endpoint, query, tool=tool, top_k=50).results}

    def maintain(self, bus: Any | None = None) -> MaintenanceResult:
        send = PublishOutbox(Outbox(self.client), bus or MemoryBus())
        return maintenance(self, send=send, has_backlog=bool(self.queues.asked))()

    def sql(self, statement: str, *arguments: object) -> list[tuple[Any, ...]]:
        """Runs SQL that no function of the product has."""
        cursor = connection_to(self.dsn).execute(statement.encode(), arguments)
        return cursor.fetchall() if cursor.description else []

    def beside(self) -> "TableWorld":
        """Makes another project of the same deployment."""
        other = self.call("create_project", name="other")["id"]
        return replace(self, project=other, queues=MemoryQueues(), embedder=MemoryEmbedder())

    def search(self, endpoint: str, query: str, *, tool: str | None = None, top_k: int = 5) -> TableAnswer:
        """Searches with the endpoint's first tool, or the one named."""
        records = self.records
        found = records.endpoint(endpoint)
        assert found is not None
        chosen = next(each for each in found.tools if tool is None or each.name == tool)
        return SearchTable(records, self.store, self.embedder, CALIBRATION)(endpoint, chosen, query, top_k=top_k)

    def rows(self, table: str) -> dict[str, int]:
        """Returns the rows of a Table in the store: doc id to generation."""
        try:
            return dict(self.store.ids(namespace(self.project, table)))
        except NotFound:
            return {}


@dataclass(frozen=True, slots=True)
class OfProject:
    """The records that `RestartTables` reads, of one project alone."""

    real: TableIndex
    project: str

    def stalled_tables(self, seconds: int) -> list[tuple[str, str]]:
        return [found for found in self.real.stalled_tables(seconds) if found[0] == self.project]

    def record_restart(self, table_id: str, *, seconds: int) -> int | None:
        return self.real.record_restart(table_id, seconds=seconds)


def maintenance(
    world: TableWorld,
    *,
    index: TableIndex | None = None,
    queues: TableQueues | None = None,
    send: Callable[[], int] = lambda: 0,
    has_backlog: bool = False,
) -> Maintain:
    """Returns the maintenance of a world; `has_backlog`: messages about Tables wait for a worker."""
    index = index or world.index
    queues = queues or world.queues
    give_up = RecordTableFailure(lambda: {index.fingerprint: index})
    of_project: Any = OfProject(index, world.project)
    no_materials: Any = None
    return Maintain(
        send,
        index,
        world.store,
        RestartTables(
            lambda: {index.fingerprint: of_project}, lambda _fingerprint: queues, lambda: has_backlog, give_up
        ),
        ResumeWork(UnfinishedWorkStore(world.client), no_materials, lambda _fingerprint: queues),
        lambda: 0,
        lambda: 0,
    )


@cache
def _store_at(address: str) -> Turbopuffer:
    """Returns the client of a stand-in: a new one for each test takes longer than its first request."""
    return store_connected(address, "any")


def world_of(database: Database, stand_in: str) -> TableWorld:
    world = TableWorld(
        connected(database.rest_url, database.service_key),
        TurbopufferChunkStore(_store_at(stand_in)),
        dsn=database.dsn,
    )
    world.project = world.call("create_project", name="p")["id"]
    return world


@contextmanager
def turbopuffer_in(folder: Path) -> Iterator[str]:
    """Serves turbopuffer's stand-in while the block runs; yields its address. It commits and indexes at once."""
    with served(application(Store(folder / "turbopuffer.sqlite", AT_ONCE))) as port:
        yield f"http://127.0.0.1:{port}"


def long(words: str, length: int = 1200) -> str:
    """Returns a large string."""
    return (f"{words}について説明します。" * length)[:length]
