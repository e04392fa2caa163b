"""ASGI applications served by a thread of this process, on this machine only."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from sakuin_local.addresses import LOOPBACK
from sakuin_local.errors import LocalError
from sakuin_local.same_machine import SameMachine


@contextmanager
def served(application: Any, *, port: int = 0) -> Iterator[int]:
    """Serves an application while the block runs; yields the port, a free one for 0."""
    listening = listen(port)
    server = uvicorn.Server(configuration(application))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.005)
    try:
        yield int(listening.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(timeout=3)
        listening.close()


def run(application: Any, port: int) -> None:
    """Serves a stand-in for a vendor, which no web page may call, until the process ends."""
    uvicorn.Server(configuration(SameMachine(application))).run(sockets=[listen(port)])


def configuration(application: Any) -> uvicorn.Config:
    """Returns the configuration of a server that adds no header, logs nothing, and refuses other host names."""
    return uvicorn.Config(
        SameMachine(application, pages=True),
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        ws="none",
        timeout_graceful_shutdown=1,
    )


def listen(port: int) -> socket.socket:
    """Returns a listening socket; a port in use is a `LocalError`."""
    # asyncio disables Nagle's delay (40 ms per answer) only for sockets with an explicit protocol.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
    except OSError as error:
        listening.close()
        raise LocalError(
            f"port {port} is in use: stop the program that listens there, or choose another port with --port"
        ) from error
    listening.listen(128)
    return listening
