"""The Search Tools of an endpoint over a real socket, in every mode of the client."""

import asyncio
import copy
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from sakuin.errors import Unavailable
from sakuin.language.unicode_text import INVISIBLE
from sakuin.mcp.answers import NOTE
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.platform.keys import hash_of_key
from sakuin.tables.model import SEARCH_INPUT_SCHEMA
from starlette.applications import Starlette

from tests import worlds
from tests.doubles.chunk_store import WatchedStore
from tests.emptied import emptied
from tests.events import ENDPOINT_KEY
from tests.mcp.wire import app_of, served
from tests.worlds import TableWorld, Worlds, long, world_of

MODES = ("auto", "legacy", "2026-07-28")
TEXT = long("二次方程式の解の公式")
T = TypeVar("T")


def app_over(tables: TableWorld) -> Starlette:
    nobody: Any = None
    return app_of(KnowledgeTools(nobody, nobody), tables.tools, endpoint=tables.records.endpoint_of_key)


@pytest.fixture(scope="module")
def deployment(a_world: Worlds, stand_in: str) -> TableWorld:
    emptied(a_world.sql)
    return world_of(a_world.database, stand_in)


@pytest.fixture
def tables(deployment: TableWorld) -> TableWorld:
    """A new project."""
    return deployment.beside()


@pytest.fixture
def talk(tables: TableWorld) -> Callable[..., Any]:
    """Returns the result of a conversation at an endpoint."""

    async def talked(endpoint: str, mode: str, conversation: Callable[[Client], Awaitable[T]]) -> T:
        async with (
            served(app_over(tables)) as url,
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {ENDPOINT_KEY}"}, timeout=60) as http,
            Client(streamable_http_client(f"{url}/{endpoint}", http_client=http), mode=mode) as client,
        ):
            return await conversation(client)

    return lambda *asking: asyncio.run(talked(*asking))


def keyed(tables: TableWorld, *tools: str) -> str:
    """Makes an endpoint that the key opens."""
    endpoint = tables.endpoint(*tools)
    tables.call("rotate_mcp", mcp=endpoint, key_hash=hash_of_key(ENDPOINT_KEY), overlap_seconds=0)
    return endpoint


def without_names_of_programs(answer: dict[str, Any]) -> dict[str, Any]:
    """Returns the answer as its text form has it."""
    shown = copy.deepcopy(answer)
    for result in shown["results"]:
        for name in ("id", "turbopuffer_namespace", "turbopuffer_doc_id"):
            del result["chunk"][name]
    return shown


def test_rest_leaves_out_what_turbopuffer_calls_a_chunk_unless_asked_for(tables: TableWorld) -> None:
    _, tool, endpoint = tables.indexed({"a": [TEXT]})
    vendor = {"turbopuffer_namespace", "turbopuffer_doc_id"}
    for more, named in (({}, set()), ({"vendor_ids": True}, vendor)):
        results = tables.tools.search(tables.bound(endpoint), tool, {"query": "公式", **more})["results"]
        assert results
        assert all(result["chunk"].keys() & vendor == named for result in results)
    assert tables.answer(endpoint, "公式")["results"][0]["chunk"].keys() >= vendor


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.scenario("context-search/a-search-tool-is-created-and-bound")
def test_a_client_lists_and_calls_the_enabled_bound_tools_alone(
    tables: TableWorld, talk: Callable[..., Any], mode: str
) -> None:
    table = tables.table({"a": [TEXT], "b": "small"})
    shown, unbound, disabled, off = (tables.tool(table, "/a", name) for name in ("shown", "unbound", "disabled", "off"))
    endpoint = keyed(tables, shown, disabled, off)
    tables.call("bind_tool", mcp=endpoint, tool=off, status="disabled")
    tables.call("change_tool", tool=disabled, name=None, description=None, enabled=False)
    tables.settle()

    async def conversation(client: Client) -> tuple[list[Any], list[Any], str]:
        # An unknown tool is an error of the protocol, a refused argument a sentence for the model.
        with pytest.raises(MCPError) as raised:
            await client.call_tool("unbound", {"query": "公式"})
        calls = [await client.call_tool("shown", {"query": "公式", "top_k": top_k}) for top_k in (1, 0, "five", 5.5)]
        return (await client.list_tools()).tools, calls, str(raised.value)

    listed, (result, *refused), unknown = talk(endpoint, mode, conversation)
    assert [tool.name for tool in listed] == ["shown"]
    assert (listed[0].description, listed[0].input_schema) == (f"d {NOTE}", SEARCH_INPUT_SCHEMA)
    assert listed[0].output_schema is None
    assert json.loads(result.content[0].text) == without_names_of_programs(result.structured_content)
    assert [each["json_path"] for each in result.structured_content["results"]] == ["/0"]
    assert [each.is_error and "'top_k'" in each.content[0].text for each in refused] == [True] * 3
    assert (bool(unbound), "Unknown tool: unbound" in unknown) == (True, True)


def test_a_store_that_is_down_and_a_tool_that_is_unbound_meanwhile_are_errors(tables: TableWorld) -> None:
    def away() -> None:
        raise Unavailable("turbopuffer did not answer", vendor="turbopuffer")

    tool = tables.tool(tables.table({"a": TEXT}), "")
    endpoint = keyed(tables, tool)
    tables.settle()
    unbind = partial(tables.call, "unbind_tool", mcp=endpoint, tool=tool)
    store = tables.store
    for meanwhile, sentence in (
        (away, "turbopuffer did not answer. Try again in a moment."),
        (unbind, "'search' was just removed from this endpoint"),
    ):
        tables.store = WatchedStore(store, before={"search": meanwhile})
        result = tables.ask(endpoint, {"query": "解の公式"})
        assert (result.is_error, result.structured_content) == (True, None)
        assert sentence in result.content[0].text


def test_with_a_model_that_was_not_measured_an_answer_says_that_similarity_is_uncalibrated(
    tables: TableWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = keyed(tables, tables.tool(tables.table({"a": TEXT}), ""))
    tables.settle()
    assert "uncalibrated" not in tables.answer(endpoint, "解の公式")
    monkeypatch.setattr(worlds, "WEIGHTS", replace(worlds.WEIGHTS, is_calibrated=False))
    assert tables.answer(endpoint, "解の公式")["uncalibrated"].startswith("similarity is uncalibrated")


def test_without_the_embedding_service_words_alone_answer_and_the_answer_says_so(tables: TableWorld) -> None:
    endpoint = keyed(tables, tables.tool(tables.table({"a": TEXT, "b": long("一次関数の傾き")}), ""))
    tables.settle()
    whole = tables.answer(endpoint, "解の公式")
    tables.embedder.down = True
    result = tables.ask(endpoint, {"query": "解の公式"})
    answer: Any = result.structured_content
    assert [each["json_path"] for each in answer["results"]] == ["/a", "/a"]
    assert set(answer) - set(whole) == {"degraded"}
    assert answer["degraded"] in result.content[0].text


def test_whole_results_that_fit_come_with_a_cursor_to_the_others(tables: TableWorld) -> None:
    endpoint = keyed(tables, tables.tool(tables.table([long(f"章{n}", 4000) for n in range(5)]), ""))
    tables.settle()
    everything = [hit.chunk for hit in tables.search(endpoint, "説明", top_k=20).results]
    seen: list[dict[str, Any]] = []
    asked: dict[str, Any] = {"top_k": 20}
    while True:
        result = tables.ask(endpoint, {"query": "説明", **asked})
        answer: Any = result.structured_content
        assert len(result.model_dump_json(by_alias=True, exclude_none=True).encode()) < 40_000
        seen += [each["chunk"] for each in answer["results"]]
        if "next_cursor" not in answer:
            break
        assert len(answer["results"]) >= 5
        assert answer["truncated"].startswith(f"{len(seen)} of 20 results")
        asked = {"cursor": answer["next_cursor"]}
    assert [chunk["id"] for chunk in seen] == [chunk.id for chunk in everything]
    assert all(len(chunk["chunk_text"]) == chunk["char_end"] - chunk["char_start"] for chunk in seen)


def test_a_cursor_of_no_answer_is_an_error(tables: TableWorld) -> None:
    endpoint = keyed(tables, tables.tool(tables.table({"a": TEXT}), ""))
    for cursor in ("20", "0-50", "00000000.0-50"):
        result = tables.ask(endpoint, {"query": "説明", "cursor": cursor})
        assert result.is_error, cursor
        assert "does not belong to this call" in result.content[0].text


HIDDEN = "\x07\x1b\x85\u200b\u202e\u2066\ufeff\U000e0041"


def test_a_chunk_is_given_to_the_character_and_its_text_form_shows_what_is_hidden(tables: TableWorld) -> None:
    written = f"{HIDDEN}{TEXT}{HIDDEN}"
    endpoint = keyed(tables, tables.tool(tables.table({"a": written}), ""))
    tables.settle()
    (tool,) = tables.bound(endpoint).tools
    tables.call("change_tool", tool=tool.id, name=None, description=f"記事{HIDDEN}を探す", enabled=None)
    (listed,) = tables.tools.listed(tables.bound(endpoint))
    assert listed.description == f"記事を探す {NOTE}"
    result = tables.ask(endpoint, {"query": "公式", "top_k": 10})
    answer: Any = result.structured_content
    chunks = [hit["chunk"] for hit in answer["results"]]
    assert "".join(chunk["chunk_text"] for chunk in chunks).count("\u202e") >= 2
    assert all(written[chunk["char_start"] : chunk["char_end"]] == chunk["chunk_text"] for chunk in chunks)
    shown = result.content[0].text
    assert not INVISIBLE.search(shown)
    assert r"\u202e" in shown
    assert json.loads(shown) == without_names_of_programs(answer)
