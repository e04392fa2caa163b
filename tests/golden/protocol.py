"""MCP besides searches: what is listed, whole chunks, pages of concepts, and everything that is refused."""

import json
from collections.abc import Callable
from itertools import count
from typing import Any
from uuid import UUID

import httpx

from tests.awaiting import awaited
from tests.golden.deployment import REVISION, Answer, Deployment, answer_entry, body_of
from tests.golden.files import Entries
from tests.golden.normalise import Normaliser
from tests.golden.searches import TOOL

STATELESS = "2026-07-28"
BATCHES = "2025-03-26"
_ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_NOBODY = str(UUID(int=7))
_WRONG_KEY = "sk_sakuin_" + "w" * 43
_QUESTION = "解の公式"
_CHUNK = "junior/二次方程式の解き方_教材#rule-quadratic-formula"

# What `search_knowledge` refuses, and what it takes although it looks odd.
_SEARCH_ARGUMENTS: tuple[Any, ...] = (
    {},
    None,
    [],
    {"query": ""},
    {"query": " \u3000\u200b"},
    {"query": 5},
    {"query": None},
    {"query": "あ" * 1001},
    {"query": "a\u0000b"},
    {"query": "\ud83d"},
    {"query": _QUESTION, "top_k": 0},
    {"query": _QUESTION, "top_k": 51},
    {"query": _QUESTION, "top_k": "5"},
    {"query": _QUESTION, "top_k": 2.5},
    {"query": _QUESTION, "top_k": 1.0},
    {"query": _QUESTION, "top_k": True},
    {"query": _QUESTION, "top_k": None},
    {"query": _QUESTION, "type": "theorem"},
    {"query": _QUESTION, "type": None, "category": None, "level": None, "material": None, "top_k": 1},
    {"query": _QUESTION, "category": 5},
    {"query": _QUESTION, "material": "あ" * 501},
    {"query": _QUESTION, "limit": 5},
    {"query": _QUESTION, "category": "algebra"},
    {"query": _QUESTION, "cursor": "5-50"},
    {"query": _QUESTION, "a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "top_k": 0},
)
_CHUNK_ARGUMENTS: tuple[Any, ...] = (
    {"id": _CHUNK},
    {"id": "senior/微分と接線_教材#def-derivative"},
    {"id": "junior/一次関数_教材#tip-slope-as-fraction"},
    {"id": "junior/一次関数_教材"},
    {"id": "junior/一次関数_教材#rule-nothing"},
    {"id": ""},
    {"id": "a\u0000b"},
    {"id": 5},
    {"id": "あ" * 2001},
    {},
    {"id": _CHUNK, "whole": True},
    {"id": "/junior/一次関数_教材.html#tip-slope-as-fraction", "neighbours": True},
    {"ids": [_CHUNK, "junior/一次関数_教材#rule-nothing"]},
    {"id": _CHUNK, "cursor": "0-5"},
)
_LIST_ARGUMENTS: tuple[Any, ...] = (
    {},
    {"type": "rule"},
    {"type": "tip", "category": "代数"},
    {"material": "junior/確率の基本_教材"},
    {"category": "ない分野"},
    {"cursor": _CHUNK},
    {"cursor": "zzz"},
    {"cursor": "a\u0000b"},
    {"cursor": 5},
    {"type": "theorem"},
    {"level": "中学"},
)
_MATERIAL_ARGUMENTS: tuple[Any, ...] = ({}, {"cursor": "zzz"}, {"type": "rule"})
_TOOL_ARGUMENTS: tuple[Any, ...] = (
    {},
    {"query": " "},
    {"query": _QUESTION, "top_k": 0},
    {"query": _QUESTION, "top_k": 51},
    {"query": _QUESTION, "type": "rule"},
    {"query": "あ" * 1001},
)


def mcp(deployment: Deployment) -> Entries:
    """Returns the answers to every kind of message."""
    return {
        **_listings(deployment),
        **_tool_calls(deployment),
        **_pages(deployment),
        **_revisions(deployment),
        **_message_errors(deployment),
        **_request_errors(deployment),
        **_key_errors(deployment),
        **_rate_limits(deployment),
    }


def message(method: str, params: object = None, id: object = 1) -> Answer:
    """Returns a request of JSON-RPC."""
    return {"jsonrpc": "2.0", "id": id, "method": method, **({} if params is None else {"params": params})}


def _listings(deployment: Deployment) -> Entries:
    normaliser = deployment.normaliser()
    endpoints = {"/mcp": {}, "/mcp/{id}": {"url": deployment.tools_url, "key": deployment.tools_key}}
    return {
        f"{method} of {name}": answer_entry(deployment.mcp(message(method, params), **endpoint), normaliser)
        for name, endpoint in endpoints.items()
        for method, params in (("tools/list", {}), ("initialize", _initialize(REVISION)), ("ping", {}))
    }


def _initialize(revision: str) -> Answer:
    return {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "golden", "version": "1"}}


def _tool_calls(deployment: Deployment) -> Entries:
    tools = {
        "search_knowledge": _SEARCH_ARGUMENTS,
        "get_chunk_by_id": _CHUNK_ARGUMENTS,
        "list_concepts": _LIST_ARGUMENTS,
        "list_materials": _MATERIAL_ARGUMENTS,
    }
    normaliser = deployment.normaliser()
    found = {
        f"{tool} {_label(arguments)}": _result(deployment.mcp(_call(tool, arguments)), normaliser)
        for tool, several in tools.items()
        for arguments in several
    }
    endpoint = {"url": deployment.tools_url, "key": deployment.tools_key}
    return found | {
        f"Search Tool {_label(arguments)}": _result(deployment.mcp(_call(TOOL, arguments), **endpoint), normaliser)
        for arguments in _TOOL_ARGUMENTS
    }


def _call(tool: str, arguments: object) -> Answer:
    return message("tools/call", {"name": tool, "arguments": arguments})


def _label(arguments: object) -> str:
    # Half a character cannot be written to a file.
    written = json.dumps(arguments, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()
    return written if len(written) <= 100 else f"{written[:100]}… {len(written)}"


def _result(answer: Any, normaliser: Normaliser) -> Any:
    """Returns the result without the text that repeats it."""
    read = body_of(answer)
    result = read.get("result", {}) if isinstance(read, dict) else {}
    if "structuredContent" not in result:
        return answer_entry(answer, normaliser)
    return normaliser.value(result["structuredContent"])


def _pages(deployment: Deployment) -> Entries:
    """Follows the cursors of `list_concepts`; returns the ids of each page."""
    pages, cursor = [], None
    while True:
        arguments: Answer = {} if cursor is None else {"cursor": cursor}
        answer = deployment.call("list_concepts", arguments)["structuredContent"]
        pages.append([concept["id"] for concept in answer["concepts"]])
        cursor = answer["next_cursor"]
        if cursor is None:
            return {"list_concepts, page by page": pages}


def _revisions(deployment: Deployment) -> Entries:
    normaliser = deployment.normaliser()
    entries: Entries = {}
    for revision in ("2024-11-05", BATCHES, REVISION, "2025-11-25", "2030-01-01"):
        answer = deployment.mcp(message("initialize", _initialize(revision)), MCP_Protocol_Version=revision)
        entries[f"initialize in {revision}"] = answer_entry(answer, normaliser)
    for method, params in (
        ("server/discover", {}),
        ("tools/list", {}),
        ("tools/call", {"name": "list_concepts", "arguments": {"material": "junior/確率の基本_教材"}}),
        ("tools/call", {"name": "drop_table", "arguments": {}}),
        ("initialize", {}),
        ("nothing/such", {}),
    ):
        headers = {"MCP_Protocol_Version": STATELESS, "Mcp_Method": method}
        if "name" in params:
            headers["Mcp_Name"] = str(params["name"])
        answer = deployment.mcp(message(method, {**params, "_meta": _ENVELOPE}), **headers)
        name = f"{method} {params['name']}" if "name" in params else method
        entries[f"{name} in {STATELESS}"] = answer_entry(answer, normaliser)
    mismatched = deployment.mcp(
        message("tools/list", {"_meta": _ENVELOPE}), MCP_Protocol_Version=STATELESS, Mcp_Method="tools/call"
    )
    entries["another method in the header"] = answer_entry(mismatched, normaliser)
    return entries


def _message_errors(deployment: Deployment) -> Entries:
    normaliser = deployment.normaliser()
    ping = message("ping")
    asked: dict[str, tuple[object, dict[str, str]]] = {
        "a notification": ({"jsonrpc": "2.0", "method": "notifications/initialized"}, {}),
        "an unknown method": (message("nothing/such", {}), {}),
        "an unknown tool": (_call("drop_table", {}), {}),
        "an unknown tool of /mcp/{id}": (
            _call("search_knowledge", {"query": "a"}),
            {"url": deployment.tools_url, "key": deployment.tools_key},
        ),
        "no version": ({"id": 1, "method": "ping"}, {}),
        "no method": ({"jsonrpc": "2.0", "id": 1}, {}),
        "a method that is a number": ({"jsonrpc": "2.0", "id": 1, "method": 5}, {}),
        "params that are a list": (message("tools/list", []), {}),
        "an id that is true": (message("ping", id=True), {}),
        "an id that is a text": (message("ping", id="seven"), {}),
        "a number": (5, {}),
        "null": (None, {}),
        "a batch": ([ping, {"jsonrpc": "2.0", "method": "notifications/initialized"}, 5, message("x", id=2)], {}),
        "an empty batch": ([], {}),
        "a batch that is too long": ([ping] * 21, {}),
        "a batch with initialize": ([message("initialize", _initialize(BATCHES))], {}),
        "a batch of notifications": ([{"jsonrpc": "2.0", "method": "notifications/initialized"}], {}),
    }
    entries: Entries = {}
    for name, (body, parts) in asked.items():
        revision = {"MCP_Protocol_Version": BATCHES} if isinstance(body, list) else {}
        entries[name] = answer_entry(deployment.mcp(body, **parts, **revision), normaliser)
    entries[f"a batch in {REVISION}"] = answer_entry(deployment.mcp([ping]), normaliser)
    return entries


def _request_errors(deployment: Deployment) -> Entries:
    normaliser = deployment.normaliser()
    key = deployment.knowledge_key
    accept = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    ping = json.dumps(message("ping"))
    asked: dict[str, tuple[str, dict[str, Any]]] = {
        "GET": ("GET", {"headers": accept}),
        "DELETE": ("DELETE", {"headers": accept}),
        "no JSON": ("POST", {"headers": accept, "content": "{"}),
        "no body": ("POST", {"headers": accept}),
        "deep JSON": ("POST", {"headers": accept, "content": "[" * 50_000}),
        "a text as content type": ("POST", {"headers": {**accept, "Content-Type": "text/plain"}, "content": ping}),
        "accepting HTML": ("POST", {"headers": {**accept, "Accept": "text/html"}, "content": ping}),
        "an unknown revision": ("POST", {"headers": {**accept, "MCP-Protocol-Version": "1.0"}, "content": ping}),
        "more than a megabyte": ("POST", {"headers": accept, "content": f'{{"a": "{"a" * 1_000_000}"}}'}),
    }
    return {
        f"HTTP: {name}": answer_entry(deployment.request(method, "/mcp", key=key, **parts), normaliser)
        for name, (method, parts) in asked.items()
    }


def _key_errors(deployment: Deployment) -> Entries:
    normaliser = deployment.normaliser()
    base = f"{deployment.url}/mcp"
    endpoint = deployment.tools_url.rpartition("/")[2]
    asked: dict[str, tuple[str, dict[str, str]]] = {
        "none": ("", {}),
        "wrong": ("", _bearer(_WRONG_KEY)),
        "of another shape": ("", _bearer("password")),
        "an admin's": ("", _bearer(deployment.admin_key)),
        "another scheme": ("", {"Authorization": f"Basic {deployment.knowledge_key}"}),
        "in the URL": (f"?key={deployment.knowledge_key}", {}),
        "none at an endpoint": (f"/{endpoint}", {}),
        "of /mcp at an endpoint": (f"/{endpoint}", _bearer(deployment.knowledge_key)),
        "an admin's at an endpoint": (f"/{endpoint}", _bearer(deployment.admin_key)),
        "of an endpoint at /mcp": ("", _bearer(deployment.tools_key)),
        "of an endpoint that is not there": (f"/{_NOBODY}", _bearer(deployment.tools_key)),
        "of an endpoint that is no UUID": ("/nothing", _bearer(deployment.tools_key)),
        "of an endpoint, with a slash": (f"/{endpoint}/", _bearer(deployment.tools_key)),
    }
    body = message("ping")
    return {
        f"key: {name}": answer_entry(deployment.http.post(base + path, headers=headers, json=body), normaliser)
        for name, (path, headers) in asked.items()
    }


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream"}


def _rate_limits(deployment: Deployment) -> Entries:
    """Calls an endpoint too often in a minute, and with too many wrong keys."""
    project = deployment.api("POST", "/v1/projects", {"name": "golden, rate limits"})["id"]
    made = deployment.api("POST", f"/v1/projects/{project}/mcps", {"name": "rate limits", "tool_ids": []})
    url = f"{deployment.url}/mcp/{made['mcp']['id']}"
    # A worker remembers the wrong keys that it has seen.
    wrong_keys = (f"sk_sakuin_{number:043}" for number in count())
    call = _call("nothing", {})

    def with_a_wrong_key() -> httpx.Response:
        return deployment.mcp(message("ping"), url=url, key=next(wrong_keys))

    def in_a_batch() -> httpx.Response:
        return deployment.mcp([call] * 20, url=url, key=made["key"], MCP_Protocol_Version=BATCHES)

    def once() -> httpx.Response:
        return deployment.mcp(call, url=url, key=made["key"])

    requests = {"wrong keys": with_a_wrong_key, "calls in a batch": in_a_batch, "calls": once}
    try:
        return {f"too many {what}": _first_429(request, deployment.normaliser()) for what, request in requests.items()}
    finally:
        deployment.api("DELETE", f"/v1/projects/{project}")


def _first_429(request: Callable[[], httpx.Response], normaliser: Normaliser) -> Answer:
    """Repeats a request until it is refused; returns the refusal without its seconds."""

    def refusal() -> httpx.Response | None:
        answer = request()
        return answer if answer.status_code == 429 else None

    refused = awaited("status 429", refusal)
    assert refused is not None
    entry = answer_entry(refused, normaliser)
    return {**entry, "headers": {**entry["headers"], "retry-after": "<seconds>"}}
