"""The trace of an invocation has a subsegment for each call of a vendor, and no key."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from tests.contracts.openai_server import OpenAIServer
from tests.contracts.scripted_server import Said, scripted_server

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
        lambda: clients.question_embedder(model).query("a question"),
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
        subprocess.run(run, env=variables, check=True, timeout=60)
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
