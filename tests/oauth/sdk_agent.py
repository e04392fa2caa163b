"""An agent with the OAuth client of the MCP Python SDK."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio.to_thread
import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from tests.oauth.person import Person

BACK = "http://127.0.0.1:33418/callback"
# The functions of a stack answer slowly while they start.
SECONDS = 300


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
        self.codes: list[str] = []
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
        self.codes.append(found.get("code", ""))
        return AuthorizationCodeResult(code=found.get("code", ""), state=found.get("state"))

    @asynccontextmanager
    async def connected(self, *, expired: bool = False) -> AsyncIterator[Client]:
        """Connects with what the agent has; `expired`: it knows that its access token is too old."""
        if expired:
            self._provider.context.token_expiry_time = time.time() - 1
        async with (
            httpx2.AsyncClient(auth=self._provider, timeout=SECONDS) as http,
            Client(streamable_http_client(self._endpoint, http_client=http)) as client,
        ):
            yield client


async def found(client: Client, tool: str, query: str) -> list[Any]:
    """Returns the results of a search."""
    answer = await client.call_tool(tool, {"query": query})
    assert not answer.is_error, answer.content
    assert answer.structured_content is not None
    results: list[Any] = answer.structured_content["results"]
    return results
