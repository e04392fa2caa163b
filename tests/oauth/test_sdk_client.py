"""The OAuth client of the MCP Python SDK signs in from nothing but the address of an endpoint."""

from collections.abc import Iterator

import anyio.to_thread
import pytest
from mcp.client.auth import OAuthFlowError
from sakuin_local.supabase.database import Database

from tests.oauth.deployment import Deployment, deployment
from tests.oauth.sdk_agent import Agent, found

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=[True, False], ids=["behind API Gateway", "behind CloudFront"])
def place(request: pytest.FixtureRequest, database: Database, stand_in: str) -> Iterator[Deployment]:
    with deployment(database, stand_in, renames_header=request.param) as made:
        yield made
    # With `pytest -s` a person can read who said what.
    print(f"\n{made.trace.text()}")


async def test_the_sdk_signs_in_searches_refreshes_and_stops_when_it_is_revoked(place: Deployment) -> None:
    agent, tool, words = Agent(place.endpoint, place.person()), place.tenant.tool, place.tenant.words

    async with agent.connected() as client:
        assert tool in [each.name for each in (await client.list_tools()).tools]
        assert words in str(await found(client, tool, words))
    first = agent.kept.tokens

    async with agent.connected(expired=True) as client:
        assert await found(client, tool, words)
    second = agent.kept.tokens
    assert first is not None
    assert second is not None
    assert {first.access_token, first.refresh_token}.isdisjoint({second.access_token, second.refresh_token})
    assert len(agent.shown) == 1, "the person was not asked again"

    await anyio.to_thread.run_sync(agent.person.revoke_agents)
    async with agent.connected() as client:
        assert await found(client, tool, words), "others accept an access token until it expires"
    agent.allows = False
    with pytest.RaisesGroup(OAuthFlowError, flatten_subgroups=True):
        async with agent.connected(expired=True):
            pass
    assert len(agent.shown) == 2, "the person is asked again"
