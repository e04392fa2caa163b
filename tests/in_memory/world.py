"""The whole product on in-memory adapters: what `bootstrap` is to the cloud."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from sakuin.domain.chunking import CHUNKER
from sakuin.domain.index_settings import IndexSettings, named_index
from sakuin.domain.page import DEFAULT_BOX_SELECTORS
from sakuin.domain.recipe import ANALYZER, RECIPE, EmbeddingModel
from sakuin.domain.table_cut import TableCut
from sakuin.knowledge.bucket_events import BucketEvents
from sakuin.knowledge.index_page import IndexOfPages, IndexPage
from sakuin.knowledge.messages import BucketEvent, read_event
from sakuin.knowledge.results import EventResult
from sakuin.platform.unfinished_work import UnfinishedWorkStore, short_client
from sakuin.services.learns_sources import LearnsSources
from sakuin.services.library import Library
from sakuin.services.read_knowledge import ReadKnowledge
from sakuin.services.reconcile import Reconcile
from sakuin.services.reconcile_materials import ReconcileMaterials
from sakuin.services.reconcile_tables import ReconcileTables
from sakuin.services.search_knowledge import SearchKnowledge

from tests.in_memory.bucket import MemoryBucket
from tests.in_memory.embedder import MODEL, MemoryEmbedder
from tests.in_memory.index import MemoryIndex
from tests.in_memory.indexes import MemoryIndexes
from tests.in_memory.learns_model import MemoryLearnsModel
from tests.in_memory.lexicon import MemoryLexicon
from tests.in_memory.projects import MemoryBodies, MemoryBus, MemoryProjects
from tests.in_memory.queue import MemoryQueue
from tests.in_memory.reconciliation import MemoryLibraryRecords, MemoryWalks, NoTables
from tests.in_memory.records import MemoryRecords
from tests.in_memory.search import MemorySearch

NOW = datetime(2026, 11, 22, tzinfo=UTC)
SETTINGS = IndexSettings(MODEL, RECIPE, ANALYZER, TableCut(), CHUNKER)


@dataclass
class World:
    """Adapters that remember, and the services over them. `model` None means that no language model is asked.

    `settings` are the deployed ones; `embedders` are those of other models than the first. `unfinished` is on Postgres:
    a test that needs it gives one.
    """

    model: MemoryLearnsModel | None = None
    prefix: str = ""
    base_url: str = ""
    max_page_bytes: int = 1_000_000
    box_selectors: tuple[str, ...] = DEFAULT_BOX_SELECTORS
    bucket: MemoryBucket = field(default_factory=MemoryBucket)
    index: MemoryIndex = field(default_factory=MemoryIndex)
    queue: MemoryQueue = field(default_factory=MemoryQueue)
    embedder: MemoryEmbedder = field(default_factory=MemoryEmbedder)
    projects: MemoryProjects = field(default_factory=MemoryProjects)
    bodies: MemoryBodies = field(default_factory=MemoryBodies)
    bus: MemoryBus = field(default_factory=MemoryBus)
    unfinished: UnfinishedWorkStore = field(
        default_factory=lambda: UnfinishedWorkStore(short_client("http://127.0.0.1:9", "key"))
    )
    walks: MemoryWalks = field(default_factory=MemoryWalks)

    settings: IndexSettings = SETTINGS
    embedders: dict[EmbeddingModel, MemoryEmbedder] = field(default_factory=dict)
    indexes: MemoryIndexes = field(init=False)

    def __post_init__(self) -> None:
        self.indexes = MemoryIndexes(self.index)
        self.library_records = MemoryLibraryRecords(self.index)

    def embedder_of(self, model: EmbeddingModel) -> MemoryEmbedder:
        """The embedder of a model."""
        return self.embedder if model == MODEL else self.embedders.setdefault(model, MemoryEmbedder(model))

    def pages_of_indexes(self) -> Sequence[IndexOfPages]:
        """What pages are embedded for: as `bootstrap` has it."""
        return [
            IndexOfPages(each.settings.knowledge, self.embedder_of(each.settings.model), each.live)
            for each in self.indexes.kept()
            if each.settings.recipe == self.settings.recipe
        ]

    @property
    def pages(self) -> IndexPage:
        return IndexPage(
            bucket=self.bucket,
            index=self.index,
            embedder=self.embedder,
            learns=LearnsSources(self.bucket, self.index, self.model, self.prefix),
            fingerprint=self.settings.knowledge,
            max_page_bytes=self.max_page_bytes,
            kept=self.pages_of_indexes,
        )

    @property
    def events(self) -> BucketEvents:
        logger, metrics = Logger(service="test"), Metrics(namespace="Sakuin", service="test")
        return BucketEvents(self.bucket, self.index, self.queue, self.pages, self.prefix, logger, metrics)

    def process(self, event: BucketEvent) -> EventResult:
        """Processes one event of the bucket."""
        return self.events.process_event(event)

    def deliver(self, body: str) -> EventResult:
        """Processes the event of a message."""
        event = read_event(json.loads(body))
        assert event is not None
        return self.process(event)

    @property
    def records(self) -> MemoryRecords:
        return MemoryRecords(self.index)

    @property
    def search(self) -> SearchKnowledge:
        return self.knowledge_search()

    def knowledge_search(self, version: str | None = None) -> SearchKnowledge:
        """The search in an index by its name; None is the one that answers."""
        kept = self.indexes.kept()
        asked = named_index(kept, version).settings if kept else self.settings
        embedder = self.embedder_of(asked.model)
        return SearchKnowledge(
            MemorySearch(self.index), MemoryLexicon(self.index), embedder, asked.knowledge, self.base_url
        )

    @property
    def read(self) -> ReadKnowledge:
        return ReadKnowledge(MemorySearch(self.index), self.base_url)

    @property
    def library(self) -> Library:
        return Library(
            records=self.records,
            index=self.index,
            bucket=self.bucket,
            queue=self.queue,
            prefix=self.prefix,
            fingerprint=self.settings.knowledge.id,
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
        line_is_empty: Callable[[], bool] = lambda: True,
    ) -> Reconcile:
        """What reconciles, on a clock that goes on by so many seconds whenever it is read, or with another bucket."""
        records = self.library_records
        materials = ReconcileMaterials(
            bucket or self.bucket, records, self.unfinished, self.queue, self.prefix, lambda: now
        )
        nothing: Any = None
        tables = ReconcileTables(NoTables(), nothing, nothing, nothing, lambda: "")
        return Reconcile(materials, tables, self.walks, (tick * ticks for tick in count()).__next__, line_is_empty)

    def put(self, key: str, body: bytes) -> str:
        """Uploads a file and processes everything that comes of it; gives the version."""
        version = self.bucket.write(key, body)
        self.settle()
        return version

    def settle(self) -> list[EventResult]:
        """Processes the messages of bucket and queue, oldest first, until there are none; delays pass at once."""
        done: list[EventResult] = []
        while messages := [*self.bucket.take_messages(), *self.queue.take_messages()]:
            done += [self.deliver(body) for body in messages]
        return done
