"""Servers of MCP as processes of either environment, and callers that time them; all on this machine."""

import http.client
import json
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

REPOSITORY = Path(__file__).resolve().parents[2]
PEERS_PYTHON = REPOSITORY / ".tools" / "bench" / "bin" / "python"
OWN_PYTHON = Path(sys.executable)
KEY = "right-key"
REVISION = "2025-11-25"
# The name of a tool, and its arguments.
Call = tuple[str, Mapping[str, Any]]
_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": REVISION,
    "Authorization": f"Bearer {KEY}",
}


def serve(application: Any) -> None:
    """Serves an ASGI application on uvicorn, says on which port, and ends with the process."""
    # The SDK writes several lines a call.
    logging.disable(logging.INFO)
    # asyncio disables Nagle's delay only for sockets with an explicit protocol.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    # A call waits until the server accepts it.
    listening.listen()
    print(listening.getsockname()[1], flush=True)
    # Between its turns a connection is kept.
    config = uvicorn.Config(application, log_level="error", access_log=False, timeout_keep_alive=600)
    uvicorn.Server(config).run(sockets=[listening])


@contextmanager
def running_server(python: Path, module: str, *arguments: str) -> Iterator[int]:
    """Runs a module of `benchmarks.comparison` that calls `serve` while the block runs; yields the port."""
    command = [str(python), "-m", f"benchmarks.comparison.{module}", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONUTF8": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY, env=environment) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.terminate()


class Caller:
    """One connection to `/mcp` of a port of this machine, without a handshake: the servers keep no session."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)

    def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the structured result of a tool; raises RuntimeError for anything else."""
        parameters = {"name": name, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}
        self._connection.request("POST", "/mcp", json.dumps(message).encode(), _HEADERS)
        response = self._connection.getresponse()
        body = response.read()
        answer: dict[str, Any] = json.loads(body) if response.status == 200 else {}
        if "result" not in answer or answer["result"].get("isError"):
            raise RuntimeError(f"{response.status} {body[:500]!r}")
        return dict(answer["result"]["structuredContent"])


def milliseconds(port: int, callers: int, calls: int, call: Callable[[int], Call]) -> list[float]:
    """Returns how long each of `calls` calls took that `callers` share; raises the first error of one."""
    local = threading.local()

    def connect() -> None:
        local.caller = Caller(port)

    def timed(number: int) -> float:
        began = time.perf_counter()
        local.caller.call(*call(number))
        return (time.perf_counter() - began) * 1000

    with ThreadPoolExecutor(callers, initializer=connect) as pool:
        return list(pool.map(timed, range(calls)))
