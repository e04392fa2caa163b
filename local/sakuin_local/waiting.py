"""Waiting for a server of ours to answer, without waiting for one that has died."""

import http.client
import time
from collections.abc import Callable

from sakuin_local.addresses import LOOPBACK
from sakuin_local.errors import LocalError
from sakuin_local.processes import Running, check_alive, tail


def until_ready(running: Running, probe: Callable[[], bool], *, timeout_s: float = 60) -> None:
    """Return when `probe` is true; a connection that is refused means not yet."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            if probe():
                return
        except OSError:
            pass
        check_alive(running)
        if time.monotonic() > deadline:
            raise LocalError(
                f"{running.record.name} did not answer within {timeout_s:.0f} s; see {running.log}\n{tail(running.log)}"
            )
        time.sleep(0.02)


def answers(port: int, path: str) -> bool:
    """Whether a server on this machine answers `GET path` with 200; one that is not there raises an `OSError`."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    finally:
        connection.close()
