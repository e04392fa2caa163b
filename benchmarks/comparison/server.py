"""Servers of MCP as processes of either environment, and callers that time them; all on this machine."""

import http.client
import json
import logging
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from benchmarks.comparison.worker import start

KEY = "right-key"
REVISION = "2025-11-25"
Parameters = Mapping[str, Any]
_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": REVISION,
    "Authorization": f"Bearer {KEY}",
}
_READY_SECONDS = 60


def serve(application: Any) -> None:
    """Serves an ASGI application on uvicorn, says on which port, and ends with the process."""
    # One of them writes several lines a call.
    logging.disable(logging.INFO)
    # asyncio disables Nagle's delay only for sockets with an explicit protocol.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(application, log_level="error", access_log=False)).run(sockets=[listening])


@contextmanager
def running_server(python: Path, module: str, *arguments: str, path: Sequence[Path] = ()) -> Iterator[int]:
    """Runs `python -m module`, which calls `serve`, while the block runs; yields the port when it answers."""
    process = start(python, module, *arguments, path=path)
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline() or "0")
        _wait(process, port)
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


class Caller:
    """One connection to `/mcp` of a port of this machine, without a handshake: the servers keep no session."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def call(self, method: str, parameters: Parameters) -> dict[str, Any]:
        """Returns the result; raises RuntimeError for anything else."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        self._connection.request("POST", "/mcp", json.dumps(message).encode(), _HEADERS)
        response = self._connection.getresponse()
        body = response.read()
        answer: dict[str, Any] = json.loads(body) if response.status == 200 else {}
        if "result" not in answer or answer["result"].get("isError"):
            raise RuntimeError(f"{response.status} {body[:500]!r}")
        return dict(answer["result"])


def milliseconds(port: int, callers: int, calls: int, message: Callable[[int], tuple[str, Parameters]]) -> list[float]:
    """Returns how long each of `calls` calls took that `callers` share; raises the first error of one."""
    own = threading.local()

    def connect() -> None:
        own.caller = Caller(port)

    def timed(number: int) -> float:
        began = time.perf_counter()
        own.caller.call(*message(number))
        return (time.perf_counter() - began) * 1000

    with ThreadPoolExecutor(callers, initializer=connect) as pool:
        return list(pool.map(timed, range(calls)))


def _wait(process: "subprocess.Popen[str]", port: int) -> None:
    until = time.monotonic() + _READY_SECONDS
    while process.poll() is None and time.monotonic() < until:
        try:
            Caller(port).call("tools/list", {})
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"{process.args} does not answer")
