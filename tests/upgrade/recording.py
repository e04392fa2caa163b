"""Records what the tests ask the database and send to queues, for the tests of later versions. A plugin of pytest.

Each test is a session. Some tests change the database or its clock by themselves: a session is kept only if it can be
repeated by its requests alone. The fewest that have every request of the product are written to
`recorded/<version>.json.gz`.
"""

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from sakuin import __version__
from sakuin.platform.sqs import SqsQueue
from sakuin_local.places import REPOSITORY, SCHEMA
from sakuin_local.supabase.database import running_database

from tests.upgrade.replay import RECORDED, Call, Replay, Session, read_answer

_FOLDER = "SAKUIN_RECORDING"
_PARTS = (
    *("knowledge", "tables", "contracts/postgres", "http", "upkeep", "console", "mcp", "wiring", "platform", "oauth"),
    "cli/test_cli_doctor.py",
)
_MOST_BYTES = 400_000
_HEADERS = ("prefer", "accept", "x-acting-user")
_REST = "/rest/v1/"
_AFTER_AN_ID = re.compile(r"gt\.[0-9a-f]{8}-")
_CALLS: list[Call] = []
_MESSAGES: list[dict[str, Any]] = []


def record() -> None:
    """Runs tests of the product and writes the recording of this version."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tests = [str(REPOSITORY / "tests" / part) for part in _PARTS]
        # Counts the calls of a method that the plugin replaces.
        left_out = f"--ignore={REPOSITORY / 'tests' / 'wiring' / 'test_limits_of_work.py'}"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.upgrade.recording", left_out, *tests]
        subprocess.run(command, env={**os.environ, _FOLDER: name}, check=False)
        found = [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
        sessions: list[Session] = [[Call(**call) for call in each["calls"]] for each in found]
        with running_database(folder / "database") as database, psycopg.connect(database.dsn, autocommit=True) as sql:
            replay = Replay(database.rest_url, database.service_key, sql)
            kept = list(_cover(sessions, replay))
    lacking = _named_functions() - {call.path.removeprefix("rpc/") for session in kept for call in session}
    print(len(kept), "sessions; none calls", ", ".join(sorted(lacking)) or "less than the product")
    # Tests of the queue itself send other messages.
    sent = [body for one in found for body in one["messages"] if [type(value) for value in body.values()] == [dict]]
    messages = {_names(body): body for body in sent}
    _write(kept, [messages[names] for names in sorted(messages)])


def _write(sessions: Sequence[Session], messages: Sequence[Mapping[str, Any]]) -> None:
    written = {"sessions": [[asdict(call) for call in session] for session in sessions], "messages": messages}
    RECORDED.mkdir(exist_ok=True)
    (RECORDED / f"{__version__}.json.gz").write_bytes(gzip.compress(json.dumps(written).encode(), mtime=0))


def _cover(sessions: Sequence[Session], replay: Replay) -> Iterator[Session]:
    """Yields the sessions that add most to those before, for their length, with the answers of another run.

    A session is left out if it fails there, if a third run differs, or if it asks for what comes after an id, since
    random ids have another order each time.
    """
    sizes = [len(json.dumps([asdict(call) for call in session])) for session in sessions]
    forms = {
        number: {call.form for call in session}
        for number, session in enumerate(sessions)
        if session and sizes[number] < _MOST_BYTES and not any(map(_is_after_an_id, session))
    }
    while forms:
        best = max(forms, key=lambda number: len(forms[number]) / sizes[number])
        new = forms.pop(best)
        if not new:
            return
        repeated = list(replay.repeat(sessions[best]))
        errors = [call.error for call in repeated] != [call.error for call in sessions[best]]
        if not errors and not list(replay.differences(repeated)):
            yield repeated
            forms = {number: others - new for number, others in forms.items()}


def _is_after_an_id(call: Call) -> bool:
    return any(_AFTER_AN_ID.match(str(value)) for value in call.params.values())


def _named_functions() -> set[str]:
    """Returns the SQL functions that the product's code names."""
    schema = "".join(file.read_text() for file in SCHEMA.glob("*.sql"))
    product = "".join(file.read_text() for file in (REPOSITORY / "layers" / "sakuin").rglob("*.py"))
    return set(re.findall(r"create function public\.(\w+)", schema)) & set(re.findall(r'call\([^"()]*"(\w+)"', product))


def _names(value: Any) -> str:
    """Returns the names of the members of JSON, and those of their members."""
    return "".join(f"{key}({_names(value[key])})" for key in sorted(value)) if isinstance(value, dict) else ""


# ---------------------------------------------------------------- the plugin


def pytest_configure() -> None:
    """Lets each request and each message be noted."""
    send_request, send_messages = httpx.HTTPTransport.handle_request, SqsQueue.send

    def sent(transport: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        answered = send_request(transport, request)
        _, is_ours, path = request.url.path.partition(_REST)
        if is_ours:
            answer, error = read_answer(answered.status_code, answered.read())
            headers = {name: request.headers[name] for name in _HEADERS if name in request.headers}
            body = json.loads(request.content) if request.content else None
            _CALLS.append(Call(request.method, path, dict(request.url.params), headers, body, answer, error))
        return answered

    def messages_sent(queue: SqsQueue, messages: Any, **options: Any) -> None:
        _MESSAGES.extend(json.loads(json.dumps(body)) for body in messages)
        send_messages(queue, messages, **options)

    httpx.HTTPTransport.handle_request = sent  # type: ignore[method-assign]
    SqsQueue.send = messages_sent  # type: ignore[method-assign]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Writes what the test asked and sent."""
    _CALLS.clear()
    _MESSAGES.clear()
    done = yield
    file = Path(os.environ[_FOLDER]) / f"{abs(hash(item.nodeid)):x}.json"
    file.write_text(json.dumps({"calls": [asdict(call) for call in _CALLS], "messages": _MESSAGES}))
    return done
