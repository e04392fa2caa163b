"""What was learned of one project's texts stays there, also where another has the same texts."""

from collections import Counter
from dataclasses import replace

import psycopg
import pytest
from sakuin.errors import Invalid
from sakuin_local.supabase.database import Database

from tests.doubles.embedder import MemoryEmbedder
from tests.worlds import TableWorld, long, world_of

TEXT = long("判別式と解の個数")


@pytest.fixture
def first(empty_database: Database, stand_in: str) -> TableWorld:
    return world_of(empty_database, stand_in)


def searchable(world: TableWorld, text: str = TEXT) -> tuple[str, str]:
    table = world.table({"a": text})
    endpoint = world.endpoint(world.tool(table, ""))
    world.settle()
    return table, endpoint


def learned(world: TableWorld) -> Counter[str]:
    """How many rows of each table of learned things belong to the project or to its Tables."""
    tables = [name for (name,) in world.sql("select id::text from context_table where project_id = %s", world.project)]
    vectors = world.sql("select count(*) from chunk_vector where project_id = %s", world.project)[0][0]
    readings = world.sql("select count(*) from table_reading where table_id::text = any (%s)", tables)[0][0]
    return Counter(vectors=vectors, readings=readings)


def test_the_second_project_with_the_same_texts_pays_for_itself(first: TableWorld) -> None:
    second = first.beside()
    searchable(first)
    assert learned(second) == Counter()
    searchable(second)
    assert sorted(second.embedder.embedded) == sorted(first.embedder.embedded)
    assert learned(second) == learned(first) != Counter()
    before = learned(first)
    second.call("delete_project", project=second.project)
    second.maintain()
    assert (learned(second), learned(first)) == (Counter(), before)


def test_a_message_that_names_another_project_writes_nowhere(first: TableWorld) -> None:
    """The Table's chunks, sent to the embedder under a project that is not the Table's."""
    second = first.beside()
    table = second.table({"a": TEXT})
    second.tool(table, "")
    second.deliver(second.queues.asked.pop(0))
    asked = [message for message in second.queues.asked if message[0] == "embed"]
    assert asked
    stranger = MemoryEmbedder()
    for _, _, _, chunks in asked:
        with pytest.raises(Invalid):
            replace(second, embedder=stranger).embed(first.project, table, chunks)
    assert (stranger.embedded, learned(first), learned(second)) == ([], Counter(), Counter())
    assert not list(second.store.namespaces(f"project_{first.project}_table_{table}"))
    second.settle()
    assert second.rows(table)


def test_a_walk_that_is_asked_for_under_another_project_works_for_the_table_s_own(first: TableWorld) -> None:
    second = first.beside()
    table = second.table({f"p{number}": f"{number}{TEXT}" for number in range(3)})
    second.tool(table, "")
    second.chunks_a_page = 1
    second.queues.asked = [("index", first.project, table, None, 0)]
    second.settle()
    assert len(second.rows(table)) >= 3
    assert learned(first) == Counter()
    assert not list(second.store.namespaces(f"project_{first.project}_table_{table}"))


def test_chunks_of_another_s_table_are_left_out_of_a_batch(first: TableWorld) -> None:
    second = first.beside()
    table, _ = searchable(first)
    foreign = second.table({"a": TEXT})
    second.tool(foreign, "")
    second.deliver(second.queues.asked.pop(0))
    ids = [str(id) for (id,) in second.sql("select id from chunks where table_id = %s", foreign)]
    before = first.rows(table)
    assert ids
    assert first.embed(first.project, table, ids).stored == 0
    assert first.rows(table) == before


@pytest.mark.parametrize(
    "statement",
    [
        "update context_table set data_key = 'tables/' || %(foreign)s || '/1.json' where id = %(table)s",
        "update context_table set data_key = 'elsewhere.json' where id = %(table)s",
        "update tool set project_id = %(project)s where table_id = %(table)s",
    ],
)
def test_a_row_cannot_be_tied_to_another_project_s_things(first: TableWorld, statement: str) -> None:
    """By a misled worker, or by a platform with its own connection."""
    second = first.beside()
    table, _ = searchable(first)
    foreign = second.table({"a": "x"})
    values = {"table": table, "foreign": f"{second.project}/{foreign}", "project": second.project}
    refused = psycopg.errors.CheckViolation, psycopg.errors.ForeignKeyViolation
    with psycopg.connect(first.dsn) as connection, pytest.raises(refused):
        connection.execute(statement.encode(), values)
