"""Servers of MCP as processes of either environment, each on a free port of this machine."""

import logging
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from benchmarks.comparison.load import Caller
from benchmarks.comparison.worker import start

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
