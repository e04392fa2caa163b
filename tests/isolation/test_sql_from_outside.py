"""Requests to PostgREST past the API, with what a browser may have, and as the function `api` sends them for a user."""

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest
from psycopg.types.json import Jsonb
from sakuin.texts.catalogue import coded, restored

from tests.isolation.catalog import RIGHTS, functions
from tests.isolation.conftest import Tenant
from tests.isolation.gateway import PUBLISHABLE, SECRET
from tests.isolation.stack import Stack


def outside(stack: Stack, token: str | None) -> httpx.Client:
    signed = {"Authorization": f"Bearer {token}"} if token else {}
    address, headers = f"{stack.gateway.url}/rest/v1", {"apikey": PUBLISHABLE, **signed}
    return httpx.Client(base_url=address, headers=headers, timeout=60)


def acting(stack: Stack, user: str) -> httpx.Client:
    """What `api` sends for a user, without the checks that it makes before."""
    address, headers = f"{stack.gateway.url}/rest/v1", {"apikey": SECRET, "X-Acting-User": user}
    return httpx.Client(base_url=address, headers=headers, timeout=60)


def sentence(refused: httpx.Response) -> str:
    """Returns what people read of an error that SQL raised as a code with its values."""
    error = refused.json()
    return coded(error["message"], **restored(json.loads(error["details"])))


def act_for(connection: psycopg.Connection, user: str) -> None:
    """Makes a transaction one of `api` for a user."""
    connection.execute("select set_config('request.headers', %s::text, true)", (Jsonb({"x-acting-user": user}),))
    connection.execute("set local role service_role")


@pytest.fixture(params=["anon", "authenticated", "an agent"])
def stranger(request: pytest.FixtureRequest, stack: Stack, other: Tenant) -> httpx.Client:
    tokens = {"anon": None, "authenticated": other.token, "an agent": stack.token(other.user, client_id=str(uuid4()))}
    return outside(stack, tokens[request.param])


def test_nobody_says_himself_for_whom_he_calls(stack: Stack, owner: Tenant, stranger: httpx.Client) -> None:
    stranger.headers["X-Acting-User"] = owner.user
    for name in ("list_projects", "acting_user", "is_service"):
        assert stranger.post(f"/rpc/{name}", json={}).json()["code"] == "42501"


def test_a_function_for_users_knows_nothing_of_another_tenant(stack: Stack, owner: Tenant, other: Tenant) -> None:
    stranger = acting(stack, other.user)
    nowhere = {name: str(uuid4()) for name in owner.ids}
    before = stack.rows()
    own = [function for function in functions(stack) if function.is_of_the_api]
    assert len(own) > 20
    for function in own:
        assert "p_user" not in function.arguments
        for tool in (owner.ids["tool_id"], other.ids["tool_id"]):
            foreign, missing = (
                stranger.post(f"/rpc/{function.name}", json=function.given(ids, p_tools=[tool]))
                for ids in (owner.ids, nowhere)
            )
            if "uuid" in function.arguments.values():
                assert foreign.json()["code"] == "P0002", (function.name, foreign.text)
                assert _unnamed(foreign.text, owner.ids) == _unnamed(missing.text, nowhere)
            assert owner.words not in foreign.text
    # Without an id of another tenant, a stranger creates own projects.
    changed = {name for name, digest in stack.rows().items() if digest != before[name]}
    assert changed == {"project", "project_member"}


def _unnamed(text: str, ids: dict[str, str]) -> str:
    for name, value in ids.items():
        text = text.replace(value, name)
    return text


@pytest.mark.parametrize("user", ["", "nobody", "' or true --"])
def test_what_is_no_user_is_not_an_operator(stack: Stack, owner: Tenant, user: str) -> None:
    for function in functions(stack):
        if function.is_of_the_api:
            answer = acting(stack, user).post(f"/rpc/{function.name}", json=function.given(owner.ids))
            assert (answer.status_code, answer.json()["code"]) == (400, "22P02"), (function.name, answer.text)


# Arguments by functions; a member such as {"x": 201} is a text of so many of these letters.
INVALID: dict[str, list[dict[str, Any]]] = RIGHTS["invalid"]


@pytest.mark.parametrize("name", INVALID)
def test_what_the_api_would_refuse_sql_refuses_too(stack: Stack, other: Tenant, name: str) -> None:
    before = stack.rows()
    function = next(each for each in functions(stack) if each.name == name)
    too_many = [{"p_tools": [str(uuid4()) for _ in range(1001)]}] * (name == "create_mcp")
    for wrong in (*INVALID[name], *too_many):
        given = {key: _whole(value) for key, value in wrong.items()}
        answer = acting(stack, other.user).post(f"/rpc/{name}", json={**function.given(other.ids), **given})
        # A wrong argument, no JSON or no such role, a null where there must be something, no status, more than a quota.
        refused = (answer.status_code, answer.json()["code"])
        codes = (422, "PT422"), (400, "22P02"), (400, "23502"), (400, "23514"), (429, "PT429")
        assert refused in codes, (given, answer.text)
    assert stack.rows() == before


def _whole(value: Any) -> Any:
    return "".join(letter * count for letter, count in value.items()) if isinstance(value, dict) else value


def test_a_name_loses_the_space_around_it_by_either_way(stack: Stack, other: Tenant) -> None:
    function = next(each for each in functions(stack) if each.name == "change_table")
    given = {**function.given(other.ids), "p_name": " \u3000 記事\n", "p_chunk_threshold": None}
    renamed = acting(stack, other.user).post("/rpc/change_table", json=given)
    assert renamed.json()["name"] == "記事"


def answered_after(stack: Stack, user: str, statement: str, values: tuple[str, ...], ask: Any) -> httpx.Response:
    """Asks while a transaction with a statement of this user is open; until it commits, neither sees the other."""
    with psycopg.connect(stack.database.dsn) as first, ThreadPoolExecutor() as threads:
        act_for(first, user)
        first.execute(statement.encode(), values)
        second = threads.submit(ask)
        waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted"
        while not second.done() and stack.sql.execute(waiting).fetchone() == (0,):
            pass
        first.commit()
        answer: httpx.Response = second.result()
        return answer


def test_of_two_owners_who_leave_at_once_one_stays(stack: Stack) -> None:
    one, other = str(uuid4()), str(uuid4())
    project = acting(stack, one).post("/rpc/create_project", json={"p_name": "p"}).json()["id"]
    stack.sql.execute("insert into project_member values (%s, %s, 'owner')", (project, other))
    asked = {"p_project": project, "p_member": other}
    leave = partial(acting(stack, other).post, "/rpc/remove_member", json=asked)
    refused = answered_after(stack, one, "select remove_member(%s, %s)", (project, one), leave)
    assert refused.json()["code"] == "23505", refused.text
    left = stack.sql.execute("select user_id::text from project_member where project_id = %s", (project,)).fetchall()
    stack.sql.execute("delete from project where id = %s", (project,))
    assert left == [(other,)]


def test_simultaneous_requests_exceed_no_quota(stack: Stack) -> None:
    user, editor = str(uuid4()), str(uuid4())
    project = acting(stack, user).post("/rpc/create_project", json={"p_name": "p"}).json()["id"]
    stack.sql.execute("insert into project_member values (%s, %s, 'editor')", (project, editor))
    stack.sql.execute("select set_quotas('{\"tables\": 1}')")
    asked = {"p_project": project, "p_name": "two", "p_data": "{}"}
    create = partial(acting(stack, editor).post, "/rpc/create_table", json=asked)
    refused = answered_after(stack, user, "select create_table(%s, 'one', '{}')", (project,), create)
    stack.sql.execute("select set_quotas('{\"tables\": 1000}')")
    stack.sql.execute("delete from context_table where project_id = %s", (project,))
    assert refused.status_code == 429, refused.text
    assert sentence(refused).startswith("That would be 2 tables; the limit is 1 (tables).")
