"""The stand-ins for OpenAI and turbopuffer as programs of the stack."""

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

from sakuin_local.processes import Programs, answers, until_ready


@dataclass(frozen=True, slots=True)
class VectorSource:
    """A deployment whose embedding model answers instead of that of this machine."""

    url: str
    key: str = field(repr=False)


def start_embeddings(folder: Path, programs: Programs, *, port: int, source: VectorSource | Path | None = None) -> None:
    """Starts the embeddings endpoint, its cache in `folder` and its model from `source`; returns when it is loaded."""
    if isinstance(source, VectorSource):
        more, key = [source.url], {"SAKUIN_PUSH_KEY": source.key}
    else:
        more, key = [str(source)] if source else [], {}
    _start("embeddings", folder / "vectors.sqlite", programs, port, *more, **key)


def start_turbopuffer(folder: Path, programs: Programs, *, port: int) -> None:
    """Starts the stand-in for turbopuffer on `port` with its data in `folder`; returns when it answers."""
    _start("turbopuffer", folder / "turbopuffer", programs, port)


def _start(name: str, data: Path, programs: Programs, port: int, *more: str, **environment: str) -> None:
    command: list[str | Path] = [sys.executable, "-m", f"sakuin_local.{name}", str(port), data, *more]
    running = programs.start(name, command, {"PATH": os.defpath, "LANG": "C.UTF-8", **environment})
    until_ready(running, lambda: answers(port, "/healthz"))
