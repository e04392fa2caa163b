"""Parts of a running stack that die."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sakuin_local.errors import LocalError, ServiceDied
from sakuin_local.parts import Parts
from sakuin_local.processes import Programs, Running

from tests.awaiting import awaited

STAYS = [sys.executable, "-c", "import signal; signal.pause()"]
ENDS = [sys.executable, "-c", "raise SystemExit('no model here')"]
WAIT_S = 60


class Engine:
    """A part whose starts a test waits for."""

    def __init__(self, programs: Programs) -> None:
        self.command = STAYS
        self._programs = programs
        self._runs: list[Running] = []
        self._started = threading.Semaphore(0)

    def start(self) -> None:
        self._runs.append(self._programs.start("engine", self.command, dict(os.environ)))
        self._started.release()

    def dies(self) -> None:
        """Its newest run is killed, or has ended by itself."""
        assert self._started.acquire(timeout=WAIT_S)
        if self.command is STAYS:
            self._runs[-1].process.send_signal(signal.SIGKILL)
        self._runs[-1].process.wait(WAIT_S)


@pytest.fixture
def programs(folder: Path) -> Iterator[Programs]:
    folder.mkdir()
    programs = Programs(folder)
    yield programs
    programs.stop()


@pytest.fixture
def engine(programs: Programs) -> Engine:
    return Engine(programs)


def quiet(_said: str) -> None:
    pass


def test_a_part_that_was_killed_is_started_again_and_people_hear_of_it(programs: Programs, engine: Engine) -> None:
    parts, said = Parts(programs), list[str]()
    parts.start("engine", engine.start)
    assert parts.revive(said.append) == []

    engine.dies()

    assert parts.revive(said.append) == ["engine"]
    assert said == ["engine ended (killed by SIGKILL): restarting it"]
    # It runs: it can die again.
    engine.dies()


def test_more_can_be_done_for_one_that_died_than_for_one_that_starts(programs: Programs, engine: Engine) -> None:
    parts, deployed_anew = Parts(programs), threading.Event()
    parts.start("engine", engine.start, again=deployed_anew.set)
    engine.dies()
    parts.revive(quiet)
    assert deployed_anew.wait(WAIT_S)


def test_a_part_that_keeps_ending_ends_the_stack_with_what_it_complained_of(programs: Programs, engine: Engine) -> None:
    parts = Parts(programs, clock=lambda: 0.0)
    engine.command = ENDS
    parts.start("engine", engine.start)
    for _ in range(4):
        engine.dies()
        parts.revive(quiet)
    engine.dies()
    with pytest.raises(ServiceDied, match=r"engine keeps ending(.|\n)*no model here"):
        parts.revive(quiet)


def test_a_part_that_ends_now_and_then_is_started_again_each_time(programs: Programs, engine: Engine) -> None:
    hours = iter(range(100))
    parts = Parts(programs, clock=lambda: next(hours) * 3600.0)
    parts.start("engine", engine.start)
    for _ in range(7):
        engine.dies()
        assert parts.revive(quiet) == ["engine"]


def test_why_a_part_could_not_be_started_again_is_said(programs: Programs, engine: Engine) -> None:
    parts, failed = Parts(programs), threading.Event()
    parts.start("engine", engine.start, again=fails(failed))
    engine.dies()
    parts.revive(quiet)
    assert failed.wait(WAIT_S)
    with pytest.raises(LocalError, match="engine could not be restarted: the port is taken"):
        awaited("why", lambda: parts.revive(quiet))


def fails(failed: threading.Event) -> Callable[[], None]:
    def again() -> None:
        failed.set()
        raise OSError("the port is taken")

    return again
