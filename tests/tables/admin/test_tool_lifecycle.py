"""The life of a Tool and its endpoint: edits, names, switches, bindings, arguments, deletion."""

from typing import Any

import pytest
from sakuin.errors import Conflict, NotFound

from tests.table_world import TableWorld, long

A, B = long("二次方程式の解の公式"), long("一次関数の傾き")
NOTHING: dict[str, Any] = {"name": None, "description": None, "enabled": None}


def sentence(world: TableWorld, endpoint: str, arguments: dict[str, Any]) -> str:
    """Returns the error of a refused call."""
    result = world.ask(endpoint, arguments)
    assert result is not None
    assert result.is_error
    return str(result.content[0].text)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        *(({"query": "公式", "top_k": top_k}, "'top_k'") for top_k in (0, -1, 51, "five", True, 5.5, None)),
        *(({"query": query}, "'query'") for query in ("", " ", "\u3000\n", 5, None)),
        ({}, "'query' is required"),
        ({"query": "a", "scope": "/"}, "'scope' is not an argument"),
        ({"query": "公式\ud83d"}, "surrogate"),
    ],
)
def test_wrong_arguments_are_refused_by_name(world: TableWorld, arguments: dict[str, Any], words: str) -> None:
    endpoint = world.endpoint(world.tool(world.table({"a": A}), ""))
    assert words in sentence(world, endpoint, arguments)


@pytest.mark.parametrize("top_k", [1, 5.0, "5", 50])
def test_a_top_k_from_1_to_50_is_taken_and_5_0_is_5(world: TableWorld, top_k: Any) -> None:
    _, _, endpoint = world.indexed([A, B, A + "。"])
    result = world.ask(endpoint, {"query": "説明", "top_k": top_k})
    assert result is not None
    assert result.structured_content is not None
    assert len(result.structured_content["results"]) == min(int(top_k), 6)


@pytest.mark.parametrize("after", [{"b": B}, {"a": A[:199], "b": B}], ids=["deleted", "below the threshold"])
def test_a_node_that_goes_is_not_found_any_more_and_costs_nothing(world: TableWorld, after: object) -> None:
    table, _, endpoint = world.indexed({"a": A, "b": B})
    embedded = len(world.embedder.embedded)
    world.replace(table, after)
    world.settle()
    assert world.found(endpoint) == {"/b"}
    assert len(world.rows(table)) == 2
    assert len(world.embedder.embedded) == embedded


def test_content_that_moves_to_another_pointer_costs_no_embedding(world: TableWorld) -> None:
    table, _, endpoint = world.indexed({"list": [A, B]})
    calls = world.embedder.calls
    world.replace(table, {"list": [B, "new", A]})
    world.settle()
    assert world.found(endpoint) == {"/list/0", "/list/2"}
    assert world.search(endpoint, "一次関数の傾き", top_k=1).results[0].json_path == "/list/0"
    assert world.embedder.calls == calls
    assert len(world.rows(table)) == 4


def test_an_error_is_forgotten_after_a_success_and_the_last_good_time_is_kept(world: TableWorld) -> None:
    table, tool, _ = world.indexed({"a": A})
    indexed_at = world.status(tool)["indexed_at"]
    world.replace(table, {"a": B})
    world.index.record_failure(table, None, "The store did not answer.")
    failed = world.status(tool)
    assert (failed["state"], failed["last_error"]) == ("error", "The store did not answer.")
    assert failed["indexed_at"] == indexed_at
    world.settle()
    done = world.status(tool)
    assert (done["state"], done["last_error"]) == ("ready", None)
    assert done["indexed_at"] > indexed_at


def test_what_else_stands_in_the_metadata_survives_the_indexing(world: TableWorld) -> None:
    tool = world.tool(world.table({"a": A}), "")
    world.sql("""update tool set metadata = metadata || '{"owner": "x", "n": [1]}' where id = %s""", tool)
    world.settle()
    metadata = world.call("read_tool", tool=tool)["metadata"]
    assert metadata.pop("search_index")["state"] == "ready"
    assert metadata == {"owner": "x", "n": [1]}


def test_a_new_status_alone_starts_nothing(world: TableWorld) -> None:
    table = world.table({"a": A})
    world.tool(table, "")
    before = world.sql("select count(*) from outbox where table_id = %s", table)
    world.settle()
    assert world.sql("select count(*) from outbox where table_id = %s", table) == before


def test_a_renamed_tool_answers_to_its_new_name_without_a_scan(world: TableWorld) -> None:
    _, tool, endpoint = world.indexed({"a": A})
    world.call("change_tool", **{**NOTHING, "tool": tool, "name": "renamed"})
    assert world.ask(endpoint, {"query": "公式"}) is None
    assert world.found(endpoint, tool="renamed") == {"/a"}
    assert world.status(tool)["state"] == "ready"


def test_a_disabled_tool_is_gone_and_an_enabled_one_is_back_without_embedding(world: TableWorld) -> None:
    table, tool, endpoint = world.indexed({"a": A})
    embedded = len(world.embedder.embedded)
    world.call("change_tool", **{**NOTHING, "tool": tool, "enabled": False})
    world.queues.index(world.project, table)
    world.settle()
    assert world.ask(endpoint, {"query": "公式"}) is None
    assert world.rows(table) == {}
    world.call("change_tool", **{**NOTHING, "tool": tool, "enabled": True})
    world.queues.index(world.project, table)
    world.settle()
    assert world.found(endpoint) == {"/a"}
    assert len(world.embedder.embedded) == embedded


def test_a_name_stays_unique_in_each_endpoint(world: TableWorld) -> None:
    table = world.table({"a": A})
    first, second, same = (world.tool(table, "", name) for name in ("first", "second", "first"))
    endpoint = world.endpoint(first, second)
    with pytest.raises(Conflict, match="named first"):
        world.call("change_tool", **{**NOTHING, "tool": second, "name": "first"})
    with pytest.raises(Conflict, match="named first"):
        world.call("bind_tool", mcp=endpoint, tool=same, status="enabled")


def test_a_tool_of_another_project_cannot_be_bound(world: TableWorld) -> None:
    other = world.beside()
    foreign = other.tool(other.table({"a": A}), "")
    endpoint = world.endpoint()
    with pytest.raises(NotFound, match=foreign):
        world.call("bind_tool", mcp=endpoint, tool=foreign, status="enabled")
    with pytest.raises(NotFound, match=foreign):
        world.endpoint(foreign)
    assert world.sql("select 1 from mcp where project_id = %s and id <> %s", world.project, endpoint) == []


def test_a_tool_of_another_project_shows_nothing_even_if_a_binding_slipped_in(world: TableWorld) -> None:
    other = world.beside()
    table = other.table({"a": A})
    foreign = other.tool(table, "")
    other.settle()
    endpoint = world.endpoint()
    world.sql("insert into mcp_binding (mcp_id, tool_id) values (%s, %s)", endpoint, foreign)
    found = world.records.endpoint(endpoint)
    assert found is not None
    assert found.tools == ()
    assert other.rows(table)
    assert world.records.current_chunks(endpoint, foreign, list(other.rows(table)), limit=99) == {}


def test_a_deleted_project_takes_every_namespace_and_every_row_along(world: TableWorld) -> None:
    other = world.beside()
    kept = other.endpoint(other.tool(other.table({"a": A}), ""))
    other.settle()
    tables = [world.table({"a": A}), world.table({"a": B})]
    for table in tables:
        world.tool(table, "")
    world.settle()
    world.call("delete_project", project=world.project)
    world.maintain()
    for table in tables:
        world.queues.index(world.project, table)
    world.settle()
    assert world.store.namespaces(f"project_{world.project}") == []
    assert world.sql("select 1 from chunks where table_id = any(%s::uuid[])", tables) == []
    assert world.sql("select 1 from chunk_vector where project_id = %s", world.project) == []
    assert other.found(kept) == {"/a"}


def test_a_deleted_project_s_events_name_every_table(world: TableWorld) -> None:
    tables = {world.table({"a": A}), world.table({"a": B})}
    world.call("delete_project", project=world.project)
    world.maintain()
    told = world.sql("select table_id::text, event from outbox where project_id = %s", world.project)
    assert set(told) == {(table, "TableDeleted") for table in tables}


def test_what_one_project_learned_costs_another_its_own(world: TableWorld) -> None:
    other = world.beside()
    for each in (world, other):
        each.tool(each.table({"a": A}), "")
        each.settle()
    assert len(other.embedder.embedded) == len(world.embedder.embedded) == 2
