"""An account with a second factor: a token of its password alone (`aal1`) opens nothing."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from tests.isolation.conftest import Tenant
from tests.isolation.stack import Stack
from tests.isolation.test_agents import searched

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
