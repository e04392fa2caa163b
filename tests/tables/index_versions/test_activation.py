"""Tables while the settings change: built beside, edited in both indexes, activated at once, and back."""

from dataclasses import replace

import pytest
from sakuin.errors import Conflict, Unavailable
from sakuin.platform.retry import MAX_FAILURES
from sakuin.retrieval.index_version import IndexVersion, TableCut
from sakuin.tables.messages import ScanRequest
from sakuin.tables.nodes import namespace
from sakuin.upkeep.index_versions import IndexVersions, MissingPart

from tests.doubles.chunk_store import WatchedStore
from tests.doubles.embedder import MODEL
from tests.tables.index_versions.conftest import BLUE, GREEN, Deployment, fingerprint_of, indexed
from tests.worlds import FINGERPRINT, SETTINGS, TOOLS, TableWorld, long


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


def test_activation_needs_every_table_and_changes_all_tools_at_once(deployment: Deployment) -> None:
    asked = indexed(deployment, {"a": long("二次方程式")})
    count = deployment.world.status(asked.tool)["chunks_count"]
    deployment.own = GREEN
    deployment.build()
    with pytest.raises(Conflict, match="1 of 1 Tables are missing"):
        deployment.indexes.activate(GREEN.id)
    state = deployment.state(GREEN)
    assert state.tables.named == [MissingPart(asked.table, "is not built yet")]
    deployment.settle()
    assert deployment.indexes.activate(GREEN.id).is_whole
    status = deployment.world.status(asked.tool)
    assert (status["state"], status["last_error"]) == ("ready", None)
    assert status["chunks_count"] == status["indexed_chunks_count"] > count
    assert {len(hit.chunk.chunk_text) <= 400 for hit in deployment.search(asked.endpoint).results} == {True}


def test_an_index_that_cannot_be_embedded_changes_nothing_of_what_answers(deployment: Deployment) -> None:
    asked = indexed(deployment, {"a": long("二次方程式")})
    deployment.own = GREEN
    deployment.build()
    deployment.embedder(GREEN).down = True
    for _ in range(MAX_FAILURES):
        deployment.settle()
        deployment.world.passes(900)
    assert deployment.waiting == []
    assert {fingerprint_of(message) for message in deployment.sqs.dead} == {GREEN.tables.id}
    assert deployment.world.status(asked.tool)["state"] == "ready"
    (missing,) = deployment.state(GREEN).tables.named
    assert missing.name == asked.table
    assert missing.reason.startswith("The embedding service did not answer. Send it again")
    deployment.world.replace(asked.table, {"a": long("一次関数")})
    deployment.embedder(GREEN).down = False
    deployment.sqs.redrive()
    deployment.settle()
    assert {deployment.world.status(asked.tool)["state"]} == {"ready"}
    assert deployment.indexes.activate(GREEN.id).is_whole
    assert deployment.world.waiting_rows(asked.table) == []


def test_a_forced_activation_indexes_the_missing_tables_at_once(deployment: Deployment) -> None:
    asked = indexed(deployment, {"a": long("二次方程式")})
    deployment.world.sql("delete from outbox")
    deployment.own = GREEN
    deployment.indexes.add(GREEN)
    state = deployment.indexes.activate(GREEN.id, force=True)
    assert (state.live, state.is_whole) == (True, False)
    assert deployment.world.status(asked.tool)["state"] == "indexing"
    assert deployment.world.sql("select event, table_id::text from outbox") == [("TableUpdated", asked.table)]
    deployment.world.queues_of().index(deployment.world.project, asked.table)
    deployment.settle()
    assert deployment.world.status(asked.tool)["state"] == "ready"
    assert deployment.pointers(asked.endpoint) == {"/a"}


def test_a_dropped_index_leaves_nothing_behind_and_its_late_messages_do_nothing(deployment: Deployment) -> None:
    asked = indexed(deployment, {"a": long("二次方程式")})
    deployment.own = GREEN
    deployment.build()
    deployment.settle()
    deployment.indexes.activate(GREEN.id)
    deployment.world.replace(asked.table, {"a": long("一次関数")})
    deployment.deliver()
    late = [message for message in deployment.waiting if fingerprint_of(message) == BLUE.tables.id]
    assert late
    deployment.indexes.delete(BLUE.id, seconds=0)
    deployment.settle()
    deployment.build()
    old = namespace(deployment.world.project, asked.table)
    assert list(deployment.world.store.namespaces(old)) == [
        namespace(deployment.world.project, asked.table, GREEN.tables.id)
    ]
    held = "select distinct fingerprint from {} where table_id = %s"
    for relation in ("node", "chunks", "table_scan", "table_reading"):
        rows = deployment.world.sql(held.format(relation), asked.table)
        assert rows in ([(GREEN.tables.id,)], [])
    assert deployment.pointers(asked.endpoint) == {"/a"}


def test_an_index_that_comes_back_after_its_removal_ended_half_way_is_built_again(deployment: Deployment) -> None:
    asked = indexed(deployment, {"a": long("二次方程式")})
    deployment.own = GREEN
    deployment.build()
    deployment.settle()
    deployment.own = BLUE
    deployment.indexes.delete(GREEN.id, seconds=0)

    def dies() -> None:
        raise Unavailable("the worker died")

    deployment.world.store = WatchedStore(deployment.world.store, after={"delete_namespace": dies})
    with pytest.raises(Unavailable):
        deployment.build()
    deployment.own = GREEN
    deployment.build()
    deployment.settle()
    assert deployment.state(GREEN).is_whole
    assert deployment.pointers(asked.endpoint, "next") == {"/a"}


def test_a_message_without_an_index_continues_in_the_live_index_only(deployment: Deployment) -> None:
    asked = indexed(deployment, {"a": long("二次方程式"), "b": long("一次関数")})
    deployment.indexes.add(GREEN)
    ((generation,),) = deployment.world.sql("select generation from context_table where id = %s", asked.table)
    request = ScanRequest(project_id=deployment.world.project, table_id=asked.table, generation=generation, skip=1)
    deployment.world.work(TOOLS).process(request, None)
    assert deployment.waiting == []
    state = deployment.state(GREEN)
    assert state.tables.missing == 1


FIRST_INDEX = SETTINGS

OTHER_INDEX = replace(FIRST_INDEX, cut=TableCut(chunk_size=400, overlap=50))

OTHER = OTHER_INDEX.tables

REREAD_INDEX = replace(SETTINGS, analyzer="another/1")

REREAD = REREAD_INDEX.tables


def with_settings(world: TableWorld, settings: IndexVersion) -> TableWorld:
    """Returns the same project with other deployed settings."""
    return TableWorld(world.client, world.store, settings=settings, project=world.project, dsn=world.dsn)


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


def test_another_analyzer_builds_its_index_beside_and_embeds_no_text_again(world: TableWorld) -> None:
    table, tool, _ = world.indexed({"a": long("二次方程式の解の公式"), "b": long("一次関数の傾き")})
    IndexVersions(world.client).add(REREAD_INDEX)
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
