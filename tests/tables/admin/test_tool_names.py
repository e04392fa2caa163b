"""Names and arguments of Search Tools."""

import jsonschema
from sakuin.tables.model import SEARCH_INPUT_SCHEMA

from tests.worlds import TableWorld


def test_a_name_is_one_that_agents_can_call(world: TableWorld) -> None:
    table = world.table({"a": "x"})
    for number, name in enumerate(("a", "search_articles-2", "A" * 64), start=1):
        world.tool(table, "", name)
        assert len(world.sql("select 1 from tool")) == number


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
