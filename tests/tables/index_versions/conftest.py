"""A deployment with two index versions of Tables: the product's functions, a double of SQS, and a clock."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from sakuin.retrieval.index_version import IndexVersion, StoredIndexVersion, TableCut
from sakuin.tables.messages import embed_message, tool_message
from sakuin.tables.postgres import TableIndex
from sakuin.tables.search import TableAnswer
from sakuin.upkeep.index_versions import IndexVersions, IndexVersionState
from sakuin.wiring import maintain

from tests.doubles.embedder import MODEL, MemoryEmbedder
from tests.doubles.sqs import Message, ModelledSqs
from tests.effort import EFFORT
from tests.worlds import EMBEDS, SETTINGS, TableWorld

BLUE = SETTINGS
GREEN = replace(BLUE, model=replace(MODEL, passage_prefix="passage: "), cut=TableCut(chunk_size=400, overlap=50))


@dataclass
class Deployment:
    """The functions over one project. `own` are the deployed settings."""

    world: TableWorld
    _kept: list[StoredIndexVersion] | None = None

    def __post_init__(self) -> None:
        self.world.queues = self.world.queues_of()
        self.world.versions = self.kept

    @property
    def own(self) -> IndexVersion:
        return self.world.settings

    @own.setter
    def own(self, settings: IndexVersion) -> None:
        self.world.settings = settings

    @property
    def sqs(self) -> ModelledSqs:
        sqs: ModelledSqs = self.world.sqs
        return sqs

    @property
    def waiting(self) -> list[Message]:
        return self.world.waiting

    @property
    def indexes(self) -> IndexVersions:
        """Returns the index versions; who has them may change them."""
        self._kept = None
        return IndexVersions(self.world.client)

    def embedder(self, settings: IndexVersion) -> MemoryEmbedder:
        return self.world.embedder_of(settings.model)

    def index(self, settings: IndexVersion) -> TableIndex:
        return TableIndex(self.world.client, settings.tables)

    def build(self) -> dict[str, int]:
        """Runs the schedule: an index version first, whose Tables the next minute starts."""
        maintain.building(self.world.clients)()
        self._kept = None
        return self.world.maintain()

    def kept(self) -> list[StoredIndexVersion]:
        """Returns the index versions as functions have them, which read them seldom."""
        if self._kept is None:
            self._kept = list(IndexVersions(self.world.client).all())
        return self._kept

    def state(self, settings: IndexVersion) -> IndexVersionState:
        return next(each for each in self.indexes.states() if each.settings == settings)

    def lose(self, settings: IndexVersion, table: str = "") -> None:
        """Loses the messages for one index, of all Tables or of one."""
        for message in self.waiting:
            if fingerprint_of(message) == settings.tables.id and table in message.body:
                self.sqs.forget(message)

    def deliver(self) -> bool:
        """Delivers the oldest message, with more effort twice; returns whether it is done."""
        if EFFORT > 1:
            self.world.take(doubled=True)
        return self.world.take()

    def settle(self) -> None:
        while self.waiting:
            self.deliver()

    def search(self, endpoint: str, query: str = "説明", name: str | None = None) -> TableAnswer:
        """Returns the answer of the index `name`, by default of the live one."""
        self._kept = None
        return self.world.search(endpoint, query, version=name, top_k=50)

    def pointers(self, endpoint: str, name: str | None = None) -> set[str]:
        return {hit.chunk.json_pointer for hit in self.search(endpoint, name=name).results}


def fingerprint_of(message: Message) -> str | None:
    """Returns the index of a message; None means the live one."""
    read = embed_message if message.queue == EMBEDS else tool_message
    asked: Any = read(json.loads(message.body))
    fingerprint: str | None = asked.index_version
    return fingerprint


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
    deployment.settle()
    assert deployment.world.status(tool)["state"] == "ready"
    return Asked(table, tool, deployment.world.endpoint(tool))
