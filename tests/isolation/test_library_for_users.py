"""A deployment whose library is for every user: its metadata, and the minutes of users and projects."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from sakuin_local.supabase.database import Database

from tests.isolation.conftest import Tenant, moved_in
from tests.isolation.stack import Stack, stack_of

PER_MINUTE = 8
ADDRESS = "https://front.example"
METADATA = "/.well-known/oauth-protected-resource/mcp"


@pytest.fixture(scope="module")
def stack(database: Database, stand_in: str) -> Iterator[Stack]:
    """Replaces the fixture of all tests here: for users, behind an address of its own."""
    limits = json.dumps({"queries_per_minute": PER_MINUTE, "embedding_daily_tokens": 10**6})
    with stack_of(database, stand_in, LIBRARY_FOR_USERS="true", API_URL=ADDRESS, LIMITS=limits) as made:
        yield made


@pytest.fixture(scope="module")
def tenant(stack: Stack) -> Tenant:
    made = moved_in(stack, "円周角の定理")
    for principal in (made.user, *made.ids.values()):
        # A minute that does not end before the tests.
        stack.sql.execute("insert into quota_use values (%s, 'searches', now() + interval '1 hour', 0)", (principal,))
    return made


def answered(stack: Stack, mcp_id: str | None, bearer: str, tool: str, **arguments: Any) -> int:
    """How many of twice a minute's calls are answered."""
    statuses = [
        stack.rpc(mcp_id, "tools/call", bearer, name=tool, arguments=arguments).status for _ in range(2 * PER_MINUTE)
    ]
    assert set(statuses) <= {200, 429}
    return statuses.count(200)


def test_each_user_has_one_minute_at_the_library_and_a_project_one_for_all(stack: Stack, tenant: Tenant) -> None:
    agent, another = stack.token(tenant.user, client_id=str(uuid4())), stack.token(tenant.ids["user_id"])
    users = (agent, tenant.token, another)
    at_library = [answered(stack, None, token, "list_materials") for token in users]
    mcp_id, tool = tenant.ids["mcp_id"], tenant.tool
    at_endpoint = [answered(stack, mcp_id, bearer, tool, query=tenant.words) for bearer in (*users, tenant.key)]
    assert (at_library, at_endpoint) == ([PER_MINUTE, 0, PER_MINUTE], [PER_MINUTE, 0, 0, 0])


def test_its_metadata_and_its_401_have_the_address_of_the_deployment(stack: Stack) -> None:
    assert stack.ask("GET", METADATA).json["resource"] == f"{ADDRESS}/mcp"
    refused = stack.rpc(None, "tools/list", None)
    assert f'resource_metadata="{ADDRESS}{METADATA}", scope="email"' in refused.headers["www-authenticate"]
