"""The commands' desk over an in-memory world: its REST API and its tools are the real ones, time is made up."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
from fastapi import FastAPI
from sakuin.domain.evaluation.explanation import Explanation
from sakuin.domain.keys import hash_of_key
from sakuin.domain.project_records import UploadTarget
from sakuin.entrypoints.asgi import Application
from sakuin.entrypoints.http import rest_api
from sakuin.entrypoints.http_explain import ExplainApp
from sakuin.entrypoints.http_indexes import index_router
from sakuin.entrypoints.http_projects import project_routers
from sakuin.entrypoints.http_reconcile import reconcile_router
from sakuin.entrypoints.http_work import work_router
from sakuin.entrypoints.mcp_tools import KnowledgeTools
from sakuin.errors import Invalid, NotFound
from sakuin.services.explain import ExplainKnowledge
from sakuin.services.import_body import ImportBody
from sakuin.services.keep_indexes import KeepIndexes
from sakuin.services.look_at_work import LookAtWork
from sakuin_cli.ask_as_agent import AskAsAgent
from sakuin_cli.await_receipts import AwaitReceipts
from sakuin_cli.check_pages import CheckPages
from sakuin_cli.client import RestLibrary
from sakuin_cli.deployment_keys import KeepKeys
from sakuin_cli.desk import Desk
from sakuin_cli.evaluation.evaluate import Evaluate
from sakuin_cli.explain_from_afar import ExplainFromAfar
from sakuin_cli.indexes_from_afar import IndexesFromAfar
from sakuin_cli.local_files import Disk
from sakuin_cli.look_at_library import LookAtLibrary
from sakuin_cli.projects_from_afar import ProjectsFromAfar
from sakuin_cli.push_pages import PushPages
from sakuin_cli.reconcile_from_afar import ReconcileFromAfar
from sakuin_cli.redrive import Redrive
from sakuin_cli.remove_pages import RemovePages
from sakuin_cli.rest_explanations import RestExplanations
from sakuin_cli.rest_indexes import RestIndexes
from sakuin_cli.rest_key_use import RestKeyUse
from sakuin_cli.rest_projects import RestProjects
from sakuin_cli.rest_reconciliation import RestReconciliation
from sakuin_cli.rest_work import RestWork
from starlette.testclient import TestClient

from tests.in_memory.projects import services_of
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

    def __init__(self, application: Application | FastAPI) -> None:
        self._client = TestClient(application, raise_server_exceptions=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self._client.request(
            request.method, str(request.url), content=request.read(), headers=dict(request.headers)
        )
        return httpx.Response(answer.status_code, headers=dict(answer.headers), content=answer.content)


def library_of(world: World, key: str = ADMIN_KEY) -> RestLibrary:
    """The world's REST API through the real client."""
    return RestLibrary(_client(world, key))


def projects_of(world: World) -> RestProjects:
    """The world's projects through the real client; an upload is imported at once."""
    return _Uploading(_client(world, ADMIN_KEY), world)


@dataclass(frozen=True, slots=True)
class _Uploading(RestProjects):
    world: World

    def upload(self, target: UploadTarget, body: bytes) -> None:
        key = target.url.removeprefix("https://bucket/").partition("?")[0]
        self.world.bodies.write(key, body)
        _, _, table_id, file = key.split("/")
        ImportBody(self.world.projects, self.world.bodies)(table_id, int(file.removesuffix(".json")), key)


def explanations_of(world: World, key: str = ADMIN_KEY) -> RestExplanations:
    """The world's explanations through the real client; it has no Search Tools."""
    return RestExplanations(_client(world, key))


def ring(*, newer: bool = False) -> tuple[list[str], tuple[str, ...]]:
    return [hash_of_key(ADMIN_KEY, PEPPER)], (PEPPER,)


def _client(world: World, key: str) -> httpx.Client:
    work = LookAtWork(world.work)
    api = rest_api(
        world.library,
        ring,
        "test",
        *project_routers(services_of(world.projects, world.bodies, world.bus), ring),
        admin_routers=(
            work_router(work),
            reconcile_router(lambda: world.reconcile),
            index_router(KeepIndexes(world.indexes, world.settings.__eq__)),
        ),
        days=lambda: world.key_days,
        work_of=work.of_materials,
    )

    def explained(query: str, *, index: str | None = None, **how: Any) -> Explanation:
        return ExplainKnowledge(world.search_of(index))(query, **how)

    application = ExplainApp(explained, _no_tool, ring, otherwise=api)
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.Client(transport=OverApplication(application), base_url="http://sakuin", headers=headers)


def _no_tool(_mcp_id: str, tool: str, _query: str, **_how: Any) -> Explanation:
    raise NotFound(f"The endpoint has no tool {tool!r}. It has no tools")


def desk_of(world: World, time: Time, *, library: Any = None) -> Desk:
    """All use cases over the world."""
    library = library or library_of(world)
    receipts = AwaitReceipts(library, time.clock, time.sleep)
    return Desk(
        ask=lambda: AskAsAgent(MemoryEndpoint(KnowledgeTools(world.search, world.read))),
        push=lambda: PushPages(Disk(), world.bucket, receipts, world.prefix),
        remove=lambda: RemovePages(world.bucket, receipts),
        check=lambda: CheckPages(Disk(), library, world.prefix, world.box_selectors),
        look=lambda: LookAtLibrary(library, RestWork(_client(world, ADMIN_KEY))),
        redrive=lambda: Redrive(world.dead_letters, RestWork(_client(world, ADMIN_KEY))),
        reconcile=lambda: ReconcileFromAfar(RestReconciliation(_client(world, ADMIN_KEY))),
        ask_tools=lambda: AskAsAgent(MemoryEndpoint(KnowledgeTools(world.search, world.read))),
        projects=lambda: ProjectsFromAfar(projects_of(world), Disk(), time.clock, time.sleep, ""),
        explain=lambda: ExplainFromAfar(explanations_of(world)),
        evaluate=lambda: Evaluate(explanations_of(world), time.sleep),
        keys=lambda: KeepKeys(world.secret, RestKeyUse(_client(world, ADMIN_KEY))),
        indexes=lambda: IndexesFromAfar(RestIndexes(_client(world, ADMIN_KEY))),
    )
