"""The start and the invocations of a function: garbage collection, snapshots, ASGI behind API Gateway, traces."""

import asyncio
import gc
import json
import os
import socket
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from aws_lambda_powertools.utilities import parameters
from mangum import Mangum
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.platform.aws import Handler
from sakuin.platform.secrets import NamedSecret
from sakuin.wiring.clients import starts_ahead
from sakuin.wiring.handlers import http_handler, restorable, without_gc

from tests.contracts.openai_server import OpenAIServer
from tests.contracts.scripted_server import Said, ScriptedServer, scripted_server
from tests.events import Context, a_telemetry, event
from tests.mcp.wire import app_of


class Node:
    def __init__(self) -> None:
        self.itself = self


def test_the_collector_is_off_during_a_start_only_also_one_that_fails() -> None:
    @without_gc
    def fails() -> None:
        raise RuntimeError("no secret")

    assert without_gc(gc.isenabled)() is False
    with pytest.raises(RuntimeError, match="no secret"):
        fails()
    assert gc.isenabled()


def test_what_is_made_after_a_start_is_collected() -> None:
    without_gc(Node)()
    later = weakref.ref(Node())
    gc.collect()
    assert later() is None


@pytest.mark.parametrize(
    ("kind", "ahead"), [("on-demand", False), ("provisioned-concurrency", True), ("snap-start", True)]
)
def test_snapshots_and_provisioned_workers_start_ahead(kind: str, ahead: bool) -> None:
    assert starts_ahead({"AWS_LAMBDA_INITIALIZATION_TYPE": kind}) is ahead
    assert starts_ahead({}) is False


SECRET = (
    '{"supabase_service_key": "KEY", "openai_api_key": "o", "key_pepper": "p", '
    '"knowledge_key_hashes": [], "admin_key_hashes": []}'
)


class Connection:
    """A connection that must not be used after a restore."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.dead = False

    def handle(self, _event: dict[str, Any], _context: Any) -> dict[str, Any]:
        if self.dead:
            raise ConnectionError("the other end has forgotten this connection")
        return {"key": self.key}


def answer(key: str) -> Said:
    """Returns the answer of Secrets Manager with this key in the secret."""
    return Said(body=json.dumps({"Name": "sakuin/test", "SecretString": SECRET.replace("KEY", key)}).encode())


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """A Secrets Manager on a free port, where boto3 looks for it."""
    with scripted_server(answer("first")) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SECRETS_MANAGER", server.url)
        for name in ("AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "us-east-1")
        yield server
    # Powertools keeps what it read for the next caller.
    parameters.clear_caches()


def test_a_restored_worker_has_a_new_connection_and_the_rotated_key(secrets: ScriptedServer) -> None:
    made: list[Connection] = []
    hooks: list[Callable[[], None]] = []

    def build() -> Handler:
        made.append(Connection(NamedSecret("sakuin/test").now().supabase_service_key))
        return made[-1].handle

    handler = restorable(build, hooks.append)
    assert handler({}, None) == {"key": "first"}
    assert NamedSecret("sakuin/test").now().supabase_service_key == "first"
    assert len(secrets.asked) == 1

    # The snapshot sleeps: its connections die, and the key is rotated.
    made[-1].dead = True
    secrets.answers = [answer("second")]
    (restored,) = hooks
    restored()

    assert handler({}, None) == {"key": "second"}
    assert len(made) == 2


@pytest.fixture
def mcp(tools: KnowledgeTools) -> Handler:
    return http_handler(Mangum(app_of(tools), lifespan="off"), a_telemetry())


def test_ten_searches_in_one_worker_give_the_same_answer_and_leave_nothing_running(mcp: Handler) -> None:
    loop = asyncio.get_event_loop_policy().get_event_loop()
    mcp(event("mcp.search"), Context())
    before = len(asyncio.all_tasks(loop))
    answers = [mcp(event("mcp.search"), Context()) for _ in range(10)]
    assert len(asyncio.all_tasks(loop)) == before
    assert answers[0]["statusCode"] == 200
    result = json.loads(answers[0]["body"])["result"]
    assert result["structuredContent"]["results"][0]["title"] == "解の公式"
    assert all(answer == answers[0] for answer in answers)


TRACE = "1-5759e988-bd862e3fe1be46a994272793"
# In a process of its own, as in Lambda: the SDK of X-Ray changes libraries for the whole process.
CALLS = """
import os
from contextlib import suppress
from sakuin.platform.supabase.client import answer
from sakuin.wiring.clients import Clients

clients = Clients.of(os.environ, "Search")
model = clients.settings.embedding_model

def handler():
    for call in (
        lambda: answer(clients.supabase.rpc("database_state", {})),
        lambda: clients.question_embedder(model).questions(["a question"]),
        lambda: clients.indexing_embedder(model).passages(["a text"]),
        lambda: clients.chunk_store().namespaces("project_"),
    ):
        with suppress(Exception):
            call()

handler()
"""


def subsegments(daemon: socket.socket) -> list[dict[str, Any]]:
    """What arrived at the daemon of X-Ray."""
    daemon.settimeout(0.2)
    found = []
    while True:
        try:
            packet = daemon.recv(65_536).decode()
        except TimeoutError:
            return found
        found.append(json.loads(packet.partition("\n")[2]))


@pytest.fixture
def traced(environ: dict[str, str], openai: OpenAIServer) -> tuple[list[dict[str, Any]], str]:
    """The subsegments of calls of all vendors, and their text. turbopuffer refuses the key."""
    with scripted_server(Said(401)) as store, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as daemon:
        daemon.bind(("127.0.0.1", 0))
        inherited: Mapping[str, str] = {
            name: os.environ[name] for name in os.environ if name.startswith(("AWS", "PATH"))
        }
        lambda_sets = {
            "LAMBDA_TASK_ROOT": "/var/task",
            "_X_AMZN_TRACE_ID": f"Root={TRACE};Parent=53995c3f42cd8ad8;Sampled=1",
            "AWS_XRAY_DAEMON_ADDRESS": f"127.0.0.1:{daemon.getsockname()[1]}",
        }
        run = [sys.executable, "-c", CALLS]
        limits = json.dumps({"embedding_daily_tokens": 0})
        variables = {**inherited, **environ, "TURBOPUFFER_BASE_URL": store.url, "LIMITS": limits, **lambda_sets}
        subprocess.run(run, env=variables, check=True, timeout=300)
        found = subsegments(daemon)
    return found, json.dumps(found)


def test_each_vendor_has_its_subsegment(traced: tuple[list[dict[str, Any]], str]) -> None:
    found, text = traced
    remote = {one["name"]: one for one in found if one.get("namespace") == "remote"}
    assert {"openai-questions", "openai-passages", "turbopuffer-writes"} <= remote.keys()
    assert remote["supabase"]["http"]["request"]["url"].endswith("/rpc/database_state")
    assert {one["trace_id"] for one in found} == {TRACE}
    assert remote["turbopuffer-writes"]["fault"] is True
    assert "fault" not in remote["openai-passages"]
    assert "sk-test" not in text
