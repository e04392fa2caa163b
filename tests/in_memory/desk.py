"""The commands' desk over an in-memory world: its REST API and its tools are the real ones, time is made up."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
from fastapi import FastAPI
from sakuin.adapters.local_files import Disk
from sakuin.adapters.rest_client import RestLibrary
from sakuin.domain.keys import hash_of_key
from sakuin.entrypoints.cli.desk import Desk
from sakuin.entrypoints.http import rest_api
from sakuin.entrypoints.mcp_tools import KnowledgeTools
from sakuin.errors import Invalid
from sakuin.services.ask_as_agent import AskAsAgent
from sakuin.services.await_receipts import AwaitReceipts
from sakuin.services.check_pages import CheckPages
from sakuin.services.look_at_library import LookAtLibrary
from sakuin.services.push_pages import PushPages
from sakuin.services.remove_pages import RemovePages
from starlette.testclient import TestClient

from tests.in_memory.world import World

ADMIN_KEY = "sk_sakuin_admin"
PEPPER = "pepper"


@dataclass
class Time:
    """A clock that only `sleep` moves; each sleep lets the world follow what was uploaded, unless it is `stuck`."""

    world: World
    stuck: bool = False
    now: float = 0.0
    naps: list[float] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.naps.append(seconds)
        if not self.stuck:
            self.world.settle()


@dataclass(frozen=True, slots=True)
class MemoryEndpoint:
    """An `AgentEndpoint` without a wire."""

    tools: KnowledgeTools

    def call(self, tool: str, arguments: Mapping[str, object]) -> Mapping[str, object]:
        result = self.tools.call(tool, dict(arguments))
        if result is None:
            raise Invalid(f"Unknown tool: {tool}")
        if result.is_error:
            raise Invalid("".join(getattr(item, "text", "") for item in result.content))
        answer: dict[str, object] = result.structured_content or {}
        return answer


class OverApplication(httpx.BaseTransport):
    """httpx straight into an ASGI application."""

    def __init__(self, application: FastAPI) -> None:
        self._client = TestClient(application, raise_server_exceptions=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self._client.request(
            request.method, str(request.url), content=request.read(), headers=dict(request.headers)
        )
        return httpx.Response(answer.status_code, headers=dict(answer.headers), content=answer.content)


def library_of(world: World, key: str = ADMIN_KEY) -> RestLibrary:
    """The world's REST API through the real client."""
    api = rest_api(world.library, lambda: ([hash_of_key(ADMIN_KEY, PEPPER)], PEPPER), "test")
    headers = {"Authorization": f"Bearer {key}"}
    return RestLibrary(httpx.Client(transport=OverApplication(api), base_url="http://sakuin", headers=headers))


def desk_of(world: World, time: Time, *, library: Any = None) -> Desk:
    """All use cases over the world."""
    library = library or library_of(world)
    receipts = AwaitReceipts(library, time.clock, time.sleep)
    return Desk(
        ask=lambda: AskAsAgent(MemoryEndpoint(KnowledgeTools(world.search, world.read))),
        push=lambda: PushPages(Disk(), world.bucket, receipts, world.prefix),
        remove=lambda: RemovePages(world.bucket, receipts),
        check=lambda: CheckPages(Disk(), library, world.prefix, world.box_selectors),
        look=lambda: LookAtLibrary(library),
    )
