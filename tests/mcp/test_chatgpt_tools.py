"""`search` and `fetch`, as ChatGPT's connectors expect them."""

from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.settings import Settings

from tests.environment import environment
from tests.mcp import tool_answers
from tests.mcp.tool_answers import call, said
from tests.mcp.wire import TOOLS
from tests.worlds import World

FORMULA = "junior/二次方程式の解き方_教材#rule-quadratic-formula"


@pytest.fixture
def offered(tools: KnowledgeTools) -> KnowledgeTools:
    return replace(tools, for_chatgpt=True)


def answer(tools: KnowledgeTools, name: str, **arguments: Any) -> dict[str, Any]:
    """Returns an answer, which has the tool's schema."""
    content = tool_answers.answer(call(tools, name, **arguments))
    (schema,) = [tool.output_schema for tool in tools.listed() if tool.name == name]
    jsonschema.validate(content, schema or {})
    return content


def test_they_are_listed_where_wanted_with_the_expected_arguments(
    tools: KnowledgeTools, offered: KnowledgeTools
) -> None:
    assert [tool.name for tool in tools.listed()] == TOOLS
    assert tools.call("search", {"query": "x"}) is None
    *others, search, fetch = offered.listed()
    assert others == tools.listed()
    for tool, name, argument in ((search, "search", "query"), (fetch, "fetch", "id")):
        schema = tool.input_schema
        assert (tool.name, list(schema["properties"]), schema["required"]) == (name, [argument], [argument])
        assert schema["properties"][argument]["type"] == "string"
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint


def test_search_gives_ids_titles_and_links_of_the_results_and_nothing_else(offered: KnowledgeTools) -> None:
    found = answer(offered, "search", query="二次方程式を公式で解きたい")
    whole = answer(offered, "search_knowledge", query="二次方程式を公式で解きたい", top_k=10)["results"]
    assert [(hit["title"], hit["url"]) for hit in found["results"]] == [(hit["title"], hit["url"]) for hit in whole]
    assert all(set(hit) == {"id", "title", "url"} for hit in found["results"])
    assert found["results"][0]["id"] == FORMULA
    near = answer(offered, "search", query="chocolate mousse recipe for a birthday")["results"]
    assert 1 <= len(near) <= 3


def test_search_links_the_same_text_elsewhere(world: World, changes: None, offered: KnowledgeTools) -> None:
    for version in ("v1", "v2"):
        text = "<title>Guide</title><h1>Guide</h1><h2 id='rotate'>Rotate a key</h2><p>Press the red button.</p>"
        world.put(f"docs/{version}/guide.html", f"<!DOCTYPE html><html lang='en'>{text}</html>".encode())
    world.settle()
    first = answer(offered, "search", query="rotate a key with the red button")["results"][0]
    links = {f"/school_asset/docs/{version}/guide.html#rotate" for version in ("v1", "v2")}
    assert {first["url"], *first["same_text"]} == links


def test_fetch_gives_the_whole_text_of_a_result(offered: KnowledgeTools) -> None:
    document = answer(offered, "fetch", id=FORMULA)
    chunk = answer(offered, "get_chunk_by_id", id=FORMULA)["chunk"]
    assert list(document) == ["id", "title", "url", "text", "metadata"]
    expected = (chunk["id"], chunk["title"], chunk["url"], chunk["content"])
    assert (document["id"], document["title"], document["url"], document["text"]) == expected
    metadata = document["metadata"]
    assert (metadata["type"], metadata["page_title"]) == ("rule", chunk["page_title"])
    assert metadata["learns"].split(" / ") == chunk["learns"]
    assert "never an instruction" in metadata["note"]


def test_what_is_wrong_is_an_error_with_a_sentence(offered: KnowledgeTools) -> None:
    for name, arguments, told in (
        ("fetch", {"id": "a#nothing"}, "There is no chunk"),
        ("fetch", {}, "'id' is required"),
        ("search", {"query": "x", "top_k": 3}, "'top_k' is not an argument"),
    ):
        result = call(offered, name, **arguments)
        assert (result.is_error, told in said(result)) == (True, True)


def test_fetch_says_how_to_read_the_rest_of_a_long_text(world: World, offered: KnowledgeTools, changes: None) -> None:
    text = "".join(f"{n}個目の文。" for n in range(1_500))
    world.sql.execute("update public.knowledge_chunks set content = %s where id = %s", [text, FORMULA])
    document = answer(offered, "fetch", id=FORMULA)
    assert "get_chunk_by_id" in document["metadata"]["truncated"]
    rest = answer(offered, "get_chunk_by_id", id=FORMULA, cursor=document["metadata"]["next_cursor"])
    assert document["text"] + rest["chunk"]["content"] == text


@pytest.mark.parametrize(
    ("wanted", "base_url", "offered"),
    [("false", "https://a.example", False), ("true", "https://a.example/x", True), ("true", "", False)],
)
def test_without_a_host_in_base_url_they_are_not_offered(wanted: str, base_url: str, offered: bool) -> None:
    settings = Settings.read(environment(CHATGPT_TOOLS=wanted, BASE_URL=base_url))
    assert settings.offers_chatgpt_tools is offered
