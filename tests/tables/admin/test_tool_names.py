"""Names and arguments of Search Tools."""

from typing import Any

import jsonschema
import pytest
from sakuin.tables.model import SEARCH_INPUT_SCHEMA, tool_name_problem

from tests.table_world import TableWorld


@pytest.mark.parametrize("name", ["a", "search_articles-2", "A" * 64])
def test_a_name_that_agents_can_call_has_no_problem(name: str) -> None:
    assert tool_name_problem(name) is None


@pytest.mark.parametrize("name", ["", "a b", "検索", "a.b", "A" * 65, "a\n"])
def test_any_other_name_has_a_problem_with_the_rule(name: str) -> None:
    assert "Use 1 to 64" in (tool_name_problem(name) or "")


def test_the_product_writes_the_input_schema_whoever_writes_the_record(world: TableWorld) -> None:
    tool = world.tool(world.table({"a": "x"}), "")
    world.sql('update tool set input_schema = \'{"type": "string"}\' where id = %s returning 1', tool)
    copy = "insert into tool (project_id, table_id, json_path, type, name, description, input_schema) "
    copy += "select project_id, table_id, json_path, type, 'copy', description, '{}' from tool returning 1"
    world.sql(copy)
    assert world.sql("select input_schema from tool") == [(SEARCH_INPUT_SCHEMA,)] * 2


def test_only_a_query_is_needed() -> None:
    jsonschema.Draft202012Validator.check_schema(SEARCH_INPUT_SCHEMA)
    jsonschema.validate({"query": "x"}, SEARCH_INPUT_SCHEMA)
    jsonschema.validate({"query": "x", "top_k": 5.0}, SEARCH_INPUT_SCHEMA)


@pytest.mark.parametrize("top_k", [0, -1, 51, "5", True, 5.5, None])
def test_a_top_k_out_of_range_or_kind_is_refused(top_k: object) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"query": "x", "top_k": top_k}, SEARCH_INPUT_SCHEMA)


@pytest.mark.parametrize("arguments", [{}, {"query": 1}, {"query": "x", "scope": "/"}])
def test_a_missing_query_and_unknown_arguments_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(arguments, SEARCH_INPUT_SCHEMA)
