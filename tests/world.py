"""The product's services over the database of this process; bucket, queue, models and event bus are doubles."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any

import psycopg
from sakuin.http.projects import ProjectServices
from sakuin.knowledge.bucket_events import BucketEvents
from sakuin.knowledge.index_page import IndexPage, PageTarget
from sakuin.knowledge.learns.ask_model import AskModel
from sakuin.knowledge.learns.postgres import LearnsRecords, SendPendingLearns
from sakuin.knowledge.learns.sources import LearnsModel, LearnsSources
from sakuin.knowledge.library import Library
from sakuin.knowledge.messages import BucketEvent, read_event
from sakuin.knowledge.model import EventResult, Learns, MaterialState, UploadResult
from sakuin.knowledge.page import DEFAULT_BOX_SELECTORS
from sakuin.knowledge.postgres import KnowledgeIndex
from sakuin.knowledge.postgres_records import MaterialRecords
from sakuin.knowledge.postgres_search import KnowledgeSearch, Lexicon, ReadKnowledge
from sakuin.knowledge.reconcile import ReconcileMaterials
from sakuin.knowledge.search import SearchKnowledge
from sakuin.language.vocabulary_files import vocabulary_id
from sakuin.platform.embedding import EmbeddingModel
from sakuin.platform.supabase.client import Client
from sakuin.platform.supabase.sign_in import issuer_of
from sakuin.platform.supabase.tokens import tokens_of
from sakuin.platform.unfinished_work import UnfinishedWorkStore
from sakuin.retrieval.index_version import (
    ANALYZER,
    CHUNKER,
    DEFAULT_VOCABULARY,
    TEXT_TEMPLATE,
    IndexVersion,
    TableCut,
    find_version,
)
from sakuin.tables.admin.outbox import Outbox, PublishOutbox
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.admin.tables import TableAdmin
from sakuin.tables.reconcile import ReconcileTables, ReconcileVersions, TableSummaries
from sakuin.upkeep.index_versions import IndexVersions
from sakuin.upkeep.reconcile import Reconcile, ReconciliationRuns
from sakuin_local.supabase.database import Database
from sakuin_local.supabase.tokens import Keys

from tests.builders import a_page
from tests.convergence.passing import AN_HOUR, time_passes
from tests.doubles.bucket import MemoryBucket
from tests.doubles.embedder import CALIBRATION, MODEL, MemoryEmbedder
from tests.doubles.event_bus import MemoryBus
from tests.doubles.queue import MemoryQueue
from tests.doubles.table_bodies import MemoryBodies
from tests.emptied import emptied
from tests.events import a_telemetry

NOW = datetime(2026, 11, 22, tzinfo=UTC)
SETTINGS = IndexVersion(MODEL, TEXT_TEMPLATE, ANALYZER, TableCut(), CHUNKER, vocabulary_id(DEFAULT_VOCABULARY))
PAGE_KEY = "junior/二次方程式の解き方_教材.html"
PAGE_BOXES = {
    "rule-quadratic-formula": "解の公式: 二次方程式を公式で解きたいときは、係数を読みとって公式に代入する。",
    "method-tasukigake": "たすき掛け: 二次式を二つの因数に分ける。",
    "ex-1": "噴水の高さ: 水の高さを時刻で表した式を調べる。",
}


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


@dataclass
class World:
    """The services of a deployment. `model` None means that no language model is asked.

    `settings` are the deployed ones; `embedders` are those of other models than the first. `index` and `searched` may
    be replaced by ones that fail.
    """

    database: Database
    client: Client
    sql: psycopg.Connection
    model: LearnsModel | None = None
    prefix: str = ""
    base_url: str = ""
    max_page_bytes: int = 1_000_000
    box_selectors: tuple[str, ...] = DEFAULT_BOX_SELECTORS
    bucket: MemoryBucket = field(default_factory=MemoryBucket)
    queue: MemoryQueue = field(default_factory=MemoryQueue)
    embedder: MemoryEmbedder = field(default_factory=MemoryEmbedder)
    bodies: MemoryBodies = field(default_factory=MemoryBodies)
    bus: MemoryBus = field(default_factory=MemoryBus)
    settings: IndexVersion = SETTINGS
    embedders: dict[EmbeddingModel, MemoryEmbedder] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.index = KnowledgeIndex(self.client)
        self.learns = LearnsRecords(self.client)
        self.indexes = IndexVersions(self.client)
        self.records = MaterialRecords(self.client)
        self.lexicon = Lexicon(self.client)
        self.searched: KnowledgeSearch = KnowledgeSearch(self.client, CALIBRATION)
        self.unfinished = UnfinishedWorkStore(self.client)
        self.runs = ReconciliationRuns(self.client)
        self.projects = ProjectRecords(self.client)

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
        watch = a_telemetry()
        pages = self.apply_page
        asks = AskModel(pages.learns, self.learns, pages, self.queue, self.send_learns)
        return BucketEvents(self.bucket, self.index, self.queue, pages, asks, self.prefix, watch.logger, watch.metrics)

    @property
    def send_learns(self) -> SendPendingLearns:
        return SendPendingLearns(self.learns, self.queue)

    @property
    def apply_page(self) -> IndexPage:
        return IndexPage(
            bucket=self.bucket,
            index=self.index,
            embedder=self.embedder,
            learns=LearnsSources(self.bucket, self.learns, self.model, self.prefix),
            version=self.settings.pages,
            max_page_bytes=self.max_page_bytes,
            targets=self.pages_of_indexes,
        )

    def pages_of_indexes(self) -> Sequence[PageTarget]:
        """Returns the index versions that pages are embedded for."""
        return [
            PageTarget(each.settings.pages, self.embedder_of(each.settings.model), each.live)
            for each in self.indexes.all()
            if each.settings.text_template == self.settings.text_template
        ]

    def embedder_of(self, model: EmbeddingModel) -> MemoryEmbedder:
        return self.embedder if model == MODEL else self.embedders.setdefault(model, MemoryEmbedder(model))

    # ---------------------------------------------------------------- what agents and operators ask

    @property
    def search(self) -> SearchKnowledge:
        return self.knowledge_search()

    def knowledge_search(self, version: str | None = None) -> SearchKnowledge:
        """Returns the search in an index by its name, by default in the live one."""
        kept = self.indexes.all()
        asked = find_version(kept, version).settings if kept else self.settings
        embedder = self.embedder_of(asked.model)
        return SearchKnowledge(self.searched, self.lexicon, embedder, asked.pages, self.base_url)

    @property
    def read(self) -> ReadKnowledge:
        return ReadKnowledge(self.client, self.base_url)

    @property
    def library(self) -> Library:
        return Library(
            records=self.records,
            index=self.index,
            bucket=self.bucket,
            queue=self.queue,
            prefix=self.prefix,
            fingerprint=self.settings.pages.id,
            max_page_bytes=self.max_page_bytes,
            box_selectors=self.box_selectors,
        )

    @property
    def reconcile(self) -> Reconcile:
        return self.reconcile_with()

    def reconcile_with(
        self,
        *,
        ticks: float = 0.0,
        bucket: Any = None,
        now: datetime = NOW,
        queue_is_empty: Callable[[], bool] = lambda: True,
    ) -> Reconcile:
        """What reconciles, an hour after everything that was done so far.

        Its clock goes on by `ticks` seconds whenever it is read; `bucket` may be another one.
        """
        time_passes(self.sql, AN_HOUR)
        materials = ReconcileMaterials(
            bucket or self.bucket, self.records, self.unfinished, self.queue, self.prefix, lambda: now
        )
        clock = (tick * ticks for tick in count()).__next__
        return Reconcile(materials, self.reconcile_tables, self.runs, clock, queue_is_empty)

    @property
    def reconcile_tables(self) -> ReconcileVersions:
        """Returns a comparison of Tables, where there are none."""
        nothing: Any = None
        claims = TableSummaries(self.client, self.settings.tables.id)
        return ReconcileVersions([ReconcileTables(claims, nothing, nothing, nothing, "")])

    # ---------------------------------------------------------------- projects

    @property
    def project_services(self) -> ProjectServices:
        return ProjectServices(
            records=self.projects,
            tables=TableAdmin(self.projects, self.bodies),
            publish=PublishOutbox(Outbox(self.client), self.bus),
            user_of=tokens_of(self.database.rest_url, lambda: (self.database.jwt_secret,)).user_of,
        )

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
        return [_chunk(*row) for row in rows]

    def receipt(self, key: str, version: str) -> UploadResult:
        """Returns the receipt of an uploaded version."""
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
    world.bucket.begin_anew()
    world.put(PAGE_KEY, page)


def _chunk(
    material: str, anchor: str, title: str, content: str, learns: list[str], source: Any, given: Any, *fields: Any
) -> ChunkRow:
    category, level, prerequisites, generation = fields
    items = Learns(tuple(learns), source, None if given is None else tuple(given))
    return ChunkRow(material, anchor, title, content, items, category, level, tuple(prerequisites), generation)
