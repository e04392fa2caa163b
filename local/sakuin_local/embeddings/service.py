"""The endpoint as a program of the stack."""

import os
import sys
from pathlib import Path

from sakuin_local.processes import Programs
from sakuin_local.waiting import answers, until_ready


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
    until_ready(running, lambda: answers(port, "/healthz"))
