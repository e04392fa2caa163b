"""Tables of a deployment whose settings change: built beside, edited in both, flipped all at once, and back."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from sakuin.adapters.supabase_indexes import SupabaseIndexes
from sakuin.adapters.supabase_tables import SupabaseTableIndex, SupabaseToolSearch
from sakuin.domain.chunking import CHUNKER
from sakuin.domain.index_settings import IndexSettings, KeptIndex, named_index
from sakuin.domain.recipe import ANALYZER, RECIPE
from sakuin.domain.search_index_names import namespace
from sakuin.domain.table_cut import TableCut
from sakuin.domain.table_index import tables_of
from sakuin.errors import Conflict, Unavailable
from sakuin.services.build_indexes import BuildIndexes
from sakuin.services.embed_chunks import EmbedChunks
from sakuin.services.every_index import EmbedEverywhere, IndexEverywhere
from sakuin.services.index_table import IndexTable
from sakuin.services.maintain import Maintain
from sakuin.services.search_table import SearchTable, TableAnswer
from sakuin_local.database import Database, running_database

from tests.in_memory.embedder import MODEL, MemoryEmbedder
from tests.in_memory.queue import MemoryQueue
from tests.tables.conftest import TableWorld, long

BLUE = IndexSettings(MODEL, RECIPE, ANALYZER, TableCut(), CHUNKER)
GREEN = replace(BLUE, model=replace(MODEL, passage_prefix="passage: "), cut=TableCut(chunk_size=400, overlap=50))


@dataclass(frozen=True, slots=True)
class Queues:
    """The queues as an index uses them: its messages say whose they are."""

    waiting: list[tuple[Any, ...]]
    fingerprint: str | None = None

    def index(self, project_id: str, table_id: str, *, generation: int | None = None, skip: int = 0) -> None:
        self.waiting.append(("index", project_id, table_id, generation, skip, self.fingerprint))

    def embed(self, project_id: str, table_id: str, batches: Any) -> None:
        self.waiting.extend(("embed", project_id, table_id, tuple(batch), self.fingerprint) for batch in batches)


@dataclass
class Deployment:
    """The functions over one project, wired as `bootstrap` does. `own` are the settings that are deployed."""

    world: TableWorld
    own: IndexSettings = BLUE
    waiting: list[tuple[Any, ...]] = field(default_factory=list)
    embedders: dict[str, MemoryEmbedder] = field(default_factory=dict)

    @property
    def indexes(self) -> SupabaseIndexes:
        return SupabaseIndexes(self.world.client)

    def embedder(self, settings: IndexSettings) -> MemoryEmbedder:
        return self.embedders.setdefault(settings.id, MemoryEmbedder(settings.model))

    def build(self) -> None:
        """The schedule's turn."""
        BuildIndexes(self.indexes, self.own, MemoryQueue(), lambda name: Queues(self.waiting, name))()
        index = SupabaseTableIndex(self.world.client, tables_of(self.own))
        Maintain(lambda: 0, index, Queues(self.waiting), self.world.store)()  # type: ignore[arg-type]

    def kept(self) -> list[KeptIndex]:
        return sorted(self.indexes.kept(), key=lambda each: each.live)

    def deliver(self) -> None:
        """The oldest message to its worker, twice."""
        kind, project, table, *rest = self.waiting.pop(0)
        for _ in range(2):
            if kind == "index":
                generation, skip, name = rest
                IndexEverywhere(self.walks)(project, table, generation=generation, skip=skip, fingerprint=name)
            else:
                ids, name = rest
                EmbedEverywhere(self.embeds)(project, table, ids, fingerprint=name)

    def settle(self) -> None:
        while self.waiting:
            self.deliver()

    def walks(self) -> dict[str, IndexTable]:
        world = self.world
        return {
            each.tables: IndexTable(
                SupabaseTableIndex(world.client, tables_of(each.settings)),
                world.bodies,
                world.store,
                Queues(self.waiting, each.tables),
                each.settings.cut,
                each.suffix,
            )
            for each in self.kept()
        }

    def embeds(self) -> dict[str, EmbedChunks]:
        return {
            each.tables: EmbedChunks(
                SupabaseTableIndex(self.world.client, tables_of(each.settings)),
                self.world.store,
                self.embedder(each.settings),
                each.suffix,
            )
            for each in self.kept()
        }

    def edit(self, table: str, document: object) -> None:
        """A new body, and its event."""
        self.world.replace(table, document)
        Queues(self.waiting).index(self.world.project, table)

    def search(self, endpoint: str, query: str = "説明", name: str | None = None) -> TableAnswer:
        """What an agent gets, or would get of the index `name`."""
        asked = named_index(self.indexes.kept(), name)
        records = SupabaseToolSearch(self.world.client, asked.tables)
        found = records.endpoint(endpoint)
        assert found is not None
        search = SearchTable(records, self.world.store, self.embedder(asked.settings), asked.suffix)
        return search(endpoint, found.tools[0], query, top_k=50)

    def pointers(self, endpoint: str, name: str | None = None) -> set[str]:
        return {hit.chunk.json_pointer for hit in self.search(endpoint, name=name).results}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """One of its own: an index is whole when every Table of the database is built, whoever made it."""
    with running_database(tmp_path_factory.mktemp("indexes")) as running:
        yield running


@pytest.fixture
def deployment(world: TableWorld) -> Iterator[Deployment]:
    """A deployment whose first index answers; Tables of other tests are none of its own."""
    world.sql("delete from project where id <> %s", world.project)
    deployment = Deployment(world)
    deployment.build()
    yield deployment
    world.sql("delete from search_index")


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
    Queues(deployment.waiting).index(deployment.world.project, table)
    deployment.settle()
    assert deployment.world.status(tool)["state"] == "ready"
    return Asked(table, tool, deployment.world.endpoint(tool))


def test_a_tool_answers_the_same_and_stays_ready_while_another_index_is_built(deployment: Deployment) -> None:
    asked = indexed(deployment, {"a": long("二次方程式"), "b": long("一次関数")})
    before, status = deployment.search(asked.endpoint), deployment.world.status(asked.tool)
    deployment.own = GREEN
    deployment.build()
    steps = 0
    while deployment.waiting:
        deployment.deliver()
        steps += 1
        assert deployment.search(asked.endpoint).results == before.results
        assert deployment.world.status(asked.tool) == status
    assert steps >= 2
    assert deployment.pointers(asked.endpoint, "next") == {"/a", "/b"}
    assert deployment.search(asked.endpoint, name="next").results != before.results
    deployment.build()
    assert deployment.waiting == []


def test_a_flip_is_refused_until_every_table_is_built_and_then_changes_all_tools_at_once(
    deployment: Deployment,
) -> None:
    asked = indexed(deployment, {"a": long("二次方程式")})
    count = deployment.world.status(asked.tool)["chunks_count"]
    deployment.own = GREEN
    deployment.build()
    with pytest.raises(Conflict, match="1 of 1 Tables are missing"):
        deployment.indexes.flip(GREEN.id)
    state = next(each for each in deployment.indexes.states() if each.settings == GREEN)
    assert state.tables.named == ((asked.table, "is not built yet"),)
    deployment.settle()
    assert deployment.indexes.flip(GREEN.id).is_whole
    status = deployment.world.status(asked.tool)
    assert (status["state"], status["last_error"]) == ("ready", None)
    assert status["chunks_count"] == status["indexed_chunks_count"] > count
    assert {len(hit.chunk.chunk_text) <= 400 for hit in deployment.search(asked.endpoint).results} == {True}


def test_an_edit_shows_in_both_before_and_after_the_flip_and_back(deployment: Deployment) -> None:
    asked = indexed(deployment, {"a": long("二次方程式"), "b": long("一次関数")})
    deployment.own = GREEN
    deployment.build()
    deployment.settle()
    deployment.edit(asked.table, {"a": long("三平方の定理"), "c": long("円周角")})
    deployment.settle()
    for name in (None, "next"):
        found = deployment.search(asked.endpoint, name=name)
        assert {hit.chunk.json_pointer for hit in found.results} == {"/a", "/c"}
        assert not any("二次方程式" in hit.chunk.chunk_text for hit in found.results)
    deployment.indexes.flip(GREEN.id)
    deployment.edit(asked.table, {"a": long("相似な図形")})
    deployment.settle()
    assert deployment.world.status(asked.tool)["state"] == "ready"
    assert deployment.pointers(asked.endpoint) == {"/a"}
    assert deployment.indexes.flip(BLUE.id).live
    found = deployment.search(asked.endpoint)
    assert {"相似な図形" in hit.chunk.chunk_text for hit in found.results} == {True}
    assert deployment.world.status(asked.tool)["state"] == "ready"


def test_an_index_that_cannot_be_embedded_changes_nothing_of_what_answers(deployment: Deployment) -> None:
    asked = indexed(deployment, {"a": long("二次方程式")})
    deployment.own = GREEN
    deployment.build()
    deployment.embedder(GREEN).down = True
    deployment.deliver()
    batch = deployment.waiting[0]
    with pytest.raises(Unavailable):
        deployment.settle()
    work = SupabaseTableIndex(deployment.world.client, tables_of(GREEN))
    generation = work.work(asked.table).generation  # type: ignore[union-attr]
    work.failed(asked.table, generation, "The embedding service did not answer")
    assert deployment.world.status(asked.tool)["state"] == "ready"
    state = next(each for each in deployment.indexes.states() if each.settings == GREEN)
    assert state.tables.named == ((asked.table, "The embedding service did not answer"),)
    deployment.edit(asked.table, {"a": long("一次関数")})
    deployment.embedder(GREEN).down = False
    deployment.waiting.append(batch)
    deployment.settle()
    assert {deployment.world.status(asked.tool)["state"]} == {"ready"}
    assert deployment.indexes.flip(GREEN.id).is_whole


def test_a_forced_flip_lets_the_lacking_tables_be_indexed_at_once(deployment: Deployment) -> None:
    asked = indexed(deployment, {"a": long("二次方程式")})
    deployment.world.sql("delete from outbox")
    deployment.own = GREEN
    deployment.indexes.keep(GREEN)
    state = deployment.indexes.flip(GREEN.id, force=True)
    assert (state.live, state.is_whole) == (True, False)
    assert deployment.world.status(asked.tool)["state"] == "indexing"
    assert deployment.world.sql("select event, table_id::text from outbox") == [("TableUpdated", asked.table)]
    Queues(deployment.waiting).index(deployment.world.project, asked.table)
    deployment.settle()
    assert deployment.world.status(asked.tool)["state"] == "ready"
    assert deployment.pointers(asked.endpoint) == {"/a"}


def test_a_dropped_index_leaves_nothing_behind_and_its_late_messages_do_nothing(deployment: Deployment) -> None:
    asked = indexed(deployment, {"a": long("二次方程式")})
    deployment.own = GREEN
    deployment.build()
    deployment.settle()
    deployment.indexes.flip(GREEN.id)
    deployment.edit(asked.table, {"a": long("一次関数")})
    deployment.deliver()
    late = [message for message in deployment.waiting if message[-1] == tables_of(BLUE).id]
    assert late
    deployment.indexes.drop(BLUE.id, seconds=0)
    deployment.settle()
    deployment.build()
    old = namespace(deployment.world.project, asked.table)
    assert list(deployment.world.store.namespaces(old)) == [
        namespace(deployment.world.project, asked.table, tables_of(GREEN).id)
    ]
    held = "select distinct fingerprint from {} where table_id = %s"
    for relation in ("node", "chunks", "table_plan", "table_reading"):
        rows = deployment.world.sql(held.format(relation), asked.table)
        assert rows in ([(tables_of(GREEN).id,)], [])
    assert deployment.pointers(asked.endpoint) == {"/a"}


def test_a_walk_that_began_before_messages_named_their_index_goes_on_in_what_answers_alone(
    deployment: Deployment,
) -> None:
    asked = indexed(deployment, {"a": long("二次方程式"), "b": long("一次関数")})
    deployment.indexes.keep(GREEN)
    generation = SupabaseTableIndex(deployment.world.client, tables_of(BLUE)).work(asked.table).generation  # type: ignore[union-attr]
    IndexEverywhere(deployment.walks)(deployment.world.project, asked.table, generation=generation, skip=1)
    assert deployment.waiting == []
    state = next(each for each in deployment.indexes.states() if each.settings == GREEN)
    assert state.tables.missing == 1
