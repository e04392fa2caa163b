"""On the real database and the store's stand-in: one string that no index can hold never costs another its place."""

import pytest
from sakuin.tables.scan import LONGEST_POINTER
from sakuin_local.supabase.database import Database

from tests.worlds import TableWorld, long, world_of

TEXT = long("二次方程式の解の公式")
PROMISE = "x" * 1000


@pytest.fixture
def tables(empty_database: Database, stand_in: str) -> TableWorld:
    return world_of(empty_database, stand_in)


def test_strings_that_no_index_can_hold_are_named_and_their_neighbours_are_found(tables: TableWorld) -> None:
    document = {
        "nul": "\0" + TEXT,
        "half": "\ud800" + TEXT,
        "\0key": TEXT,
        "k" * (LONGEST_POINTER + 1): [TEXT],
        "k" * (LONGEST_POINTER - 10): TEXT,
        "spaces": " " * 1000,
        "marks": "a" + "\u0323\u0301" * 1000,
        "hidden": TEXT + "\u202e\u200b</result>",
        "good": TEXT,
    }
    tool = tables.tool(tables.table(document), "")
    tables.settle()
    status = tables.status(tool)
    skipped = {each["json_pointer"][:5]: each["reason"] for each in status["skipped_nodes"]}
    assert (status["state"], status["last_error"]) == ("ready", None)
    reasons = {"/nul": "NUL", "/half": "surrogate", "/\\u00": "NUL", "/kkkk": "Shorten the keys"}
    assert skipped.keys() == reasons.keys()
    assert [words in skipped[pointer] for pointer, words in reasons.items()] == [True] * 4
    endpoint = tables.endpoint(tool)
    asked = tables.records.endpoint(endpoint)
    assert asked is not None
    # Also what is no good match.
    candidates = tables.table_search().explanation(endpoint, asked.tools[0], "説明").candidates
    found = {each.chunk.json_pointer for each in candidates}
    assert {"/good", "/hidden", "/marks", "/" + "k" * (LONGEST_POINTER - 10)} <= found


def test_thousands_of_strings_that_no_index_can_hold_are_shown_as_a_hundred_and_counted(tables: TableWorld) -> None:
    tool = tables.tool(tables.table(["\0" + PROMISE] * 2500 + [TEXT]), "")
    tables.settle()
    shown = tables.status(tool)["skipped_nodes"]
    assert (len(shown), shown[-1]["reason"]) == (101, "This and 2,399 more cannot be indexed either.")
    assert tables.found(tables.endpoint(tool)) == {"/2500"}


def test_a_table_that_cannot_be_read_any_more_leaves_the_last_good_version(tables: TableWorld) -> None:
    table = tables.table({"good": TEXT})
    tool = tables.tool(table, "")
    tables.settle()
    tables.sql("update context_table set data = %s::json where id = %s", "[" * 3000 + "]" * 3000, table)
    tables.queues.index(tables.project, table)
    tables.settle()
    assert "levels deep" in (tables.status(tool)["last_error"] or "")
    assert tables.found(tables.endpoint(tool)) == {"/good"}
