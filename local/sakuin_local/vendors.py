"""The stand-ins for OpenAI and turbopuffer as programs of the stack."""

import os
import sys
from pathlib import Path

from sakuin_local.processes import Programs, answers, until_ready


def start_embeddings(folder: Path, programs: Programs, *, port: int) -> None:
    """Starts the embeddings endpoint on `port` with its cache in `folder`; returns when the model is loaded."""
    _start("embeddings", folder / "vectors.sqlite", programs, port)


def start_turbopuffer(folder: Path, programs: Programs, *, port: int) -> None:
    """Starts the stand-in for turbopuffer on `port` with its data in `folder`; returns when it answers."""
    _start("turbopuffer", folder / "turbopuffer", programs, port)


def _start(name: str, data: Path, programs: Programs, port: int) -> None:
    command: list[str | Path] = [sys.executable, "-m", f"sakuin_local.{name}", str(port), data]
    running = programs.start(name, command, {"PATH": os.defpath, "LANG": "C.UTF-8"})
    until_ready(running, lambda: answers(port, "/healthz"))
