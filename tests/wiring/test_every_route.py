"""Every page and route of the functions `api` and `mcp`, from their applications, where nothing is stored yet.

Each answers; and what a page asks the database is counted.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import RouteContext, iter_route_contexts
from pydantic import TypeAdapter
from sakuin.console.sessions import Session, Sessions
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.platform.keys import hash_of_key
from sakuin.wiring import api
from sakuin_local.supabase.database import Database
from starlette.routing import Mount
from starlette.testclient import TestClient

from tests.doubles.playground import ApiClients
from tests.events import Ring
from tests.isolation.stack import Stack, stack_of
from tests.mcp.wire import app_of

NOWHERE = "00000000-0000-4000-8000-00000000000f"
ORIGIN = "http://testserver"
# What requests say, by the name of a parameter or a member; every other text is "x".
SAID: dict[str, Any] = {
    **dict.fromkeys(("prefix", "material", "rule", "target", "folder", "gap", "expected"), "library"),
    **{"q": "公式", "q2": "定理", "query": "公式", "queries": ["公式"], "status": "ready"},
}


# The requests of pages of the console, with that for the session, and on the first page those for the menu. Every other
# page makes two.
BOUNDS = {
    "/": 5,
    "/gaps": 5,
    "/connect/first": 3,
    "/keys": 3,
    "/live": 3,
    "/pages/page": 4,
    "/playground": 5,
    "/projects/{project_id}": 5,
    "/projects/{project_id}/endpoints/{mcp_id}": 4,
    "/projects/{project_id}/members": 3,
    "/projects/{project_id}/synonyms": 3,
    # One is for the rows of the document.
    "/projects/{project_id}/tables/{table_id}": 5,
    "/projects/{project_id}/tools/{tool_id}": 5,
}


@dataclass(frozen=True)
class Product:
    """The function `api`, where nothing is stored, the sessions of its console, and the function `mcp`."""

    stack: Stack
    app: FastAPI
    sessions: Sessions

    def signed_in(self) -> tuple[TestClient, Session]:
        """Returns a browser with an admin's session, and the admin key for REST. An exception is a 500 to it."""
        session = self.sessions.sign_in_admin(hash_of_key(self.stack.admin_key))
        headers = {"Authorization": f"Bearer {self.stack.admin_key}", "Origin": ORIGIN}
        browser = TestClient(self.app, headers=headers, follow_redirects=False, raise_server_exceptions=False)
        browser.cookies.set("sakuin_console", session.id, domain="testserver.local", path="/console")
        return browser, session


@pytest.fixture(scope="module")
def product(database: Database, stand_in: str) -> Iterator[Product]:
    with stack_of(database, stand_in, RECORD_REFUSED_QUESTIONS="true") as stack:
        clients = replace(ApiClients.of(os.environ, "Api"), mcp=stack.mcp)
        sessions = Sessions(clients.supabase, Ring(stack.admin_key), lambda tokens: tokens)
        yield Product(stack, api.application(clients), sessions)


def routes_of(app: Any, prefix: str = "") -> Iterator[tuple[str, str, RouteContext]]:
    """Yields the method, the path and the route of each, those of the console with them."""
    for route in iter_route_contexts(app.routes):
        inner = route.route
        if isinstance(inner, Mount) and hasattr(inner.app, "application"):
            yield from routes_of(inner.app.application, inner.path)
        elif route.path and hasattr(inner, "dependant"):
            yield from ((method, prefix + route.path, route) for method in sorted(route.methods or ()))


def said(name: str, schema: Any, definitions: Any) -> Any:
    """Returns a value that a schema allows, with every member of an object."""
    schema = definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    if name in SAID or name.endswith("_id"):
        return SAID.get(name, NOWHERE)
    if "anyOf" in schema:
        return said(name, schema["anyOf"][0], definitions)
    if schema.get("type") == "object" or "properties" in schema:
        return {key: said(key, each, definitions) for key, each in schema.get("properties", {}).items()}
    named = schema.get("const") or (schema.get("enum") or [None])[-1]
    return named or {"array": [], "integer": 1, "number": 1, "boolean": False}.get(schema.get("type"), "x")


def body_of(route: RouteContext) -> Any:
    """Returns the JSON that a route takes; None if it takes none."""
    if route.body_field is None:
        return None
    schema = TypeAdapter(route.body_field.field_info.annotation).json_schema()
    return said("", schema, schema.get("$defs", {}))


def in_path(path: str) -> str:
    """Returns the path with a value for each parameter."""
    ids = {name: NOWHERE if name.endswith("_id") else "x" for name in re.findall(r"{(\w+)", path)}
    return path.replace(":path}", "}").format_map(ids)


def test_every_page_and_route_answers_where_nothing_is_stored(product: Product) -> None:
    browser, session = product.signed_in()
    browser.get("/console/")
    answers: dict[str, int] = {}
    routes = list(routes_of(product.app))
    for method, path, route in sorted(routes, key=lambda each: (each[0] == "DELETE", "sign-out" in each[1])):
        query = {param.name: SAID.get(param.name) for param in route.dependant.query_params}
        is_form = path.startswith("/console") and method == "POST"
        sent: dict[str, Any] = {"data": {"csrf": session.csrf}} if is_form else {"json": body_of(route)}
        for params in ({}, {name: value for name, value in query.items() if value}):
            answer = browser.request(method, in_path(path), params=params, **sent)
            answers[f"{method} {path} {params}"] = answer.status_code
    assert len(routes) > 100
    assert {name: status for name, status in answers.items() if status >= 500} == {}


def test_every_path_and_tool_of_agents_answers_where_nothing_is_stored(product: Product) -> None:
    nothing: Any = None
    stack, key = product.stack, product.stack.knowledge_key
    tools = stack.rpc(None, "tools/list", key).json["result"]["tools"]
    for tool in tools:
        arguments = {name: said(name, schema, {}) for name, schema in tool["inputSchema"]["properties"].items()}
        for each in ({}, {name: arguments[name] for name in tool["inputSchema"].get("required", ())}, arguments):
            answer = stack.rpc(None, "tools/call", key, name=tool["name"], arguments=each)
            assert (answer.status, "result" in answer.json) == (200, True), (tool["name"], answer.body)
    for route in app_of(KnowledgeTools(nothing, nothing)).routes:
        path = route.path.format(mcp_id=NOWHERE, tool_id=NOWHERE)  # type: ignore[attr-defined]
        for body in ({}, SAID):
            assert stack.ask("POST", path, body, bearer=key).status < 500, path


def test_no_page_of_the_console_asks_the_database_more_often_than_its_bound(product: Product) -> None:
    stack, (browser, _), ids = product.stack, product.signed_in(), {}

    def made(path: str, body: object) -> Any:
        return stack.ask("POST", path.format_map(ids), body, bearer=stack.admin_key).json

    ids["project_id"] = made("/v1/projects", {"name": "p"})["id"]
    ids["table_id"] = made("/v1/projects/{project_id}/tables", {"name": "t", "data": {}})["id"]
    tool = {"table_id": ids["table_id"], "json_path": "", "type": "search", "name": "search"}
    ids["tool_id"] = made("/v1/projects/{project_id}/tools", tool)["id"]
    ids["mcp_id"] = made("/v1/projects/{project_id}/mcps", {"name": "e", "tool_ids": [ids["tool_id"]]})["mcp"]["id"]
    columns = "material, bucket, key, sequencer, status"
    stack.sql.execute(f"insert into material ({columns}) values ('x', 'materials', 'x.html', '01', 'ready')".encode())
    rose = {}
    for method, path, _ in routes_of(product.app):
        if method == "GET" and path.startswith("/console/"):
            stack.gateway.asked()
            answer = browser.get(path.format_map({**ids, "language": "en"}), params={"material": "x"})
            asked = [each.path for each in stack.gateway.asked()]
            if path not in ("/console/", "/console/findings"):
                # Of the menu, whose numbers are read again after ten seconds.
                asked = [each for each in asked if not each.endswith("/finding_counts")]
            assert answer.status_code in (200, 303) or path == "/console/agents", (path, answer.text)
            if len(asked) > BOUNDS.get(path.removeprefix("/console"), 2):
                rose[path] = asked
    assert rose == {}
