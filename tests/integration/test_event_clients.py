"""A published client of events on the local stack: the AI SDK subscribes, receives, refreshes and ends."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.builders import a_page
from tests.clients.node import MODULES, ROOT, node
from tests.integration.conftest import Deployed

pytestmark = pytest.mark.integration


@contextmanager
def client(deployed: Deployed, event: str) -> Iterator[subprocess.Popen[str]]:
    command = [node(), str(ROOT / "tests/clients/events.mjs"), f"{deployed.url}/mcp", event]
    key = {"PATH": os.environ["PATH"], "SAKUIN_API_KEY": deployed.environment["SAKUIN_API_KEY"]}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=key, cwd=MODULES.parent, **pipes) as running:
        yield running
        running.kill()


def said(running: subprocess.Popen[str], command: str = "") -> dict[str, Any]:
    """Returns the next thing that the client says, after a command if there is one."""
    assert running.stdin is not None
    assert running.stdout is not None
    if command:
        running.stdin.write(f"{command}\n")
        running.stdin.flush()
    line = running.stdout.readline()
    assert line, "the client ended"
    return json.loads(line)


def test_the_client_of_the_ai_sdk_subscribes_receives_refreshes_and_ends(deployed: Deployed) -> None:
    with client(deployed, "explanation.added") as running:
        granted = said(running)["subscribed"]
        deployed.put("webhooks/one.html", a_page({"rule-a": "公式: 係数を代入する。"}))
        event = said(running)["event"]
        assert (event["name"], event["data"]["id"]) == ("explanation.added", "webhooks/one#rule-a")
        refreshed = said(running, "refresh")["refreshed"]
        assert refreshed["id"] == granted["id"]
        assert refreshed["deliveryStatus"]["active"] is True
        assert said(running, "end") == {"ended": 0}
    deployed.delete("webhooks/one.html")
