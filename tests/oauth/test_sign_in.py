"""Published OAuth clients sign in from nothing but the address of an endpoint."""

from collections.abc import Iterator
from pathlib import Path

import anyio.to_thread
import pytest
from mcp.client.auth import OAuthFlowError
from sakuin_local.addresses import free_port
from sakuin_local.supabase.database import Database

from tests.oauth.deployment import PASSWORD, Deployment, deployment
from tests.oauth.mcp_remote import HELLO, SECONDS, expire, remote, search
from tests.oauth.sdk_agent import Agent, found


@pytest.fixture(scope="module")
def deployed(database: Database, stand_in: str) -> Iterator[Deployment]:
    with deployment(database, stand_in) as made:
        yield made


@pytest.fixture
def place(deployed: Deployment) -> Deployment:
    """The deployment behind API Gateway."""
    deployed.renames_header = True
    return deployed


@pytest.mark.anyio
@pytest.mark.parametrize("renames_header", [True, False], ids=["behind API Gateway", "behind CloudFront"])
async def test_the_sdk_signs_in_searches_refreshes_and_stops_when_it_is_revoked(
    place: Deployment, caplog: pytest.LogCaptureFixture, renames_header: bool
) -> None:
    place.renames_header = renames_header
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
    tokens = [str(token) for kept in (first, second) for token in (kept.access_token, kept.refresh_token)]

    await anyio.to_thread.run_sync(agent.person.revoke_agents)
    async with agent.connected() as client:
        assert await found(client, tool, words), "others accept an access token until it expires"
    agent.allows = False
    with pytest.RaisesGroup(OAuthFlowError, flatten_subgroups=True):
        async with agent.connected(expired=True):
            pass
    assert len(agent.shown) == 2, "the person is asked again"

    lines = place.stack.log.getvalue() + caplog.text
    assert "request answered" in lines
    secrets = [PASSWORD, *agent.person.http.cookies.values(), *tokens, agent.codes[0]]
    assert len(secrets) >= 7
    assert not [secret for secret in secrets if secret in lines]


def test_mcp_remote_signs_in_searches_refreshes_and_stops_when_it_is_revoked(place: Deployment, tmp_path: Path) -> None:
    person, port = place.person(), free_port()

    with remote(place, tmp_path, port, person) as first:
        assert place.tenant.words in search(first, place)
    assert first.shown.qsize() == 1
    expire(place, tmp_path)
    with remote(place, tmp_path, port) as second:
        assert place.tenant.words in search(second, place)
    assert second.shown.empty(), "the person was not asked again"

    person.revoke_agents()
    expire(place, tmp_path)
    with remote(place, tmp_path, port) as third:
        third.send("initialize", **HELLO)
        assert person.is_asked(third.shown.get(timeout=SECONDS))
