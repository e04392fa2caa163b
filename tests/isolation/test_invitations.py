"""Members by e-mail address: who becomes one, and that nobody can find out which addresses have an account."""

from typing import Any
from uuid import uuid4

import pytest

from tests.isolation.conftest import Tenant, moved_in
from tests.isolation.stack import Stack

CONFIRMED = "insert into auth.users (id, email, email_confirmed_at, is_sso_user) values (%s, %s, now(), false)"
OTHERS = {
    "whose address is not confirmed": CONFIRMED.replace("now()", "null"),
    "whom an identity provider names": CONFIRMED.replace("false", "true"),
    "with another address": CONFIRMED.replace("(%s, %s", "(%s, 'other.' || %s"),
    "who was invited a month ago": f"{CONFIRMED}; update project_member set created_at = now() - interval '31 days'"
    " where is_invited",
}


@pytest.fixture(scope="module")
def shared(stack: Stack) -> Tenant:
    return moved_in(stack, "平方根の計算", is_searched=False)


def invite(stack: Stack, tenant: Tenant, email: str, bearer: str = "", **more: str) -> Any:
    path = f"/v1/projects/{tenant.ids['project_id']}/members"
    return stack.ask("POST", path, {"email": email, **more}, bearer=bearer or tenant.token)


def projects(stack: Stack, user: str) -> dict[str, str]:
    """The projects of a user, with the role in each."""
    listed = stack.ask("GET", "/v1/projects", bearer=stack.token(user)).json["projects"]
    return {each["id"]: each["role"] for each in listed}


def members(stack: Stack, tenant: Tenant, bearer: str = "") -> dict[str, dict[str, Any]]:
    path = f"/v1/projects/{tenant.ids['project_id']}/members"
    return {each["user_id"]: each for each in stack.ask("GET", path, bearer=bearer or tenant.token).json["members"]}


def test_who_has_confirmed_the_address_is_a_member_after_the_next_list(stack: Stack, shared: Tenant) -> None:
    user, email = str(uuid4()), f"{uuid4()}@school.example"
    stack.sql.execute(CONFIRMED, (user, email))
    for role in ("viewer", "editor"):
        assert invite(stack, shared, email.upper(), role=role).status == 204
    invited = [each["role"] for each in members(stack, shared).values() if each["email"] == email]
    assert invited == ["editor"]
    assert user not in members(stack, shared)
    assert projects(stack, user) == {shared.ids["project_id"]: "editor"}
    joined = members(stack, shared)[user]
    assert (joined["email"], joined["is_invited"], joined["role"]) == (email, False, "editor")
    # Addresses are for owners.
    assert {each["email"] for each in members(stack, shared, stack.token(user)).values()} == {None}
    assert projects(stack, shared.user) == {shared.ids["project_id"]: "owner"}


def test_a_member_who_is_invited_keeps_the_role(stack: Stack, shared: Tenant) -> None:
    email = f"{uuid4()}@school.example"
    stack.sql.execute(CONFIRMED, (shared.user, email))
    assert invite(stack, shared, email).status == 204
    assert projects(stack, shared.user) == {shared.ids["project_id"]: "owner"}
    assert [each["email"] for each in members(stack, shared).values()].count(email) == 1


def test_an_invitation_tells_nobody_who_has_an_account(stack: Stack, shared: Tenant) -> None:
    user, known, unknown = str(uuid4()), f"{uuid4()}@school.example", f"{uuid4()}@school.example"
    stack.sql.execute(CONFIRMED, (user, known))
    answers = [invite(stack, shared, email) for email in (known, unknown)]
    assert len({(each.status, each.body, each.round_trips) for each in answers}) == 1
    rows = [each for each in members(stack, shared).values() if each["email"] in (known, unknown)]
    assert [each["is_invited"] for each in rows] == [True, True]
    assert user not in {each["user_id"] for each in rows}


@pytest.mark.parametrize("statement", OTHERS.values(), ids=OTHERS)
def test_nobody_else_is_a_member(stack: Stack, shared: Tenant, statement: str) -> None:
    user, email = str(uuid4()), f"{uuid4()}@school.example"
    assert invite(stack, shared, email).status == 204
    for each in statement.split(";"):
        stack.sql.execute(each.encode(), (user, email) if "%s" in each else ())
    assert projects(stack, user) == {}
    assert user not in members(stack, shared)


def test_only_owners_invite_and_no_owner_is_invited(stack: Stack, shared: Tenant, other: Tenant) -> None:
    before, email = stack.rows(), f"{uuid4()}@school.example"
    assert invite(stack, shared, email, bearer=other.token).status == 404
    assert invite(stack, shared, email, bearer=stack.token(shared.ids["user_id"])).status == 403
    assert invite(stack, shared, email, role="owner").status == 422
    both = invite(stack, shared, email, user_id=str(uuid4()))
    assert (both.status, "send one of them" in both.body) == (422, True), both.body
    assert stack.rows() == before
