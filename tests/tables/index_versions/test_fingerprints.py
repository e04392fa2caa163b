"""Index versions of another model, chunk size or analyzer."""

from dataclasses import replace

import pytest
from sakuin.errors import Unavailable
from sakuin.retrieval.index_version import IndexVersion, TableCut
from sakuin.tables.nodes import namespace
from sakuin.upkeep.index_versions import IndexVersions

from tests.doubles.chunk_store import WatchedStore
from tests.doubles.embedder import MODEL
from tests.worlds import FINGERPRINT, SETTINGS, TableWorld, long

FIRST_INDEX = SETTINGS
OTHER_INDEX = replace(FIRST_INDEX, cut=TableCut(chunk_size=400, overlap=50))
OTHER = OTHER_INDEX.tables
REREAD_INDEX = replace(SETTINGS, analyzer="another/1")
REREAD = REREAD_INDEX.tables


def with_settings(world: TableWorld, settings: IndexVersion) -> TableWorld:
    """Returns the same project with other deployed settings."""
    return TableWorld(world.client, world.store, settings=settings, project=world.project)


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


def test_a_late_write_for_the_old_index_goes_though_its_worker_died(world: TableWorld, indexes: IndexVersions) -> None:
    table, _, _ = world.indexed({"a": long("二次方程式の解の公式")})
    world.replace(table, {"a": long("一次関数の傾き")})
    world.deliver(world.queues.asked.pop(0))
    (late,) = world.queues.asked
    other = with_settings(world, OTHER_INDEX)

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
    other = with_settings(world, OTHER_INDEX)
    indexes.add(OTHER_INDEX)
    other.maintain()
    other.queues.index(world.project, table)
    other.deliver(other.queues.asked.pop(0))
    assert (other.index.orphaned_namespaces(table), other.index.orphaned_indexes()) == ([], [])
    assert len(world.search(world.endpoint(tool), "説明").results) == 2


def test_an_index_that_is_built_again_after_a_return_to_it_stays(world: TableWorld, indexes: IndexVersions) -> None:
    table, _, endpoint = world.indexed({"a": long("二次方程式の解の公式")})
    other = with_settings(world, OTHER_INDEX)
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
    reading = with_settings(world, REREAD_INDEX)
    reading.maintain()
    reading.queues.index(world.project, table)
    reading.settle()

    assert world.status(tool)["state"] == "ready"
    assert set(world.store.ids(namespace(world.project, table, REREAD.id))) == set(world.rows(table))
    assert reading.embedder.embedded == []


def test_another_model_never_meets_the_vectors_of_the_old_one() -> None:
    other = replace(FINGERPRINT, model=replace(MODEL, passage_prefix="text: "))
    assert (other.id, other.space) != (FINGERPRINT.id, FINGERPRINT.space)
    assert other.space != FINGERPRINT.space
    assert REREAD.space == FINGERPRINT.space
