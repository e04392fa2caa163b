"""ASGI applications behind API Gateway."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sakuin.mcp.app import McpApp
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.server import knowledge_server
from sakuin.platform.asgi import persistent_handler
from sakuin.platform.aws import Handler
from sakuin.wiring.handlers import http_handler

from tests.events import Context, a_telemetry, event, ring


@pytest.fixture
def mcp(tools: KnowledgeTools) -> Handler:
    app = McpApp(knowledge_server(tools, "1.2.3"), ring)
    return http_handler(persistent_handler(app, app.sessions.run), a_telemetry())


def test_ten_searches_in_one_worker_give_the_same_answer(mcp: Handler) -> None:
    answers = [mcp(event("mcp.search"), Context()) for _ in range(10)]
    assert answers[0]["statusCode"] == 200
    result = json.loads(answers[0]["body"])["result"]
    assert result["structuredContent"]["results"][0]["title"] == "解の公式"
    assert all(answer == answers[0] for answer in answers)


def test_invocations_leave_nothing_running(mcp: Handler) -> None:
    loop = asyncio.get_event_loop_policy().get_event_loop()
    mcp(event("mcp.search"), Context())
    before = len(asyncio.all_tasks(loop))
    for _ in range(10):
        mcp(event("mcp.search"), Context())
    assert len(asyncio.all_tasks(loop)) == before


def test_an_unexpected_failure_is_500_without_internals(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_event: dict[str, Any], _context: Any) -> dict[str, Any]:
        raise RuntimeError("postgres://user:password@host")

    answer = http_handler(broken, a_telemetry())(event("api.healthz"), Context())
    assert answer["statusCode"] == 500
    assert "password" not in answer["body"]
    assert [record.msg for record in caplog.records] == ["request failed", "request answered"]


def test_a_worker_whose_held_task_ended_fails() -> None:
    @asynccontextmanager
    async def short() -> AsyncIterator[None]:
        yield

    async def app(_scope: Any, _receive: Any, _send: Any) -> None:
        """Never reached."""

    handler = persistent_handler(app, short)
    loop = asyncio.get_event_loop_policy().get_event_loop()
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0))
    with pytest.raises(RuntimeError, match="context of the application has ended"):
        handler(event("mcp.search"), Context())
