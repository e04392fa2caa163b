"""The OAuth client of the MCP Python SDK signs in from nothing but the address of an endpoint."""

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio.to_thread
import httpx2
import pytest
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, OAuthFlowError
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl
from sakuin_local.supabase.database import Database

from tests.oauth.deployment import Deployment, deployment
from tests.oauth.person import Person

pytestmark = pytest.mark.anyio
BACK = "http://127.0.0.1:33418/callback"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=[True, False], ids=["behind API Gateway", "behind CloudFront"])
def place(request: pytest.FixtureRequest, database: Database, stand_in: str) -> Iterator[Deployment]:
    with deployment(database, stand_in, renames_header=request.param) as made:
        yield made
    # With `pytest -s` a person can read who said what.
    print(f"\n{made.trace.text()}")


@dataclass
class Kept:
    """What an agent keeps: its registration and its tokens."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Agent:
    """An agent with the SDK's client, in one process: the client forgets the server's metadata with it.

    `person` decides on the page that the agent shows; `allows` is the decision.
    """

    def __init__(self, endpoint: str, person: Person) -> None:
        self.person = person
        self.kept = Kept()
        self.shown: list[str] = []
        self.allows = True
        self._endpoint = endpoint
        about = OAuthClientMetadata(client_name="SDK", redirect_uris=[AnyUrl(BACK)])
        self._provider = OAuthClientProvider(endpoint, about, self.kept, self._show, self._wait)

    async def _show(self, url: str) -> None:
        self.shown.append(url)

    async def _wait(self) -> AuthorizationCodeResult:
        url = await anyio.to_thread.run_sync(lambda: self.person.answer(self.shown[-1], allow=self.allows))
        assert url.startswith(BACK)
        found = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        return AuthorizationCodeResult(code=found.get("code", ""), state=found.get("state"))

    @asynccontextmanager
    async def connected(self, *, expired: bool = False) -> AsyncIterator[Client]:
        """Connects with what the agent has; `expired`: it knows that its access token is too old."""
        if expired:
            self._provider.context.token_expiry_time = time.time() - 1
        async with (
            httpx2.AsyncClient(auth=self._provider, timeout=60) as http,
            Client(streamable_http_client(self._endpoint, http_client=http)) as client,
        ):
            yield client


async def found(client: Client, place: Deployment) -> list[Any]:
    answer = await client.call_tool(place.tenant.tool, {"query": place.tenant.words})
    assert not answer.is_error, answer.content
    assert answer.structured_content is not None
    results: list[Any] = answer.structured_content["results"]
    return results


async def test_the_sdk_signs_in_searches_refreshes_and_stops_when_it_is_revoked(place: Deployment) -> None:
    agent = Agent(place.endpoint, place.person())

    async with agent.connected() as client:
        assert place.tenant.tool in [tool.name for tool in (await client.list_tools()).tools]
        assert place.tenant.words in str(await found(client, place))
    first = agent.kept.tokens

    async with agent.connected(expired=True) as client:
        assert await found(client, place)
    second = agent.kept.tokens
    assert first is not None
    assert second is not None
    assert {first.access_token, first.refresh_token}.isdisjoint({second.access_token, second.refresh_token})
    assert len(agent.shown) == 1, "the person was not asked again"

    await anyio.to_thread.run_sync(agent.person.revoke_agents)
    async with agent.connected() as client:
        assert await found(client, place), "others accept an access token until it expires"
    agent.allows = False
    with pytest.RaisesGroup(OAuthFlowError, flatten_subgroups=True):
        async with agent.connected(expired=True):
            pass
    assert len(agent.shown) == 2, "the person is asked again"
