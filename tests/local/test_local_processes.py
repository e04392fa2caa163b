"""What was started is ended, restarts after a death, and shows why functions fail."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import psutil
import pytest
from moto import mock_aws
from sakuin_local.aws.failures import FailedInvocations, reason_of
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


GROUP = "/sakuin/sakuin/maintain"

FAILED = json.dumps({"message": "failed", "exception": "Traceback (most recent call last):\n  …\nKeyError: 'words'"})

LOGGED = ["START RequestId: 1", '{"level":"ERROR",' + FAILED.removeprefix("{"), "END RequestId: 1"]

IMPORT = [
    "START RequestId: 1",
    "Traceback (most recent call last):",
    "  File …",
    "ModuleNotFoundError: No module",
    "END",
]

WELL = ["START RequestId: 1", '{"level":"INFO","message":"maintained"}', "END RequestId: 1"]


@dataclass
class Logs:
    """CloudWatch Logs, and what failed since the last look."""

    client: Any
    count: int = 0
    failed: FailedInvocations = field(init=False)

    def __post_init__(self) -> None:
        self.client.create_log_group(logGroupName=GROUP)
        self.failed = FailedInvocations(self.client, "/sakuin/sakuin/")

    def invoked(self, *messages: str) -> None:
        self.count += 1
        stream = f"invocation {self.count}"
        self.client.create_log_stream(logGroupName=GROUP, logStreamName=stream)
        events = [{"timestamp": round(time.time() * 1000), "message": message} for message in messages]
        self.client.put_log_events(logGroupName=GROUP, logStreamName=stream, logEvents=events)


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Logs]:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        yield Logs(boto3.client("logs"))


def test_each_failed_invocation_has_one_line(logs: Logs) -> None:
    logs.invoked(*WELL)
    logs.invoked(*LOGGED)
    assert logs.failed.lines() == ["function maintain failed: KeyError: 'words'"]
    logs.invoked(*LOGGED)
    assert [len(logs.failed.lines()) for _ in range(2)] == [1, 0]


def test_a_function_that_cannot_start_says_why() -> None:
    assert reason_of(IMPORT) == "ModuleNotFoundError: No module"
    assert reason_of(WELL) is None
