"""`mcp-remote`, through which agents that start programs only reach a server, as a running program."""

import json
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue
from typing import Any

import httpx

from tests.clients.node import MODULES, node
from tests.oauth.deployment import Deployment
from tests.oauth.person import Person

PROGRAM = MODULES / "mcp-remote" / "dist" / "proxy.js"
# It starts in two; four cores of a busy machine need longer.
SECONDS = 120
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@dataclass
class Remote:
    """The running program, and the address that it shows the person."""

    process: subprocess.Popen[str]
    shown: Queue[str] = field(default_factory=Queue)
    log: list[str] = field(default_factory=list)

    def watch(self, person: Person | None) -> None:
        """Reads what it says until it ends; the person opens the address that it shows, and allows what it asks."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)
            if found := re.match(r"(http://\S+/oauth/authorize\?\S+)", line):
                self.shown.put(found[1])
                if person:
                    # It may show the address before it listens at that of the answer.
                    with httpx.Client(transport=httpx.HTTPTransport(retries=5), timeout=SECONDS) as browser:
                        browser.get(person.answer(found[1]))

    def send(self, method: str, **params: Any) -> None:
        """Sends a request, whose id is its method."""
        assert self.process.stdin is not None
        request = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def call(self, method: str, **params: Any) -> Any:
        """Sends a request; returns its result."""
        self.send(method, **params)
        assert self.process.stdout is not None
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == method:
                assert "result" in answer, f"{answer} {self.log}"
                return answer["result"]
        raise AssertionError(f"{method} was not answered: {''.join(self.log)}")


@contextmanager
def remote(place: Deployment, home: Path, port: int, person: Person | None = None) -> Iterator[Remote]:
    """Runs the program, which keeps what it gets in `home` and waits for the browser of the person at `port`."""
    environment = {"PATH": "/nowhere", "HOME": str(home), "MCP_REMOTE_CONFIG_DIR": str(home / "kept")}
    command = [node(), str(PROGRAM), place.endpoint, str(port), "--transport", "http-only"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, env=environment, text=True, bufsize=1, **pipes)
    running = Remote(process)
    watcher = threading.Thread(target=running.watch, args=(person,), daemon=True)
    watcher.start()
    # A program that hangs ends, and with it the wait for its answer.
    end = threading.Timer(SECONDS, process.kill)
    end.start()
    try:
        yield running
    finally:
        end.cancel()
        process.terminate()
        process.wait(SECONDS)
        watcher.join(SECONDS)


def search(running: Remote, place: Deployment) -> str:
    running.call("initialize", **HELLO)
    answer = running.call("tools/call", name=place.tenant.tool, arguments={"query": place.tenant.words})
    assert not answer.get("isError"), answer
    return str(answer["structuredContent"]["results"])


def expire(place: Deployment, home: Path) -> None:
    """Replaces the access token that the program keeps by the same one of yesterday."""
    (file,) = (home / "kept").rglob("*_tokens.json")
    kept = json.loads(file.read_text())
    claims = place.auth.sessions.key.claims_of(kept["access_token"])
    kept["access_token"] = place.auth.sessions.key.sign({**claims, "exp": int(time.time()) - 86_400})
    file.write_text(json.dumps(kept))
