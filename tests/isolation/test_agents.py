"""Agents that sign in: an access token with `client_id` searches where its user may, and every other door is closed.

An account with a second factor: a token of its password alone (`aal1`) opens nothing.
"""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from tests.isolation.conftest import Tenant, moved_in
from tests.isolation.routes import MEMBERS, TOOL_SEARCH, Route
from tests.isolation.stack import DOMAIN, Stack

CLIENT = {"client_id": str(uuid4())}


@pytest.fixture
def agent(stack: Stack, owner: Tenant) -> str:
    """The token of an agent of the owner of a project."""
    return stack.token(owner.user, **CLIENT)


def searched(stack: Stack, tenant: Tenant, bearer: str) -> tuple[int, ...]:
    """The statuses of both ways to search with a tenant's Tool."""
    call = {"name": tenant.tool, "arguments": {"query": tenant.words}}
    over_rest = stack.ask("POST", TOOL_SEARCH.format_map(tenant.ids), {"query": tenant.words}, bearer=bearer)
    answer = stack.rpc(tenant.ids["mcp_id"], "tools/call", bearer, **call)
    assert (tenant.words in answer.body) == (tenant.words in over_rest.body) == (answer.status == 200)
    return answer.status, over_rest.status


@pytest.mark.parametrize("role", ["viewer", "editor", "owner"])
@pytest.mark.parametrize("more", [{}, CLIENT], ids=["a user", "an agent"])
def test_it_searches_the_projects_of_its_user_in_any_role_until_he_leaves(
    stack: Stack, owner: Tenant, other: Tenant, role: str, more: dict[str, str]
) -> None:
    user, project = str(uuid4()), owner.ids["project_id"]
    token = stack.token(user, **more)
    assert searched(stack, owner, token) == (403, 403)
    stack.sql.execute("insert into project_member values (%s, %s, %s::member_role)", (project, user, role))
    assert searched(stack, owner, token) == (200, 200)
    assert searched(stack, other, token) == (403, 403)
    stack.sql.execute("delete from project_member where user_id = %s", (user,))
    assert searched(stack, owner, token) == (403, 403)


def test_another_s_endpoint_is_refused_as_one_that_does_not_exist(stack: Stack, other: Tenant, agent: str) -> None:
    there, nowhere = (stack.rpc(mcp_id, "tools/list", agent) for mcp_id in (other.ids["mcp_id"], str(uuid4())))
    assert (there.status, there.body, there.headers, there.round_trips) == (403, nowhere.body, nowhere.headers, 1)
    assert (nowhere.status, nowhere.round_trips) == (403, 1)
    # No id at all is not looked up.
    assert stack.rpc("x", "tools/list", agent).round_trips == 0


def test_an_endpoint_ends_for_users_when_it_ends_for_its_key(stack: Stack) -> None:
    tenant = moved_in(stack, "確率の計算")
    token = stack.token(tenant.user, **CLIENT)
    path = f"/v1/mcps/{tenant.ids['mcp_id']}"
    assert stack.ask("PATCH", path, {"status": "disabled"}, bearer=tenant.token).status == 200
    assert searched(stack, tenant, token) == (403, 403)
    assert stack.ask("PATCH", path, {"status": "enabled"}, bearer=tenant.token).status == 200
    assert searched(stack, tenant, token) == (200, 200)
    assert stack.ask("DELETE", f"/v1/projects/{tenant.ids['project_id']}", bearer=tenant.token).status == 204
    assert searched(stack, tenant, token) == (403, 403)


def test_the_library_opens_for_no_user_by_default(stack: Stack, owner: Tenant, agent: str) -> None:
    for token in (agent, owner.token):
        for answer in (stack.rpc(None, "tools/list", token), stack.ask("POST", "/v1/search", {}, bearer=token)):
            assert (answer.status, "LibraryForUsers" in answer.json["detail"]) == (403, True)


# ---------------------------------------------------------------- the doors that are closed


@pytest.mark.parametrize("route", MEMBERS, ids=lambda route: route.name)
def test_a_route_of_members_refuses_it_and_says_why(stack: Stack, owner: Tenant, agent: str, route: Route) -> None:
    answer = stack.ask(route.method, route.path(owner.ids), route.body(owner.ids), bearer=agent)
    assert (answer.status, answer.json["code"], answer.round_trips) == (403, "forbidden", 0)
    assert "given to an agent, which may only search" in answer.json["detail"]
    assert answer.headers["www-authenticate"] == 'Bearer realm="sakuin", error="insufficient_scope"'


@pytest.mark.parametrize("client", [None, "", 7, [], str(uuid4())], ids=json.dumps)
def test_any_value_of_client_id_is_an_agent_s(stack: Stack, owner: Tenant, client: object) -> None:
    token = stack.token(owner.user, client_id=client)
    assert stack.ask("GET", "/v1/projects", bearer=token).status == 403


# ---------------------------------------------------------------- where to sign in

WELL_KNOWN = "/.well-known/oauth-protected-resource"


def metadata(stack: Stack, path: str) -> Any:
    answer = stack.ask("GET", WELL_KNOWN + path)
    assert answer.status in (200, 404), answer.body
    return answer.json if answer.status == 200 else None


def challenge(stack: Stack, mcp_id: str | None, bearer: str | None = None) -> str:
    answer = stack.rpc(mcp_id, "tools/list", bearer)
    assert answer.status == 401
    return answer.headers["www-authenticate"]


def test_the_metadata_of_an_endpoint_names_it_and_supabase_auth(stack: Stack, owner: Tenant) -> None:
    for mcp_id in (owner.ids["mcp_id"], str(uuid4())):
        # `host` is another: what a client sends must not decide.
        assert metadata(stack, f"/mcp/{mcp_id}") == {
            "resource": f"https://{DOMAIN}/mcp/{mcp_id}",
            "authorization_servers": [stack.issuer],
            "scopes_supported": ["email"],
            "bearer_methods_supported": ["header"],
        }
    assert metadata(stack, "")["resource"] == f"https://{DOMAIN}"
    assert [metadata(stack, path) for path in ("/mcp/x", "/mcp/x%22", "/v1", "/public/mcp")] == [None] * 4


def test_a_401_leads_to_the_metadata(stack: Stack, owner: Tenant) -> None:
    for mcp_id in (owner.ids["mcp_id"], str(uuid4())):
        leads = f'resource_metadata="https://{DOMAIN}{WELL_KNOWN}/mcp/{mcp_id}", scope="email"'
        assert challenge(stack, mcp_id) == f'Bearer realm="sakuin", {leads}'
        assert challenge(stack, mcp_id, "wrong") == f'Bearer realm="sakuin", error="invalid_token", {leads}'
    assert challenge(stack, 'x", scope="y') == 'Bearer realm="sakuin"'
    # Programs that search over REST have no browser.
    over_rest = stack.ask("POST", TOOL_SEARCH.format_map(owner.ids), {})
    assert over_rest.headers["www-authenticate"] == 'Bearer realm="sakuin"'


def test_the_library_has_none_unless_it_is_for_users(stack: Stack) -> None:
    assert (metadata(stack, "/mcp"), challenge(stack, None)) == (None, 'Bearer realm="sakuin"')


AAL1, AAL2 = {"aal": "aal1"}, {"aal": "aal2"}


@pytest.fixture
def factor(stack: Stack, owner: Tenant) -> Iterator[None]:
    stack.sql.execute("insert into auth.mfa_factors (user_id, status) values (%s, 'verified')", (owner.user,))
    yield
    stack.sql.execute("delete from auth.mfa_factors")


@pytest.mark.usefixtures("factor")
def test_only_a_token_of_both_factors_opens_and_one_of_an_agent_that_was_allowed(stack: Stack, owner: Tenant) -> None:
    token, both = stack.token(owner.user, **AAL1), stack.token(owner.user, **AAL2)
    refused = stack.ask("GET", "/v1/projects", bearer=token)
    assert (refused.status, "second factor" in refused.body) == (401, True)
    assert stack.ask("GET", "/v1/projects", bearer=both).status == 200
    agent = stack.token(owner.user, client_id=str(uuid4()), **AAL1)
    doors = [searched(stack, owner, each) for each in (token, both, agent)]
    assert doors == [(401, 401), (200, 200), (200, 200)]


def test_a_factor_that_is_not_verified_or_of_others_changes_nothing(stack: Stack, owner: Tenant) -> None:
    stack.sql.execute("insert into auth.mfa_factors (user_id) values (%s)", (owner.user,))
    stack.sql.execute("insert into auth.mfa_factors (user_id, status) values (%s, 'verified')", (str(uuid4()),))
    token = stack.token(owner.user, **AAL1)
    assert stack.ask("GET", "/v1/projects", bearer=token).status == 200
    assert searched(stack, owner, token) == (200, 200)
    stack.sql.execute("delete from auth.mfa_factors")
