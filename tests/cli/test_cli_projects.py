"""`sakuin table`, `tool`, `mcp` and `member`."""

import json
from uuid import uuid4

import pytest

from tests.cli.conftest import Keeper

# The same in every process that collects the tests.
NO_SUCH_ID = "673a3056-56a4-4c43-9851-972acca7da09"


@pytest.fixture
def project(keeper: Keeper) -> str:
    return keeper.world.projects.create_project(None, "p").id


def put(keeper: Keeper, project: str, document: object = ("x",)) -> str:
    file = keeper.file("columns.json", json.dumps(document).encode())
    said = keeper.sakuin("table", "put", file, "--project", project, "--json")
    assert said.code == 0, said
    return str(said.document["table_id"])


def test_a_file_becomes_a_table_and_then_its_next_version(keeper: Keeper, project: str) -> None:
    table = put(keeper, project)
    file = keeper.file("other.json", b'\xef\xbb\xbf{"a":"\\ud800"}')
    said = keeper.sakuin("table", "put", file, "--id", table, "--name", "新", "--json")
    assert said.document == {"table_id": table, "version": 2}
    stored = keeper.world.projects.table(None, table)
    assert (stored.table.name, stored.data) == ("新", '{"a":"\\ud800"}')
    assert keeper.sakuin("table", "rm", table).code == 0
    assert keeper.sakuin("table", "rm", table).code == 1


def test_a_large_file_travels_through_the_bucket(keeper: Keeper, project: str) -> None:
    table = put(keeper, project, ["x" * 5_000_000])
    stored = keeper.world.projects.table(None, table)
    assert (stored.table.name, stored.table.version, stored.data_key is None) == ("columns", 1, False)


def test_a_file_that_is_no_json_is_refused_before_anything_is_sent(keeper: Keeper, project: str) -> None:
    said = keeper.sakuin("table", "put", keeper.file("x.json", b"{\n a"), "--project", project)
    assert said.code == 1
    assert "line 2" in said.err
    assert keeper.world.projects.rows == {}


def test_without_a_project_it_says_how_to_name_one(keeper: Keeper) -> None:
    said = keeper.sakuin("table", "put", keeper.file("x.json", b"1"))
    assert said.code == 1
    assert "--project" in said.err


def test_a_tool_is_created_shown_and_deleted(keeper: Keeper, project: str) -> None:
    options = ("--table", put(keeper, project), "--json-path", "", "--name", "search_x", "--project", project)
    made = keeper.sakuin("tool", "create", *options, "--json").document
    assert made["search_index"]["state"] == "pending"
    shown = keeper.sakuin("status", "--tool", made["tool_id"], "--json").document
    assert shown == {"tool_id": made["tool_id"], "name": "search_x", "search_index": made["search_index"]}
    again = keeper.sakuin("tool", "reindex", made["tool_id"], "--json").document
    assert again["search_index"]["generation"] > made["search_index"]["generation"]
    assert keeper.sakuin("tool", "create", *options, "--wait", "--timeout", "3").code == 1
    assert keeper.sakuin("tool", "rm", made["tool_id"]).code == 0
    assert keeper.sakuin("status", "--tool", made["tool_id"]).code == 1
    assert keeper.sakuin("status", "--tool", "x", "--material", "y").code == 2


def test_an_endpoint_is_created_bound_closed_and_given_another_key(keeper: Keeper, project: str) -> None:
    table = put(keeper, project)
    one, two = (
        keeper.sakuin(
            *("tool", "create", "--table", table, "--json-path", "", "--name", name, "--project", project, "--json")
        ).document["tool_id"]
        for name in ("one", "two")
    )
    made = keeper.sakuin("mcp", "create", "--name", "m", "--tool", one, "--project", project, "--json").document
    assert set(made) == {"mcp_id", "key"}
    mcp = made["mcp_id"]
    bound = keeper.sakuin("mcp", "bind", mcp, "--tool", two, "--json").document
    assert [tool["name"] for tool in bound["tools"]] == ["one", "two"]
    assert keeper.sakuin("mcp", "unbind", mcp, "--tool", one, "--tool", two, "--json").document["tools"] == []
    assert keeper.sakuin("mcp", "disable", mcp, "--json").document["status"] == "disabled"
    assert keeper.sakuin("mcp", "enable", mcp, "--json").document["status"] == "enabled"
    assert keeper.sakuin("mcp", "rotate", mcp, "--json").document["key"] != made["key"]


def test_members_are_shown_and_removed_but_for_the_last(keeper: Keeper, project: str) -> None:
    one, other = str(uuid4()), str(uuid4())
    for user in (one, other):
        keeper.world.projects.add_member(None, project, user)
    shown = keeper.sakuin("member", "list", "--project", project, "--json").document
    assert [member["user_id"] for member in shown["members"]] == [one, other]
    assert one in keeper.sakuin("member", "list", "--project", project).out
    removed = keeper.sakuin("member", "rm", one, "--project", project, "--json").document
    assert removed == {"user_id": one, "removed": True}
    refused = keeper.sakuin("member", "rm", other, "--project", project)
    assert (refused.code, "last member" in refused.err) == (1, True)


@pytest.mark.parametrize("id", [NO_SUCH_ID, "no-uuid", "a/b", "..", "?"])
def test_an_id_that_is_not_there_is_a_sentence(keeper: Keeper, id: str) -> None:
    for words in (("table", "rm"), ("tool", "rm"), ("tool", "reindex"), ("mcp", "rotate")):
        said = keeper.sakuin(*words, id)
        assert said.code == 1
        assert said.err.startswith("sakuin: ")
