"""What was started is ended, and restarts after a death."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from sakuin_local.errors import LocalError, ServiceDied, Stopped
from sakuin_local.processes import Programs, Running, end_leftovers

from tests.awaiting import awaited

WAIT_S = 60

SLEEP = [sys.executable, "-c", "import signal; signal.pause()"]

STUBBORN_PARENT = [
    sys.executable,
    "-c",
    "import os, signal\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "child = os.fork()\n"
    "if child: print(child, flush=True)\n"
    "signal.pause()",
]


@pytest.fixture
def programs(folder: Path) -> Iterator[Programs]:
    folder.mkdir()
    programs = Programs(folder)
    yield programs
    programs.stop(patience_s=0)


def child_of(running: Running) -> psutil.Process:
    awaited("the number of the child", lambda: running.log.read_text().endswith("\n"))
    return psutil.Process(int(running.log.read_text()))


def ended(pid: int) -> bool:
    """Whether it runs no more; a dead one that nobody has asked after yet counts."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def test_a_program_that_ends_by_itself_is_an_error_with_its_last_words(programs: Programs) -> None:
    running = programs.start("postgrest", [sys.executable, "-c", "raise SystemExit('no such role')"], {})
    running.process.wait(WAIT_S)

    with pytest.raises(ServiceDied, match=r"postgrest ended \(exit code 1\); see .*\n.*no such role"):
        programs.check()


def test_a_program_that_runs_to_its_end_is_not_missed(programs: Programs) -> None:
    programs.run("initdb", [sys.executable, "-c", ""], {})

    programs.check()


def test_a_program_that_fails_on_its_way_says_why(programs: Programs) -> None:
    with pytest.raises(LocalError, match=r"initdb failed \(exit code 1\)(.|\n)*disk is full"):
        programs.run("initdb", [sys.executable, "-c", "raise SystemExit('disk is full')"], {})


def test_stopping_ends_what_a_program_started_even_if_neither_listens(programs: Programs) -> None:
    running = programs.start("emulator", STUBBORN_PARENT, {})
    child = child_of(running)

    programs.stop(patience_s=0.1)

    for pid in (running.record.pid, child.pid):
        awaited("its end", lambda pid=pid: ended(pid))


def test_nothing_starts_any_more_once_it_is_stopping(programs: Programs) -> None:
    programs.stop()

    with pytest.raises(Stopped):
        programs.start("postgres", SLEEP, {})


def test_leftovers_of_a_killed_starter_end_with_their_children(programs: Programs, folder: Path) -> None:
    running = programs.start("emulator", STUBBORN_PARENT, {})
    child = child_of(running)

    assert end_leftovers(folder, patience_s=0.1) == ["emulator"]

    assert running.process.wait(WAIT_S) == -signal.SIGKILL
    awaited("the child's end", lambda: ended(child.pid))
    assert end_leftovers(folder) == []


def test_a_strangers_process_that_has_the_number_now_is_left_alone(folder: Path) -> None:
    folder.mkdir()
    with subprocess.Popen(SLEEP, start_new_session=True) as stranger:
        record = {"name": "postgres", "pid": stranger.pid, "started": 1.0, "stop_signal": int(signal.SIGINT)}
        (folder / "processes.json").write_text(json.dumps([record]))

        try:
            assert end_leftovers(folder) == []
            # Had it been killed, this would say so by now.
            with pytest.raises(subprocess.TimeoutExpired):
                stranger.wait(0.3)
        finally:
            stranger.kill()
