"""Programs that are started, watched, recorded and ended together."""

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from sakuin_local.errors import LocalError, ServiceDied, Stopped

# Boot time, and with it a start time, is read from a clock that may be set in between.
CLOCK_TOLERANCE_S = 2.0


@dataclass(frozen=True, slots=True)
class Record:
    """A program of ours as the next start finds it: a number alone may belong to a stranger by then."""

    name: str
    pid: int
    started: float
    stop_signal: int


@dataclass(frozen=True, slots=True)
class Running:
    """A program of ours that runs now."""

    record: Record
    process: subprocess.Popen[bytes]
    log: Path


class Programs:
    """The programs of one data folder; each in a session of its own, so that Ctrl-C reaches only us."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._records = folder / "processes.json"
        self._running: list[Running] = []
        self._passing: list[Running] = []
        # The parts of the stack start side by side.
        self._lock = threading.Lock()
        self._stopped = False

    def start(
        self,
        name: str,
        command: Sequence[str | Path],
        environment: Mapping[str, str],
        *,
        stop_signal: signal.Signals = signal.SIGTERM,
    ) -> Running:
        """Start a program that is meant to stay; its output goes to `<folder>/logs/<name>.log`."""
        return self._started(self._running, name, command, environment, stop_signal)

    def run(self, name: str, command: Sequence[str | Path], environment: Mapping[str, str]) -> str:
        """Run a program to its end; what it printed. Its failure is an error that shows what it complained of."""
        printed = self._folder / "logs" / f"{name}.out"
        running = self._started(self._passing, name, command, environment, signal.SIGTERM, printed)
        code = running.process.wait()
        with self._lock:
            self._passing.remove(running)
            self._write_records()
        if code:
            said = f"{tail(printed)}\n{tail(running.log)}".strip()
            raise LocalError(f"{name} failed ({ended_by(code)}); see {running.log}\n{said}")
        return printed.read_text()

    def check(self) -> None:
        """Nothing while all run; a dead one is a `ServiceDied` that names its log."""
        with self._lock:
            running = list(self._running)
        for each in running:
            check_alive(each)

    def take_dead(self) -> list[Running]:
        """Those that ended by themselves, with all that they had started ended too; from now on they are not ours."""
        with self._lock:
            dead = [] if self._stopped else [each for each in self._running if each.process.poll() is not None]
            for each in dead:
                self._running.remove(each)
        for each in dead:
            _kill_session(each.record)
            each.log.replace(each.log.with_name(f"{each.record.name}.ended.log"))
        return dead

    def stop(self, *, patience_s: float = 5.0) -> None:
        """End all of them, the newest told first; whatever does not listen is killed with all it started."""
        with self._lock:
            self._stopped = True
            ending = [*self._passing, *self._running]
        for each in reversed(ending):
            if each.process.poll() is None:
                each.process.send_signal(each.record.stop_signal)
        deadline = time.monotonic() + patience_s
        for each in reversed(ending):
            with contextlib.suppress(subprocess.TimeoutExpired):
                each.process.wait(max(0.0, deadline - time.monotonic()))
            _kill_session(each.record)
            each.process.wait()
        self._records.unlink(missing_ok=True)

    def _started(
        self,
        kept_in: list[Running],
        name: str,
        command: Sequence[str | Path],
        environment: Mapping[str, str],
        stop_signal: signal.Signals,
        printed: Path | None = None,
    ) -> Running:
        log = self._folder / "logs" / f"{name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        output = printed or log
        for file in (log, output):
            file.write_bytes(b"")
        with self._lock, log.open("ab") as complaints, output.open("ab") as answers:
            if self._stopped:
                raise Stopped(f"{name} was not started: the stack is stopping")
            process = subprocess.Popen(  # noqa: S603 - the commands are our own
                [str(part) for part in command],
                env=dict(environment),
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=answers,
                stderr=complaints,
                start_new_session=True,
            )
            record = Record(name, process.pid, _start_time(process.pid), int(stop_signal))
            running = Running(record, process, log)
            kept_in.append(running)
            self._write_records()
        return running

    def _write_records(self) -> None:
        records = [asdict(each.record) for each in (*self._passing, *self._running)]
        # A starter may be killed at any moment, also while it writes.
        unfinished = self._records.with_suffix(".new")
        unfinished.write_text(json.dumps(records))
        unfinished.replace(self._records)


def end_leftovers(folder: Path, *, patience_s: float = 5.0) -> list[str]:
    """End what an earlier start left running here after it was killed; the names of what was ended."""
    file = folder / "processes.json"
    if not file.exists():
        return []
    records = [Record(**fields) for fields in json.loads(file.read_text())]
    alive = [(record, process) for record in records if (process := _ours(record))]
    for record, process in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(record.stop_signal)
    psutil.wait_procs([process for _, process in alive], timeout=patience_s)
    for record in records:
        _kill_session(record)
    file.unlink()
    return [record.name for record, _ in alive]


def check_alive(running: Running) -> None:
    """Nothing while it runs; a `ServiceDied` that names its log once it has ended."""
    code = running.process.poll()
    if code is not None:
        raise ServiceDied(f"{running.record.name} ended ({ended_by(code)}); see {running.log}\n{tail(running.log)}")


def tail(log: Path, *, lines: int = 15) -> str:
    """The last lines of a log."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:]) if log.exists() else ""


def ended_by(code: int) -> str:
    """What an exit code says, for people."""
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _start_time(pid: int) -> float:
    try:
        return psutil.Process(pid).create_time()
    except psutil.NoSuchProcess:
        return time.time()


def _ours(record: Record) -> psutil.Process | None:
    """Its process, while it runs. It may end at any moment, also between two questions about it."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(record.pid)
        if _started_as(record) and process.status() != psutil.STATUS_ZOMBIE:
            return process
    return None


def _started_as(record: Record) -> bool:
    try:
        return abs(psutil.Process(record.pid).create_time() - record.started) < CLOCK_TOLERANCE_S
    except psutil.NoSuchProcess:
        return False


def _kill_session(record: Record) -> None:
    """Kill a program and everything in the session it leads, as the emulator's workers are."""
    if psutil.pid_exists(record.pid) and not _started_as(record):
        # The number leads a stranger's session by now.
        return
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied, ProcessLookupError):
            if os.getsid(process.pid) == record.pid:
                process.kill()
