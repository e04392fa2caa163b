"""The number of own functions between a message or question and Postgres."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import anyio.to_thread
import boto3
import httpx
import pytest
import sakuin
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from sakuin.errors import Unavailable
from sakuin.mcp.app import McpApp
from sakuin.mcp.knowledge_tools import KnowledgeTools
from sakuin.mcp.server import knowledge_server
from sakuin.platform.asgi import persistent_handler
from sakuin.wiring import index_material
from sakuin.wiring.clients import Clients
from sakuin.wiring.handlers import http_handler
from sakuin_local.supabase.database import Database

from tests.builders import a_page
from tests.events import Context, a_telemetry, event, ring
from tests.isolation.stack import Stack, stack_of

OURS = str(Path(sakuin.__file__).parent)
MOST_FRAMES = 8


@pytest.fixture(scope="module")
def stack(database: Database, stand_in: str) -> Iterator[Stack]:
    with stack_of(database, stand_in) as open_stack:
        yield open_stack


def own_frames(frame: FrameType | None) -> list[str]:
    """Returns the product's functions on the stack, the outermost first."""
    names: list[str] = []
    while frame is not None:
        # A comprehension is no step of its own.
        if frame.f_code.co_filename.startswith(OURS) and not frame.f_code.co_name.startswith("<"):
            names.append(frame.f_code.co_qualname)
        frame = frame.f_back
    return names[::-1]


@contextmanager
def calls_watched(
    function: Callable[..., Any], name: Callable[[FrameType], str], found: dict[str, list[str]]
) -> Iterator[None]:
    """Collects the longest stack of own functions at each call of a function, by the name of the call."""
    code = function.__code__

    def watch(frame: FrameType, kind: str, _argument: object) -> None:
        if kind == "call" and frame.f_code is code:
            found[name(frame)] = max(found.get(name(frame), []), own_frames(frame), key=len)

    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(None)


def test_an_uploaded_page_reaches_postgres_in_eight_steps_and_its_message_is_parsed_once(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = a_page({"rule-a": "規則: 説明の文。"})
    boto3.client("s3", "us-east-1").put_object(Bucket="materials", Key="short.html", Body=page)
    record = event("index_material.put")["Records"][0]
    message = json.loads(record["body"])
    message["Records"][0]["s3"]["bucket"]["name"] = "materials"
    message["Records"][0]["s3"]["object"] = {"key": "short.html", "sequencer": "01"}
    body = json.dumps(message)
    parsed: list[str] = []
    loads: Callable[..., Any] = json.loads

    def counted(text: str, **how: Any) -> Any:
        if text == body:
            parsed.append(text)
        return loads(text, **how)

    handler = index_material.handler(Clients.of(os.environ, "Index"))
    monkeypatch.setattr(json, "loads", counted)
    found: dict[str, list[str]] = {}
    with calls_watched(httpx.Client.send, lambda frame: str(frame.f_locals["request"].url.path), found):
        assert handler({"Records": [record | {"body": body}]}, Context()) == {"batchItemFailures": []}
    assert 1 < len(found["/rest/v1/rpc/apply_material"]) <= MOST_FRAMES, found
    assert len(parsed) == 1


@dataclass
class Asked:
    """A search that records its stack."""

    way: list[str] = field(default_factory=list)

    def knowledge_search(self, version: str | None = None) -> Any:
        return self

    def __call__(self, query: str, **_asked: Any) -> Any:
        self.way = own_frames(sys._getframe())
        raise Unavailable("The search is not needed here", vendor="supabase")


def test_a_question_reaches_its_service_in_eight_steps() -> None:
    asked: Any = Asked()
    nothing: Any = None
    app = McpApp(knowledge_server(KnowledgeTools(asked, nothing), "1"), ring)
    handler = http_handler(persistent_handler(app, app.run), a_telemetry())
    found: dict[str, list[str]] = {}
    with calls_watched(StreamableHTTPSessionManager.handle_request, lambda _: "to the SDK", found):
        handler(event("mcp.search"), Context())
    with calls_watched(anyio.to_thread.run_sync, lambda frame: frame.f_locals["func"].__name__, found):
        handler(event("mcp.search"), Context())
    # The event loop and the thread each begin a stack of their own; the service itself is the last step.
    to_the_sdk, from_the_sdk = found["to the SDK"], found["call"]
    steps = [*to_the_sdk, *(step for step in from_the_sdk if step not in to_the_sdk), *asked.way]
    assert asked.way
    assert len(steps) + 1 <= MOST_FRAMES, steps
