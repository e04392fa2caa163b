"""The life of a Tool and its endpoint: edits, names, switches, bindings, arguments, deletion."""

import re
from typing import Any

import jsonschema
from sakuin.tables.model import SEARCH_INPUT_SCHEMA
from sakuin_local.places import TEMPLATE

from tests.worlds import TableWorld, long

A, B = long("二次方程式の解の公式"), long("一次関数の傾き")
REFERENCE = TEMPLATE.parent / "docs/reference/events.md"
NOTHING: dict[str, Any] = {"name": None, "description": None, "enabled": None}


def test_the_indexing_keeps_what_else_stands_in_the_metadata_and_its_status_starts_nothing(world: TableWorld) -> None:
    table = world.table({"a": A})
    tool = world.tool(table, "")
    world.sql("""update tool set metadata = metadata || '{"owner": "x", "n": [1]}' where id = %s""", tool)
    told = "select event, generation from outbox where table_id = %s order by id"
    before = world.sql(told, table)
    world.settle()
    metadata = world.call("read_tool", tool=tool)["metadata"]
    status = metadata.pop("search_index")
    assert status["state"] == "ready"
    assert metadata == {"owner": "x", "n": [1]}
    # This event starts no scan.
    assert world.sql(told, table) == [*before, ("ToolReady", status["generation"])]


def test_a_tool_that_is_ready_or_failed_is_told_as_the_reference_says(world: TableWorld) -> None:
    table, tool, _ = world.indexed({"a": A})
    first = world.status(tool)["generation"]
    world.replace(table, {"a": B})
    world.index.record_failure(table, None, "The store did not answer.")
    world.maintenance.publish_events()
    subject = {"version": 1, "project_id": world.project, "table_id": table, "tool_id": tool}
    for name, generation in (("ToolReady", first), ("ToolFailed", first + 1)):
        (detail,) = [event.detail for event in world.bus.taken if (event.type, event.detail["tool_id"]) == (name, tool)]
        assert detail == {**subject, "generation": generation}
        members = re.findall(rf"^\| `{name}` \|[^|]*\| (.*) \|$", REFERENCE.read_text("utf-8"), re.MULTILINE)
        assert set(re.findall("`([a-z_]+)`", *members)) == detail.keys()


def test_a_renamed_tool_needs_no_scan_and_a_disabled_one_is_back_without_embedding(world: TableWorld) -> None:
    table, tool, endpoint = world.indexed({"a": A})
    embedded = len(world.embedder.embedded)
    world.call("change_tool", **{**NOTHING, "tool": tool, "name": "renamed"})
    assert world.tools.call(world.bound(endpoint), "search", {"query": "公式"}) is None
    assert world.found(endpoint, tool="renamed") == {"/a"}
    assert world.status(tool)["state"] == "ready"
    for enabled, rows in ((False, 0), (True, 2)):
        world.call("change_tool", **{**NOTHING, "tool": tool, "enabled": enabled})
        world.queues.index(world.project, table)
        world.settle()
        assert [tool.name for tool in world.bound(endpoint).tools] == ["renamed"] * enabled
        assert len(world.rows(table)) == rows
    assert world.found(endpoint) == {"/a"}
    assert len(world.embedder.embedded) == embedded


def test_a_tool_of_another_project_shows_nothing_even_if_a_binding_slipped_in(world: TableWorld) -> None:
    other = world.beside()
    table = other.table({"a": A})
    foreign = other.tool(table, "")
    other.settle()
    endpoint = world.endpoint()
    world.sql("insert into mcp_binding (mcp_id, tool_id) values (%s, %s)", endpoint, foreign)
    assert world.bound(endpoint).tools == ()
    assert other.rows(table)
    assert world.records.current_chunks(endpoint, foreign, list(other.rows(table)), limit=99) == {}


def test_the_product_writes_the_input_schema_whoever_writes_the_record(world: TableWorld) -> None:
    tool = world.tool(world.table({"a": "x"}), "")
    world.sql('update tool set input_schema = \'{"type": "string"}\' where id = %s returning 1', tool)
    copy = "insert into tool (project_id, table_id, json_path, type, name, description, input_schema) "
    copy += "select project_id, table_id, json_path, type, 'copy', description, '{}' from tool returning 1"
    world.sql(copy)
    assert world.sql("select input_schema from tool") == [(SEARCH_INPUT_SCHEMA,)] * 2


def test_the_input_schema_needs_a_query_and_refuses_what_the_tool_refuses() -> None:
    schema = jsonschema.Draft202012Validator(SEARCH_INPUT_SCHEMA)
    schema.check_schema(SEARCH_INPUT_SCHEMA)
    right: list[dict[str, object]] = [{"query": "x"}, {"query": "x", "top_k": 5.0}]
    wrong = [{"query": "x", "top_k": top_k} for top_k in (0, -1, 51, "5", True, 5.5, None)]
    wrong += [{}, {"query": 1}, {"query": "x", "scope": "/"}]
    assert [asked for asked in [*right, *wrong] if schema.is_valid(asked)] == right


QUADRATIC, SLOPE, TRIANGLE = long("二次方程式の解の公式"), long("一次関数の傾き"), long("三平方の定理と直角三角形")


def articles(*texts: str) -> dict[str, object]:
    return {"articles": [{"title": str(n), "content": text} for n, text in enumerate(texts)], "small": "x" * 199}


def test_an_edit_makes_the_old_text_vanish_and_costs_only_what_changed(world: TableWorld) -> None:
    table = world.table(articles(QUADRATIC, SLOPE))
    endpoint = world.endpoint(world.tool(table, "/articles"))
    world.settle()
    before = len(world.embedder.embedded)
    world.replace(table, articles(QUADRATIC, TRIANGLE))
    world.settle()
    assert world.search(endpoint, "一次関数の傾き", top_k=50).no_good_match
    texts = [hit.chunk.chunk_text for hit in world.search(endpoint, "説明", top_k=50).results]
    assert texts
    assert not any("一次関数" in text for text in texts)
    new = world.embedder.embedded[before:]
    assert all("三平方" in text for text in new)
    rows = world.rows(table)
    assert len(rows) == len(texts)
    # The same document again makes no row and costs no text.
    world.replace(table, articles(QUADRATIC, TRIANGLE))
    world.settle()
    assert (world.rows(table), world.embedder.embedded[before:]) == (rows, new)
