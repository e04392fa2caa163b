"""A deployment with two index versions of Tables: the product's functions, a double of SQS, and a clock."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from sakuin.knowledge.messages import MaterialQueue
from sakuin.platform.sqs import SqsQueue
from sakuin.retrieval.index_version import (
    ANALYZER,
    CHUNKER,
    TEXT_TEMPLATE,
    IndexVersion,
    IndexVersionState,
    StoredIndexVersion,
    TableCut,
    find_version,
)
from sakuin.tables.embed_chunks import EmbedChunks
from sakuin.tables.index_table import IndexTable
from sakuin.tables.messages import TableQueues
from sakuin.tables.postgres import TableIndex, ToolSearch
from sakuin.tables.recovery import RecordTableFailure, RestartTables
from sakuin.tables.search import SearchTable, TableAnswer
from sakuin.upkeep.index_versions import BuildIndexVersions, IndexVersions
from sakuin.upkeep.maintain import Maintain, MaintenanceResult, ResumeWork
from sakuin.wiring.index_versions import live_last, table_indexes

from tests.convergence.passing import time_passes
from tests.database_server import connection_to
from tests.doubles.embedder import CALIBRATION, MODEL, MemoryEmbedder
from tests.doubles.sqs import Message, ModelledSqs
from tests.effort import EFFORT
from tests.table_functions import TableFunctions, fingerprint_of
from tests.table_world import TableWorld

BLUE = IndexVersion(MODEL, TEXT_TEMPLATE, ANALYZER, TableCut(), CHUNKER)
GREEN = replace(BLUE, model=replace(MODEL, passage_prefix="passage: "), cut=TableCut(chunk_size=400, overlap=50))


@dataclass
class Deployment:
    """The functions over one project. `own` are the deployed settings."""

    world: TableWorld
    own: IndexVersion = BLUE
    embedders: dict[str, MemoryEmbedder] = field(default_factory=dict)
    _kept: list[StoredIndexVersion] | None = None

    def __post_init__(self) -> None:
        self.functions = TableFunctions(self.world.client, self.scans, self.embeds, self.every_index)

    @property
    def every_index(self) -> Callable[[], Any]:
        return table_indexes(self.world.client, self.kept)

    @property
    def sqs(self) -> ModelledSqs:
        sqs: ModelledSqs = self.functions.sqs
        return sqs

    @property
    def waiting(self) -> list[Message]:
        return self.functions.waiting

    @property
    def indexes(self) -> IndexVersions:
        """Returns the index versions; who has them may change them."""
        self._kept = None
        return IndexVersions(self.world.client)

    def queues(self, fingerprint: str = "") -> TableQueues:
        return self.functions.queues(fingerprint)

    def embedder(self, settings: IndexVersion) -> MemoryEmbedder:
        return self.embedders.setdefault(settings.id, MemoryEmbedder(settings.model))

    def index(self, settings: IndexVersion) -> TableIndex:
        return TableIndex(self.world.client, settings.tables)

    def build(self) -> MaintenanceResult:
        """Runs the schedule."""
        materials = MaterialQueue(SqsQueue(self.sqs, "materials"))
        maintain = Maintain(
            # Events are sent by `edit`.
            lambda: 0,
            self.index(self.own),
            self.world.store,
            RestartTables(
                self.every_index, self.queues, self.functions.has_backlog, RecordTableFailure(self.every_index)
            ),
            ResumeWork(self.functions.unfinished, materials, self.queues),
            lambda: 0,
            lambda: 0,
        )
        done = maintain()
        BuildIndexVersions(self.indexes, self.own, materials, self.queues)()
        return done

    def kept(self) -> list[StoredIndexVersion]:
        """Returns the index versions as functions have them, which read them seldom."""
        if self._kept is None:
            self._kept = live_last(IndexVersions(self.world.client).all)
        return self._kept

    def state(self, settings: IndexVersion) -> IndexVersionState:
        return next(each for each in self.indexes.states() if each.settings == settings)

    def passes(self, seconds: int) -> None:
        """Lets so many seconds pass."""
        time_passes(connection_to(self.world.dsn), seconds)
        self.sqs.passes(seconds)

    def lose(self, settings: IndexVersion, table: str = "") -> None:
        """Loses the messages for one index, of all Tables or of one."""
        for message in self.waiting:
            if fingerprint_of(message) == settings.tables.id and table in message.body:
                self.sqs.forget(message)

    def deliver(self) -> bool:
        """Delivers the oldest message, with more effort twice; returns whether it is done."""
        if EFFORT > 1:
            self.functions.take(doubled=True)
        return self.functions.take()

    def settle(self) -> None:
        while self.waiting:
            self.deliver()

    def scans(self) -> dict[str, IndexTable]:
        world = self.world
        return {
            each.tables: IndexTable(
                self.index(each.settings),
                world.bodies,
                world.store,
                self.queues(each.tables),
                each.settings.cut,
                each.suffix,
            )
            for each in self.kept()
        }

    def embeds(self) -> dict[str, EmbedChunks]:
        return {
            each.tables: EmbedChunks(
                self.index(each.settings), self.world.store, self.embedder(each.settings), each.suffix
            )
            for each in self.kept()
        }

    def edit(self, table: str, document: object) -> None:
        """Replaces the document and sends the event."""
        self.world.replace(table, document)
        self.queues().index(self.world.project, table)

    def search(self, endpoint: str, query: str = "説明", name: str | None = None) -> TableAnswer:
        """Returns the answer of the index `name`, by default of the live one."""
        asked = find_version(self.indexes.all(), name)
        records = ToolSearch(self.world.client, asked.tables)
        found = records.endpoint(endpoint)
        assert found is not None
        search = SearchTable(records, self.world.store, self.embedder(asked.settings), CALIBRATION, asked.suffix)
        return search(endpoint, found.tools[0], query, top_k=50)

    def pointers(self, endpoint: str, name: str | None = None) -> set[str]:
        return {hit.chunk.json_pointer for hit in self.search(endpoint, name=name).results}


@pytest.fixture
def deployment(world: TableWorld) -> Iterator[Deployment]:
    """A deployment with one live index version."""
    deployment = Deployment(world)
    deployment.build()
    yield deployment
    world.sql("delete from index_version")


@pytest.fixture
def both(deployment: Deployment) -> Deployment:
    """The same with a second index version beside it."""
    deployment.own = GREEN
    deployment.build()
    return deployment


@dataclass(frozen=True, slots=True)
class Asked:
    """A Table with a tool, indexed."""

    table: str
    tool: str
    endpoint: str


def indexed(deployment: Deployment, document: object) -> Asked:
    table = deployment.world.table(document)
    tool = deployment.world.tool(table, "")
    deployment.world.queues.asked.clear()
    deployment.queues().index(deployment.world.project, table)
    deployment.settle()
    assert deployment.world.status(tool)["state"] == "ready"
    return Asked(table, tool, deployment.world.endpoint(tool))
