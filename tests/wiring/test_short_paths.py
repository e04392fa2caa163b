"""The number of own functions between a message or question and Postgres."""

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import anyio.to_thread
import boto3
import pytest
import sakuin
from mcp.server.runner import serve_one
from sakuin.knowledge.search import SearchKnowledge
from sakuin.platform.aws import Handler
from sakuin.platform.keys import hash_of_key, new_key
from sakuin.platform.secrets import search_secret
from sakuin.platform.supabase.client import answer
from sakuin.tables.search import SearchTable
from sakuin.wiring import index_material, mcp
from sakuin.wiring.clients import Clients
from sakuin_local.supabase.database import Database

from tests.builders import a_page
from tests.events import Context, queue_event, s3_message
from tests.isolation.stack import Stack, stack_of

_TO_THE_SDK = serve_one.__code__
_TO_A_THREAD = anyio.to_thread.run_sync.__code__
OURS = str(Path(sakuin.__file__).parent)
MOST_FRAMES = 8
QUESTION = {"query": "説明"}


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


def test_an_uploaded_page_reaches_postgres_in_eight_steps(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    page = a_page({"rule-a": "規則: 説明の文。"})
    boto3.client("s3", "us-east-1").put_object(Bucket="materials", Key="short.html", Body=page)
    uploaded = queue_event(s3_message("short.html", version=None))
    body = uploaded["Records"][0]["body"]
    parsed: list[str] = []
    loads: Callable[..., Any] = json.loads

    def counted(text: str, **how: Any) -> Any:
        if text == body:
            parsed.append(text)
        return loads(text, **how)

    handler = index_material.handler(Clients.of(os.environ, "Index"))
    monkeypatch.setattr(json, "loads", counted)
    found: dict[str, list[str]] = {}
    with calls_watched(answer, lambda frame: str(frame.f_locals["request"].path), found):
        assert handler(uploaded, Context()) == {"batchItemFailures": []}
    assert 1 < len(found["/rest/v1/rpc/apply_material"]) <= MOST_FRAMES, found
    assert len(parsed) == 1


def steps_to(stack: Stack, search: Callable[..., Any], ask: Callable[[Handler], object]) -> list[str]:
    """Returns the own functions from the deployed handler `mcp` to a search, the outermost first.

    The event loop and the thread of a call each begin a stack of their own.
    """
    handler = mcp.handler(Clients.of(os.environ | {"SECRET_NAME": search_secret(stack.secret)}, "Search"))
    calls: dict[str, list[str]] = {}

    def watch(frame: FrameType, kind: str, _argument: object) -> None:
        code = frame.f_code
        if kind == "call" and code in (search.__code__, _TO_THE_SDK, _TO_A_THREAD):
            # Keys are looked up in threads, too.
            if code is _TO_A_THREAD and getattr(frame.f_locals["func"], "__name__", "") != "call":
                return
            name = code.co_qualname
            calls[name] = max(calls.get(name, []), own_frames(frame), key=len)

    # A worker of a new loop begins with the call.
    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        ask(handler)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]  # Typeshed lacks the None that the documents name.
    stacks = [calls[code.co_qualname] for code in (_TO_THE_SDK, _TO_A_THREAD, search.__code__)]
    return list(dict.fromkeys(step for each in stacks for step in each))


def test_a_question_about_pages_reaches_its_search_in_eight_steps(stack: Stack) -> None:
    steps = steps_to(
        stack,
        SearchKnowledge.__call__,
        lambda handler: replace(stack, mcp=handler).rpc(
            None, "tools/call", stack.knowledge_key, name="search_knowledge", arguments=QUESTION
        ),
    )
    assert steps[0] == "http_handler.<locals>.handle"
    assert len(steps) <= MOST_FRAMES, steps


def test_a_question_about_a_table_reaches_its_search_in_eight_steps(stack: Stack) -> None:
    world, key = stack.workers.beside(), new_key()
    tool = world.tool(world.table(["説明"]), "")
    made = world.call("create_mcp", project=world.project, name="e", key_hash=hash_of_key(key), tools=[tool])
    steps = steps_to(
        stack,
        SearchTable.__call__,
        lambda handler: replace(stack, mcp=handler).rpc(
            made["id"], "tools/call", key, name="search", arguments=QUESTION
        ),
    )
    assert steps[0] == "http_handler.<locals>.handle"
    assert len(steps) <= MOST_FRAMES, steps
