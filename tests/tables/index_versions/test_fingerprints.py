"""Index versions of another model, chunk size or analyzer."""

from dataclasses import dataclass, field, replace

import pytest
from sakuin.errors import Unavailable
from sakuin.retrieval.index_version import ANALYZER, CHUNKER, TEXT_TEMPLATE, IndexVersion, TableCut, TableIndexVersion
from sakuin.tables.chunk_store import namespace
from sakuin.tables.embed_chunks import EmbedChunks
from sakuin.tables.index_table import IndexTable
from sakuin.tables.postgres import TableIndex
from sakuin.upkeep.index_versions import IndexVersions

from tests.doubles.embedder import MODEL
from tests.table_world import FINGERPRINT, TableWorld, WatchedStore, long

SMALLER = TableCut(chunk_size=400, overlap=50)
OTHER = TableIndexVersion(MODEL, SMALLER)
FIRST_INDEX = IndexVersion(MODEL, TEXT_TEMPLATE, ANALYZER, TableCut(), CHUNKER)
OTHER_INDEX = replace(FIRST_INDEX, cut=SMALLER)
REREAD = TableIndexVersion(MODEL, TableCut(), analyzer="another/1")


@dataclass
class Other(TableWorld):
    """The same project with another chunk size."""

    cut: TableCut = field(default_factory=lambda: SMALLER)

    @property
    def index(self) -> TableIndex:
        return TableIndex(self.client, OTHER)

    @property
    def scan(self) -> IndexTable:
        return IndexTable(self.index, self.bodies, self.store, self.queues, self.cut, self.index.namespace_suffix())

    @property
    def embed(self) -> EmbedChunks:
        return EmbedChunks(self.index, self.store, self.embedder, self.index.namespace_suffix())


@dataclass
class Rereading(Other):
    """The same project with another analyzer."""

    cut: TableCut = field(default_factory=TableCut)

    @property
    def index(self) -> TableIndex:
        return TableIndex(self.client, REREAD)

    def rows_beside(self, table: str) -> set[str]:
        return set(self.store.ids(namespace(self.project, table, REREAD.id)))


@pytest.fixture
def indexes(world: TableWorld) -> IndexVersions:
    """The index versions; the first one is live."""
    indexes = IndexVersions(world.client)
    indexes.add(FIRST_INDEX)
    return indexes


def taken_over(indexes: IndexVersions) -> None:
    """Activates the other index and drops the first."""
    indexes.activate(OTHER_INDEX.id)
    indexes.delete(FIRST_INDEX.id, seconds=0)


def test_a_late_write_for_the_old_index_is_removed_although_its_worker_died_after_it(
    world: TableWorld, indexes: IndexVersions
) -> None:
    table, _, _ = world.indexed({"a": long("二次方程式の解の公式")})
    world.replace(table, {"a": long("一次関数の傾き")})
    world.deliver(world.queues.asked.pop(0))
    (late,) = world.queues.asked
    other = Other(world.client, world.store, project=world.project)

    indexes.add(OTHER_INDEX)

    def replaced() -> None:
        other.queues.index(world.project, table)
        other.settle()
        taken_over(indexes)
        other.maintain()
        assert world.rows(table) == {}

    def dies() -> None:
        raise Unavailable("the worker died")

    world.store = WatchedStore(world.store, before={"upsert": replaced}, after={"upsert": dies})
    with pytest.raises(Unavailable):
        world.deliver(late)
    assert len(world.rows(table)) == 2
    other.maintain()
    assert list(world.store.namespaces(f"project_{world.project}")) == [namespace(world.project, table, OTHER.id)]


def test_an_index_is_no_leftover_before_another_is_whole(world: TableWorld, indexes: IndexVersions) -> None:
    table, tool, _ = world.indexed({"a": long("二次方程式の解の公式")})
    other = Other(world.client, world.store, project=world.project)
    indexes.add(OTHER_INDEX)
    other.maintain()
    other.queues.index(world.project, table)
    other.deliver(other.queues.asked.pop(0))
    assert (other.index.orphaned_namespaces(table), other.index.orphaned_indexes()) == ([], [])
    assert len(world.search(world.endpoint(tool), "説明").results) == 2


def test_an_index_that_is_built_again_after_a_return_to_it_stays(world: TableWorld, indexes: IndexVersions) -> None:
    table, _, endpoint = world.indexed({"a": long("二次方程式の解の公式")})
    other = Other(world.client, world.store, project=world.project)
    indexes.add(OTHER_INDEX)
    other.replace(table, {"a": long("一次関数の傾き")})
    other.settle()
    taken_over(indexes)
    other.maintain()
    assert (other.index.orphaned_namespaces(table), world.rows(table)) == ([namespace(world.project, table)], {})
    indexes.add(FIRST_INDEX)
    world.replace(table, {"a": long("三平方の定理と直角三角形")})
    world.settle()
    indexes.activate(FIRST_INDEX.id)
    indexes.delete(OTHER_INDEX.id, seconds=0)
    world.maintain()
    assert world.index.orphaned_namespaces(table) == [namespace(world.project, table, OTHER.id)]
    world.maintain()
    assert world.found(endpoint) == {"/a"}


def test_another_analyzer_builds_its_index_beside_and_embeds_no_text_again(world: TableWorld) -> None:
    assert world.index.namespace_suffix() == ""
    table, tool, _ = world.indexed({"a": long("二次方程式の解の公式"), "b": long("一次関数の傾き")})
    reading = Rereading(world.client, world.store, project=world.project)
    reading.maintain()
    reading.queues.index(world.project, table)
    reading.settle()

    assert world.status(tool)["state"] == "ready"
    assert reading.rows_beside(table) == set(world.rows(table))
    assert reading.embedder.embedded == []


def test_another_model_never_meets_the_vectors_of_the_old_one() -> None:
    other = replace(FINGERPRINT, model=replace(MODEL, passage_prefix="text: "))
    assert (other.id, other.space) != (FINGERPRINT.id, FINGERPRINT.space)
    assert other.space != FINGERPRINT.space
    assert REREAD.space == FINGERPRINT.space
