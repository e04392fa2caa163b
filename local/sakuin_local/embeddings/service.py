"""The endpoint as a program of the stack."""

import http.client
import os
import sys
from pathlib import Path

from sakuin_local.addresses import LOOPBACK
from sakuin_local.processes import Programs
from sakuin_local.waiting import until_ready


def start_embeddings(folder: Path, programs: Programs, *, port: int) -> None:
    """Start it on `port` with its cache in `folder`; returns when the model is loaded."""
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "sakuin_local.embeddings",
        str(port),
        folder / "vectors.sqlite",
    ]
    running = programs.start("embeddings", command, {"PATH": os.defpath, "LANG": "C.UTF-8"})
    until_ready(running, programs, lambda: _answers(port))


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=5)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    finally:
        connection.close()
