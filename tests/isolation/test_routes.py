"""Two tenants and every route of the API: what belongs to another tenant is not found."""

from collections.abc import Iterator
from itertools import combinations
from uuid import uuid4

import pytest

from tests.isolation.conftest import Tenant, moved_in
from tests.isolation.routes import MEMBERS, OPEN, ROLES, SEARCHES, Ids, Route
from tests.isolation.stack import Answer, Stack


def described(stack: Stack) -> set[str]:
    """The routes as the deployed API describes them."""
    paths = stack.ask("GET", "/openapi.json").json["paths"]
    return {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}


def mixed(route: Route, own: Ids, foreign: Ids) -> Iterator[dict[str, str]]:
    """Each combination of ids for a route with at least one foreign id."""
    used = {name for name in foreign if f"{{{name}}}" in route.name or foreign[name] in str(route.body(foreign))}
    for count in range(1, len(used) + 1):
        for names in combinations(sorted(used), count):
            yield {**own, **{name: foreign[name] for name in names}}


def said(answer: Answer, ids: Ids) -> tuple[int, str, int]:
    """The status, the text without the caller's own ids, and the round trips of an answer."""
    body = answer.body
    for name, value in ids.items():
        body = body.replace(value, name)
    return answer.status, body, answer.round_trips


@pytest.mark.parametrize("route", MEMBERS, ids=lambda route: route.name)
def test_another_tenant_s_records_are_not_found(stack: Stack, owner: Tenant, other: Tenant, route: Route) -> None:
    nowhere = {name: str(uuid4()) for name in owner.ids}
    before = stack.rows()
    tried = list(mixed(route, other.ids, owner.ids))
    for foreign, missing in zip(tried, mixed(route, other.ids, nowhere), strict=True):
        refused = stack.ask(route.method, route.path(foreign), route.body(foreign), bearer=other.token)
        absent = stack.ask(route.method, route.path(missing), route.body(missing), bearer=other.token)
        assert refused.status == 404, refused.body
        assert said(refused, foreign) == said(absent, missing)
        assert owner.words not in refused.body
    assert stack.rows() == before or not tried


@pytest.mark.parametrize("route", [route for route in MEMBERS if "{" not in route.name], ids=lambda route: route.name)
def test_a_list_contains_the_caller_s_records_only(stack: Stack, owner: Tenant, other: Tenant, route: Route) -> None:
    answer = stack.ask(route.method, route.path({}), route.body({}), bearer=other.token)
    assert answer.status in (200, 201)
    assert not [value for value in (owner.user, owner.words, *owner.ids.values()) if value in answer.body]


def give_role(stack: Stack, tenant: Tenant, role: str) -> None:
    """Gives the tenant's user this role, and makes everybody else in the project a viewer."""
    stack.sql.execute(
        "update project_member set role = (case when user_id = %s then %s else 'viewer' end)::member_role "
        "where project_id = %s",
        (tenant.user, role, tenant.ids["project_id"]),
    )


@pytest.mark.parametrize("role", ROLES)
def test_a_member_calls_the_routes_of_the_role_and_no_other(stack: Stack, role: str) -> None:
    tenant = moved_in(stack, "因数分解のやり方", is_searched=False)
    for route in MEMBERS:
        give_role(stack, tenant, role)
        before = stack.rows()
        answer = stack.ask(route.method, route.path(tenant.ids), route.body(tenant.ids), bearer=tenant.token)
        if ROLES.index(role) < ROLES.index(route.role):
            assert (answer.status, f"the role {route.role} " in answer.body) == (403, True), (route.name, answer.body)
            assert stack.rows() == before, route.name
            continue
        assert answer.status in (200, 201, 202, 204), (route.name, answer.body)
        # Everything but who asks, the count and the outbox goes through row level security.
        machine = [each for each in stack.gateway.passed if each.acting_user is None]
        called = {each.path.rpartition("/")[2] for each in machine}
        assert called <= {"has_second_factor", "take_quota", "outbox", "mark_events_sent"}
        own = [each for each in stack.gateway.passed if each not in machine]
        assert own
        assert {each.acting_user for each in own} == {tenant.user}


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/docs/oauth2-redirect"])
def test_no_page_of_the_api_can_load_anything_from_another_origin(stack: Stack, path: str) -> None:
    assert stack.ask("GET", path).status == 404


def test_every_other_route_takes_an_admin_key_only(stack: Stack, owner: Tenant, other: Tenant) -> None:
    routes = described(stack)
    members = {route.name for route in MEMBERS}
    assert members | OPEN | SEARCHES <= routes
    agent = stack.token(owner.user, client_id=str(uuid4()))
    for name in sorted(routes - members - OPEN - SEARCHES):
        method, _, path = name.partition(" ")
        for bearer in (None, owner.token, other.token, agent, owner.key, stack.knowledge_key, "sk_sakuin_guessed", ""):
            answer = stack.ask(
                method, path.format_map({**owner.ids, "name": "next", "key_hash": "0" * 64}), {}, bearer=bearer
            )
            assert answer.status == 401, (name, answer.body)
            assert ('error="invalid_token"' in answer.headers["www-authenticate"]) is (bearer is not None)
            assert answer.round_trips == 0


@pytest.mark.parametrize("route", MEMBERS, ids=lambda route: route.name)
def test_other_keys_open_no_route_of_members(stack: Stack, owner: Tenant, other: Tenant, route: Route) -> None:
    for bearer in (None, "", owner.key, other.key, stack.knowledge_key, "sk_sakuin_guessed", "a.b.c"):
        answer = stack.ask(route.method, route.path(owner.ids), route.body(owner.ids), bearer=bearer)
        assert (answer.status, answer.round_trips) == (401, 0), answer.body
        assert ('error="invalid_token"' in answer.headers["www-authenticate"]) is (bearer is not None)


def test_an_owner_is_removed_by_that_owner_or_an_operator_alone(stack: Stack, owner: Tenant, other: Tenant) -> None:
    shared = moved_in(stack, "平方根の計算", is_searched=False)
    members = f"/v1/projects/{shared.ids['project_id']}/members"
    invited = {"user_id": other.user}
    for role in ROLES:
        assert stack.ask("POST", members, {**invited, "role": role}, bearer=shared.token).status == 204
        # The invited member cannot remove the owner, whatever the role: once this was one DELETE.
        assert stack.ask("DELETE", f"{members}/{shared.user}", bearer=other.token).status == 403
        for lower in ("viewer", "editor"):
            body = {"user_id": shared.user, "role": lower}
            assert stack.ask("POST", members, body, bearer=other.token).status == 403
    assert stack.ask("DELETE", f"{members}/{other.user}", bearer=shared.token).status == 403
    # Without a role, nobody loses one.
    assert stack.ask("POST", members, invited, bearer=shared.token).status == 204
    assert stack.ask("DELETE", f"{members}/{other.user}", bearer=stack.admin_key).status == 204
    listed = stack.ask("GET", members, bearer=shared.token).json["members"]
    assert {each["user_id"]: each["role"] for each in listed} == {shared.user: "owner", shared.ids["user_id"]: "viewer"}


def test_the_last_owner_stays_until_there_is_another(stack: Stack) -> None:
    tenant = moved_in(stack, "連立方程式", is_searched=False)
    project, guest = f"/v1/projects/{tenant.ids['project_id']}", tenant.ids["user_id"]
    for bearer in (tenant.token, stack.admin_key):
        for answer in (
            stack.ask("DELETE", f"{project}/members/{tenant.user}", bearer=bearer),
            stack.ask("POST", f"{project}/members", {"user_id": tenant.user, "role": "editor"}, bearer=bearer),
        ):
            assert (answer.status, "the last owner" in answer.body) == (409, True), answer.body
    answer = stack.ask("DELETE", f"{project}/members/{uuid4()}", bearer=tenant.token)
    assert (answer.status, "no member" in answer.body) == (404, True)
    for user, role in ((guest, "owner"), (tenant.user, "editor")):
        body = {"user_id": user, "role": role}
        assert stack.ask("POST", f"{project}/members", body, bearer=tenant.token).status == 204
    assert stack.ask("DELETE", f"{project}/members/{tenant.user}", bearer=tenant.token).status == 204
    assert stack.ask("DELETE", project, bearer=stack.token(guest)).status == 204


def test_a_member_who_was_removed_is_a_stranger_at_once(stack: Stack, other: Tenant) -> None:
    left = moved_in(stack, "確率の基本", is_searched=False)
    project = f"/v1/projects/{left.ids['project_id']}"
    assert stack.ask("POST", f"{project}/members", {"user_id": other.user}, bearer=left.token).status == 204
    assert stack.ask("GET", f"{project}/tables", bearer=other.token).status == 200
    assert stack.ask("DELETE", f"{project}/members/{other.user}", bearer=left.token).status == 204
    assert stack.ask("GET", f"{project}/tables", bearer=other.token).status == 404
    assert stack.ask("GET", f"/v1/tables/{left.ids['table_id']}/data", bearer=other.token).status == 404
