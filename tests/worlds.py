"""The product over the database of this process, built by `wiring`: one world for pages, one for Tables.

What comes from outside is a double, but for the database and the stand-in for turbopuffer.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import psycopg
from mcp_types import CallToolResult
from sakuin.differences import Difference
from sakuin.errors import NotFound
from sakuin.http.access import RestServices
from sakuin.knowledge.bucket_events import BucketEvents
from sakuin.knowledge.index_page import IndexPage
from sakuin.knowledge.learns.sources import LearnsModel
from sakuin.knowledge.library import Library
from sakuin.knowledge.messages import BucketEvent, read_event
from sakuin.knowledge.model import EventResult, Learns, MaterialState, UploadResult
from sakuin.knowledge.page import DEFAULT_BOX_SELECTORS
from sakuin.knowledge.postgres import KnowledgeIndex, LearnsRecords, MaterialRecords
from sakuin.knowledge.postgres_search import CandidateStore, ChunkSearch, Lexicon, PostgresChunks, ReadKnowledge
from sakuin.knowledge.search import SearchKnowledge
from sakuin.knowledge.turbopuffer import TurbopufferChunks
from sakuin.mcp.search_tools import SearchTools
from sakuin.platform.embedding import EmbeddingModel
from sakuin.platform.queue_handler import QueueHandler, QueueWork
from sakuin.platform.retry import Waiting
from sakuin.platform.secrets import Secrets
from sakuin.platform.sqs import SqsQueue
from sakuin.platform.supabase.client import Client, call, connected
from sakuin.platform.supabase.sign_in import issuer_of
from sakuin.platform.turbopuffer.client import connected as store_connected
from sakuin.platform.waiting import WorkRecords
from sakuin.retrieval.index_version import IndexVersion, StoredIndexVersion, TableCut
from sakuin.retrieval.passages import embedded_passages
from sakuin.settings import Settings
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.chunking import chunks
from sakuin.tables.document import written_table
from sakuin.tables.embed_chunks import EmbedChunks
from sakuin.tables.index_table import CHUNKS_A_PAGE, NODES_A_COMPARISON, IndexTable
from sakuin.tables.messages import TableQueues
from sakuin.tables.model import Endpoint
from sakuin.tables.nodes import namespace
from sakuin.tables.postgres import TableIndex, ToolSearch
from sakuin.tables.search import SearchTable, TableAnswer
from sakuin.tables.turbopuffer import ChunkStore
from sakuin.texts.catalogue import restored
from sakuin.upkeep.index_versions import IndexVersions
from sakuin.upkeep.maintain import Maintain
from sakuin.upkeep.queues import Queues
from sakuin.upkeep.reconcile import Kind, Reconcile
from sakuin.wiring import api, embed_chunks, index_material, index_tool, maintain, mcp
from sakuin.wiring.clients import Clients, Telemetry
from sakuin.wiring.index_versions import own_index, reconciling
from sakuin_local.serving import served
from sakuin_local.supabase.database import Database
from sakuin_local.supabase.tokens import Keys
from sakuin_local.turbopuffer.endpoint import application
from sakuin_local.turbopuffer.store import Store
from turbopuffer import Turbopuffer

from tests.builders import a_page
from tests.convergence.passing import AN_HOUR, time_passes
from tests.database_server import connection_to
from tests.doubles.bucket import MemoryBucket
from tests.doubles.embedder import MODEL, WEIGHTS, MemoryEmbedder
from tests.doubles.event_bus import MemoryBus
from tests.doubles.queue import MemoryQueue, MemoryQueues
from tests.doubles.sqs import Message, ModelledSqs, handler_of
from tests.effort import EFFORT
from tests.emptied import emptied
from tests.environment import environment
from tests.events import Context, a_telemetry, ring

NOW = datetime(2026, 11, 22, tzinfo=UTC)
# The queues of Tables, and the settings of a deployment with the double of an embedding model.
TOOLS, EMBEDS = "tool", "embed"
DEPLOYED = Settings.read(
    environment(
        EMBEDDING_MODEL=MODEL.name,
        MATERIAL_QUEUE_URL="material",
        TOOL_QUEUE_URL=TOOLS,
        EMBED_QUEUE_URL=EMBEDS,
        **{f"{name.upper()}_DEAD_LETTERS_URL": f"dead-{name}" for name in ("material", "tool", "embed")},
    )
)
SECRETS = Secrets("supabase-key", "search-key", "openai-key", (), ())
SETTINGS = own_index(DEPLOYED)
FINGERPRINT = SETTINGS.tables
PAGE_KEY = "junior/二次方程式の解き方_教材.html"
PAGE_BOXES = {
    "rule-quadratic-formula": "解の公式: 二次方程式を公式で解きたいときは、係数を読みとって公式に代入する。",
    "method-tasukigake": "たすき掛け: 二次式を二つの因数に分ける。",
    "ex-1": "噴水の高さ: 水の高さを時刻で表した式を調べる。",
}


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """A `NamedSecret` that does not change."""

    members: Secrets

    def now(self) -> Secrets:
        return self.members

    newer = now


@dataclass(frozen=True)
class Doubles(Clients):
    """What the functions of a world use from outside: the parts that the world has at the moment."""

    world: Any = None

    @property
    def supabase(self) -> Client:
        return self.world.client

    def short_supabase(self, seconds: float) -> Client:
        return self.world.client

    def secret(self, *, with_all: bool = False) -> Any:
        return StoredSecret(self.secrets)

    def question_embedder(self, model: EmbeddingModel, *, is_public: bool = False) -> Any:
        return self.world.embedder_of(model)

    def indexing_embedder(self, model: EmbeddingModel, *, urgency: int | None = None, at_once: bool = False) -> Any:
        return self.world.embedder_of(model)

    def learns_model(self) -> LearnsModel | None:
        return self.world.model

    def chunk_store(self, *, for_upkeep: bool = False) -> Any:
        return self.world.store

    def material_bucket(self) -> Any:
        return self.world.bucket

    def material_queue(self) -> Any:
        return self.world.queue

    def tables_bucket(self) -> Any:
        return self.world.bodies

    def event_bus(self) -> Any:
        return self.world.bus

    def table_queues(self) -> Any:
        return self.world.queues

    def aws(self, service: str) -> Any:
        return {"sqs": self.world.sqs}.get(service)


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """The columns of `knowledge_chunks` that tests compare."""

    material: str
    anchor: str
    title: str
    content: str
    learns: Learns
    category: str | None
    level: str | None
    prerequisites: tuple[str, ...]
    generation: int


@dataclass(kw_only=True)
class Outside:
    """What the functions of a world use from outside; each part may be replaced by one that fails.

    `settings` are the deployed ones; `embedders` are those of other models than the first.
    """

    doubles: ClassVar[type[Doubles]] = Doubles
    settings: IndexVersion = SETTINGS
    telemetry: Telemetry = field(default_factory=a_telemetry)
    embedder: MemoryEmbedder = field(default_factory=MemoryEmbedder)
    embedders: dict[EmbeddingModel, MemoryEmbedder] = field(default_factory=dict)
    queue: MemoryQueue = field(default_factory=MemoryQueue)
    queues: Any = field(default_factory=MemoryQueues)
    bodies: Any = field(default_factory=MemoryBucket)
    bus: Any = field(default_factory=MemoryBus)
    sqs: Any = field(default_factory=ModelledSqs)

    def clients_with(self, **settings: Any) -> Doubles:
        """Returns the clients of functions that use the parts of this world."""
        return self.doubles(replace(DEPLOYED, **settings), SECRETS, self.telemetry, world=self)

    def handler(self, queue: str) -> QueueHandler:
        """Returns a worker of a queue."""
        raise NotImplementedError

    def handle(self, message: Message) -> bool:
        """Has a worker process a message that it received; returns whether the message may be deleted."""
        answer = self.handler(message.queue).handle({"Records": [message.as_record()]}, Context())
        return not answer["batchItemFailures"]

    def embedder_of(self, model: EmbeddingModel) -> MemoryEmbedder:
        if model == MODEL:
            return self.embedders.get(model, self.embedder)
        return self.embedders.setdefault(model, MemoryEmbedder(model))


@dataclass
class World(Outside):
    """Pages and projects of a deployment. `model` None means that no language model is asked.

    `searched` may be replaced by one that fails.
    """

    database: Database
    client: Client
    sql: psycopg.Connection
    model: LearnsModel | None = None
    prefix: str = ""
    base_url: str = ""
    max_page_bytes: int = 1_000_000
    vocabulary: str = DEPLOYED.vocabulary
    box_selectors: tuple[str, ...] = DEFAULT_BOX_SELECTORS
    bucket: MemoryBucket = field(default_factory=MemoryBucket)
    # A library without Tables.
    store: Any = None

    def __post_init__(self) -> None:
        self.index = KnowledgeIndex(self.client)
        self.learns = LearnsRecords(self.client)
        self.indexes = IndexVersions(self.client)
        self.records = MaterialRecords(self.client)
        self.lexicon = Lexicon(self.client)
        chunks: CandidateStore = PostgresChunks(self.client)
        if self.settings.store == "turbopuffer":
            chunks = TurbopufferChunks(PostgresChunks(self.client), self.store, DEPLOYED.bucket)
        self.searched: ChunkSearch = ChunkSearch(chunks, WEIGHTS)
        self.work_records = WorkRecords(self.client)
        self.indexes.add(self.settings)

    @property
    def clients(self) -> Doubles:
        clients = self.clients_with(
            supabase_url=self.database.rest_url,
            base_url=self.base_url,
            material_prefix=self.prefix,
            box_selectors=self.box_selectors,
            embedding_model=self.settings.model,
            knowledge_store=self.settings.store,
            vocabulary=self.vocabulary,
            limits=replace(DEPLOYED.limits, page_bytes=self.max_page_bytes),
        )
        members = {"supabase_publishable_key": self.database.anon_key, "supabase_jwt_secret": self.database.jwt_secret}
        return replace(clients, secrets=replace(SECRETS, **members))

    def kept(self) -> Sequence[StoredIndexVersion]:
        """Returns the index versions."""
        return self.indexes.all()

    # ---------------------------------------------------------------- indexing

    def put(self, key: str, body: bytes) -> str:
        """Uploads a file and processes everything that comes of it, but asks no language model; returns the version."""
        version = self.bucket.write(key, body)
        self.settle()
        return version

    def ask_model(self) -> list[EventResult]:
        """Asks the language model for everything that is due, as maintenance and the queue do."""
        done: list[EventResult] = []
        while self.send_learns():
            done += self.settle()
        return done

    def settle(self) -> list[EventResult]:
        """Processes the messages of bucket and queue, oldest first, until there are none; delays pass at once."""
        done: list[EventResult] = []
        while messages := [*self.bucket.take_messages(), *self.queue.take_messages()]:
            done += [self.deliver(body) for body in messages]
        return done

    def deliver(self, body: str) -> EventResult:
        """Processes the event of a message."""
        event = read_event(json.loads(body))
        assert event is not None
        return self.process(event)

    def process(self, event: BucketEvent) -> EventResult:
        return self.events.process_event(event)

    @property
    def events(self) -> BucketEvents:
        return index_material.bucket_events(self.clients)

    def send_learns(self) -> int:
        return self.learns.send_due(self.queue.ask_learns)

    @property
    def apply_page(self) -> IndexPage:
        return self.events.pages

    # ---------------------------------------------------------------- what agents and operators ask

    @property
    def search(self) -> SearchKnowledge:
        return self.knowledge_search()

    def knowledge_search(self, version: str | None = None) -> SearchKnowledge:
        """Returns the search in an index by its name, by default in the live one."""
        search = mcp.Searches(self.clients, self.kept).knowledge_search(version)
        return search_with(search, chunks=self.searched)

    @property
    def read(self) -> ReadKnowledge:
        return ReadKnowledge(self.client, self.base_url)

    @property
    def library(self) -> Library:
        return api.library_of(self.clients)

    @property
    def services(self) -> RestServices:
        """Returns the use cases of REST and of the console, for the admin key of the sample events."""
        clients, secret = self.clients, self.clients.secret()
        sessions = api.sessions_of(clients, secret, api.auth_of(clients, secret))
        services = api.rest_services(clients, secret, sessions)
        return replace(services, admin_keys=ring, record_use=lambda _key_hash: None)

    @property
    def queue_states(self) -> Queues:
        """Returns the states of the queues, and their dead letters."""
        return self.clients.queues()

    @property
    def reconcile(self) -> Reconcile:
        return self.reconcile_with()

    def reconcile_with(
        self, *, bucket: Any = None, now: datetime = NOW, queue_is_empty: Callable[[], bool] = lambda: True
    ) -> Reconcile:
        """What reconciles, an hour after everything that was done so far; `bucket` may be another one."""
        time_passes(self.sql, AN_HOUR)
        reconcile = reconciling(self.clients, self.kept)()
        materials = replace(reconcile.materials, bucket=bucket or self.bucket, now=lambda: now)
        return replace(reconcile, materials=materials, queue_is_empty=queue_is_empty)

    def night(self, reconcile: Reconcile | None = None, kinds: Sequence[Kind] = ("keys", "rows")) -> list[Difference]:
        """Returns the differences that a daily comparison of pages finds and repairs."""
        reconcile = reconcile or self.reconcile
        differences: list[Difference] = []
        for kind in kinds:
            place: str | None = ""
            while place is not None:
                page = reconcile.scheduled_page(kind, place or None)
                differences, place = [*differences, *page.differences], page.after
        return differences

    @property
    def maintenance(self) -> Maintain:
        return maintain.maintenance(self.clients, self.kept)

    # ---------------------------------------------------------------- projects

    @property
    def projects(self) -> ProjectRecords:
        return ProjectRecords(self.client)

    def token(self, user: str) -> str:
        """Returns a token of this user, as Supabase Auth signs it."""
        issuer = issuer_of(self.database.rest_url)
        return Keys(self.database.jwt_secret).of_role("authenticated", sub=user, aud="authenticated", iss=issuer)

    # ---------------------------------------------------------------- what a test looks at

    def state(self, material: str) -> MaterialState:
        """Returns the record of a material."""
        found = self.index.state(material)
        assert found is not None, material
        return found

    def materials(self) -> list[str]:
        """Returns the names of all materials, deleted ones too."""
        return [name for (name,) in self.sql.execute("select material from public.material order by material")]

    def chunks(self, material: str | None = None) -> list[ChunkRow]:
        """Returns the chunks of a material in page order; of all without one."""
        rows = self.sql.execute(
            "select material, anchor, title, content, learns, learns_source, learns_given, category, level,"
            " prerequisites, generation from public.knowledge_chunks where coalesce(material = %s, true)"
            " order by material, position",
            [material],
        ).fetchall()
        return [
            ChunkRow(
                *(material, anchor, title, content),
                Learns(tuple(learns), source, None if given is None else tuple(given)),
                *(category, level, tuple(needs), generation),
            )
            for material, anchor, title, content, learns, source, given, category, level, needs, generation in rows
        ]

    def upload_result(self, key: str, version: str) -> UploadResult:
        """Returns the result of an uploaded version."""
        (found,) = self.records.upload_results([(key, version)])
        return found

    def synonyms(self) -> list[list[str]]:
        """Returns the phrases of each group of the site's synonyms."""
        rows = self.sql.execute("select groups from public.site_synonyms order by key")
        return [group["phrases"] for (groups,) in rows for group in groups]

    def followed_files(self) -> Mapping[str, str | None]:
        """Returns the version of each `learns.yml` that was last applied to its pages."""
        return dict(self.sql.execute("select key, version_id from public.authored_file").fetchall())

    def rows(self, *tables: str) -> list[list[tuple[Any, ...]]]:
        """Returns every row of these tables."""
        ordered = "select * from public.{0} order by {0}::text"
        return [self.sql.execute(ordered.format(table).encode()).fetchall() for table in tables]


@dataclass(frozen=True, slots=True)
class Worlds:
    """Makes worlds over the database of this process; with `empty` every row is deleted first."""

    database: Database
    client: Client
    sql: psycopg.Connection

    def __call__(self, *, empty: bool = True, **parts: Any) -> World:
        if empty:
            emptied(self.sql)
        return World(self.database, self.client, self.sql, **parts)


def with_a_page(a_world: Worlds) -> World:
    """Returns a library with one page of three explanations, beside what its database has."""
    world = a_world(empty=False, base_url="/school_asset")
    world.put(PAGE_KEY, a_page(PAGE_BOXES, head="<meta name='category' content='代数'>"))
    return world


@contextmanager
def as_before(world: World) -> Iterator[None]:
    """Lets a block change the library that `with_a_page` returned; afterwards it is as it was."""
    page = world.bucket.read(PAGE_KEY, max_bytes=10_000).body
    yield
    emptied(world.sql)
    world.indexes.add(world.settings)
    world.bucket.begin_anew()
    world.put(PAGE_KEY, page)


@dataclass
class TableWorld(Outside):
    """One project with everything it needs.

    `queues` keep messages until a test delivers them, or are those of `sqs` (`on_sqs`). `versions` are the index
    versions; by default those of the database, of which `settings` is live.
    """

    client: Client
    store: Any
    project: str = ""
    dsn: str = field(default="", repr=False)
    chunks_a_page: int = CHUNKS_A_PAGE
    nodes_a_comparison: int = NODES_A_COMPARISON
    versions: Callable[[], Sequence[StoredIndexVersion]] | None = None
    # A project without pages.
    bucket: Any = None

    @property
    def clients(self) -> Doubles:
        return self.clients_with(embedding_model=self.settings.model, table_cut=self.settings.cut)

    def kept(self) -> Sequence[StoredIndexVersion]:
        """Returns the index versions."""
        if self.versions is not None:
            return self.versions()
        ((rows,),) = self.sql("select index_versions()")
        return [StoredIndexVersion.of(row) for row in rows]

    def record(self, *versions: IndexVersion) -> None:
        """Records these index versions alone; the first one is live."""
        self.sql("delete from index_version where fingerprint <> %s or not live", versions[0].id)
        for version in versions:
            IndexVersions(self.client).add(version)

    @property
    def index(self) -> TableIndex:
        return TableIndex(self.client, self.settings.tables)

    def scans(self) -> dict[str, IndexTable]:
        """Returns the scan of each index version."""
        return {each.tables: self.scan_of(each) for each in self.kept()}

    def scan_of(self, version: StoredIndexVersion) -> IndexTable:
        """Returns the scan of an index version."""
        scan = index_tool.scans(self.clients)(version)
        return replace(scan, chunks_a_page=self.chunks_a_page, nodes_a_comparison=self.nodes_a_comparison)

    @property
    def scan(self) -> IndexTable:
        return replace(self.scans()[self.settings.tables.id], queues=self.queues)

    def embeds(self) -> dict[str, EmbedChunks]:
        """Returns what embeds the chunks of each index version."""
        return {each.tables: embed_chunks.embedders(self.clients)(each) for each in self.kept()}

    @property
    def embed(self) -> EmbedChunks:
        return self.embeds()[self.settings.tables.id]

    def call(self, function: str, **arguments: Any) -> Any:
        return call(self.client, function, {f"p_{name}": value for name, value in arguments.items()})

    def table(self, document: object, *, threshold: int = 200, entries: Mapping[str, Any] | None = None) -> str:
        data = written_table(document)
        members = {"data": data, "chunk_threshold": threshold, "entries": entries}
        made = self.call("create_table", project=self.project, name="t", **members)
        return str(made["id"])

    def with_entries(self, document: object, entries: Mapping[str, Any]) -> tuple[str, str, str]:
        """Makes a Table with entries, a Tool over all of it and an endpoint, indexed; returns their ids."""
        table = self.table(document, entries=entries)
        tool = self.tool(table, "")
        self.settle()
        return table, tool, self.endpoint(tool)

    def change_entries(self, table: str, entries: Mapping[str, Any]) -> None:
        self.call("change_table", table=table, name=None, chunk_threshold=None, entries=entries)
        self.queues.index(self.project, table)

    def fix(self, endpoint: str, tool: str, **values: Any) -> None:
        """Fixes a filter at an endpoint."""
        fixed = {name: [value] for name, value in values.items()}
        self.call("bind_tool", mcp=endpoint, tool=tool, status="enabled", filter=fixed)

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
        status: dict[str, Any] = restored(self.call("read_tool", tool=tool)["metadata"]["search_index"])
        return status

    @property
    def tools(self) -> SearchTools:
        return SearchTools(self)

    def table_search(self, version: str | None = None) -> SearchTable:
        return table_search_with(mcp.Searches(self.clients, self.kept).table_search(version), weights=WEIGHTS)

    @property
    def records(self) -> ToolSearch:
        return ToolSearch(self.client, self.settings.tables.id)

    def bound(self, endpoint: str) -> Endpoint:
        """Returns an endpoint with its tools."""
        found = self.records.endpoint(endpoint)
        assert found is not None
        return found

    def ask(self, endpoint: str, arguments: dict[str, Any], *, tool: str = "search") -> CallToolResult:
        """Calls a tool of an endpoint."""
        result = self.tools.call(self.bound(endpoint), tool, arguments)
        assert result is not None
        return result

    def answer(self, endpoint: str, query: str, **arguments: Any) -> dict[str, Any]:
        """Searches as an agent does; returns the structured answer."""
        answer = self.ask(endpoint, {"query": query, **arguments}).structured_content
        assert answer is not None
        return answer

    def search(
        self, endpoint: str, query: str, *, tool: str | None = None, top_k: int = 5, version: str | None = None
    ) -> TableAnswer:
        """Searches with the endpoint's first tool, or the one named."""
        search = self.table_search(version)
        found = search.records.endpoint(endpoint)
        assert found is not None
        chosen = next(each for each in found.tools if tool is None or each.name == tool)
        return search(endpoint, chosen, query, top_k=top_k)

    def found(self, endpoint: str, query: str = "説明", *, tool: str | None = None) -> set[str]:
        """Returns the pointers of all results."""
        return {hit.chunk.json_pointer for hit in self.search(endpoint, query, tool=tool, top_k=50).results}

    @property
    def maintenance(self) -> Maintain:
        """Returns the maintenance of the live index version."""
        return replace(maintain.maintenance(self.clients, self.kept), index=self.index, daily={}, clock=lambda: 0.0)

    def maintain(self) -> dict[str, int]:
        return self.maintenance()

    def sql(self, statement: str, *arguments: object) -> list[tuple[Any, ...]]:
        """Runs SQL that no function of the product has."""
        cursor = connection_to(self.dsn).execute(statement.encode(), arguments)
        return cursor.fetchall() if cursor.description else []

    def beside(self) -> "TableWorld":
        """Makes another project of the same deployment."""
        other = self.call("create_project", name="other")["id"]
        return replace(self, project=other, queues=MemoryQueues(), embedder=MemoryEmbedder())

    def rows(self, table: str) -> dict[str, int]:
        """Returns the rows of a Table in the store: doc id to generation."""
        try:
            return dict(self.store.ids(namespace(self.project, table)))
        except NotFound:
            return {}

    # ---------------------------------------------------------------- the functions behind SQS

    def on_sqs(self) -> "TableWorld":
        """Lets changes send messages by the double of SQS, which `take` receives."""
        self.queues = self.queues_of(self.settings.tables.id)
        return self

    def queues_of(self, fingerprint: str = "") -> TableQueues:
        """Returns the queues of one index version; without a name those of all."""
        return TableQueues(SqsQueue(self.sqs, TOOLS), SqsQueue(self.sqs, EMBEDS), fingerprint)

    @property
    def work_records(self) -> WorkRecords:
        return WorkRecords(self.client)

    def waiting_rows(self, table: str) -> list[Waiting]:
        """Returns the row of a Table that waits, if it does."""
        return [row for row in self.work_records.waiting(limit=100).rows if row.subject == table]

    @property
    def waiting(self) -> list[Message]:
        """Returns the messages that can be received now."""
        messages: list[Message] = self.sqs.waiting
        return messages

    def work(self, queue: str) -> QueueWork[Any]:
        """Returns what processes the messages of a queue."""
        if queue == EMBEDS:
            return embed_chunks.embed_work(self.clients, self.kept)
        return replace(index_tool.tool_work(self.clients, self.kept), scan_of=self.scan_of)

    def handler(self, queue: str) -> QueueHandler:
        return handler_of(self.clients.aws("sqs"), queue, self.work(queue), self.work_records)

    def take(self, which: int = 0, *, doubled: bool = False) -> bool:
        """Has a function receive one of the waiting messages; returns whether it is done, and deleted.

        `doubled`: SQS delivers it once more, whatever came of it.
        """
        message = self.sqs.receive(which, doubled=doubled)
        is_done = self.handle(message)
        if is_done and not doubled:
            self.sqs.delete(message.id)
        return is_done

    def take_all(self) -> None:
        """Receives messages until none is waiting."""
        while self.waiting:
            self.take()

    def passes(self, seconds: int) -> None:
        """Lets so many seconds pass."""
        time_passes(connection_to(self.dsn), seconds)
        self.sqs.passes(seconds)

    def minute(self) -> dict[str, int]:
        """Lets a minute pass and runs maintenance."""
        self.passes(60)
        return self.maintain()

    def minutes(self, many: int) -> None:
        """Lets so many minutes pass, with maintenance and deliveries."""
        for _ in range(many):
            self.minute()
            self.take_all()


def search_with(search: SearchKnowledge, **parts: Any) -> SearchKnowledge:
    """Returns the search of pages with other parts of what is searched."""
    pages = replace(search.pages(None), **parts)
    return replace(search, pages=lambda _live: pages)


def table_search_with(search: SearchTable, **parts: Any) -> SearchTable:
    """Returns the search of Tables with other parts of what is searched."""
    tables = replace(search.tables(None), **parts)
    return replace(search, tables=lambda _live: tables)


@cache
def _store_at(address: str) -> Turbopuffer:
    """Returns the client of a stand-in: a new one for each test takes longer than its first request."""
    return store_connected(address, "any")


def world_of(database: Database, stand_in: str) -> TableWorld:
    world = TableWorld(
        connected(database.rest_url, database.service_key), ChunkStore(_store_at(stand_in)), dsn=database.dsn
    )
    world.project = world.call("create_project", name="p")["id"]
    world.record(SETTINGS)
    return world


@contextmanager
def turbopuffer_in(folder: Path) -> Iterator[str]:
    """Serves turbopuffer's stand-in while the block runs; yields its address. It commits and indexes at once."""
    with served(application(Store(folder / "turbopuffer.sqlite"))) as port:
        yield f"http://127.0.0.1:{port}"


def long(words: str, length: int = 1200) -> str:
    """Returns a large string."""
    return (f"{words}について説明します。" * length)[:length]


def passages_of(text: str, *, title: str = "") -> list[str]:
    """Returns the passages of a string that are embedded, with the title of its object."""
    cut = TableCut()
    pieces = chunks(text, size=cut.chunk_size, overlap=cut.overlap)
    return [passage for piece in pieces for passage in embedded_passages(piece.text, title=title).values()]
