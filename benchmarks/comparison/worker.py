"""A process of one environment that does named work whenever it is told, so that environments can take turns.

Only the standard library: it runs in the environment of Sakuin and in that of its peers.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
Works = Mapping[str, Callable[..., Any]]


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a work, and its seconds: of the clock, and of this process's processor."""

    result: Any
    seconds: float
    processor: float


class Worker:
    """A running module that calls `serve`."""

    def __init__(self, python: Path, module: str, path: Sequence[Path] = ()) -> None:
        self._process = start(python, module, path=path)

    def do(self, work: str, **arguments: Any) -> Done:
        """Waits for the work; raises RuntimeError with what went wrong in the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([work, arguments]) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline() or '{"error": "the process ended"}')
        if "error" in answer:
            raise RuntimeError(f"{work}: {answer['error']}")
        return Done(**answer)

    def close(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def start(python: Path, module: str, *arguments: str, path: Sequence[Path] = ()) -> "subprocess.Popen[str]":
    """Starts `python -m module` with pipes; `path` is what is imported before all else."""
    places = [*map(str, path), str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places), "PYTHONUTF8": "1"}
    command, pipe = [str(python), "-m", module, *arguments], subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=REPOSITORY, env=environment)


def serve(works: Works) -> None:
    """Does what the parent asks for, until it closes the pipe."""
    # What libraries print must not get among the answers.
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        work, arguments = json.loads(line)
        answers.write(json.dumps(_done(works[work], arguments)) + "\n")
        answers.flush()


def _done(work: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    began, processor = time.perf_counter(), time.process_time()
    try:
        result = work(**arguments)
    except Exception as error:
        return {"error": repr(error)[:1000]}
    seconds, used = time.perf_counter() - began, time.process_time() - processor
    return {"result": result, "seconds": seconds, "processor": used}
