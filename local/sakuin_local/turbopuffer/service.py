"""The stand-in as a program of the stack."""

import http.client
import os
import sys
from pathlib import Path

from sakuin_local.addresses import LOOPBACK
from sakuin_local.processes import Programs
from sakuin_local.waiting import until_ready


def start_turbopuffer(folder: Path, programs: Programs, *, port: int) -> None:
    """Start it on `port` with its data in `folder`; returns when it answers."""
    command: list[str | Path] = [sys.executable, "-m", "sakuin_local.turbopuffer", str(port), folder / "turbopuffer"]
    running = programs.start("turbopuffer", command, {"PATH": os.defpath, "LANG": "C.UTF-8"})
    until_ready(running, lambda: _answers(port))


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=5)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    finally:
        connection.close()
