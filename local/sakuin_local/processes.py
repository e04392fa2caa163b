"""Programs on this machine: started with a log and a record, checked, and ended together."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from sakuin_local.addresses import LOOPBACK
from sakuin_local.errors import LocalError, ServiceDied, Stopped

# The clock that start times come from may be set in between.
CLOCK_TOLERANCE_S = 2.0
_READY_WITHIN_S = 60
# Shown of a log if its program ends.
_LINES_OF_A_LOG = 15


@dataclass(frozen=True, slots=True)
class Record:
    """A program that we started, for the next run: by then another program may have the same process id."""

    name: str
    pid: int
    started: float
    stop_signal: int


@dataclass(frozen=True, slots=True)
class Running:
    """A program that we started."""

    record: Record
    process: subprocess.Popen[bytes]
    log: Path


class Programs:
    """The programs of one data folder, each in its own session, so that Ctrl-C reaches only this process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._records = folder / "processes.json"
        self._running: list[Running] = []
        self._short_lived: list[Running] = []
        # Several threads start programs.
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
        """Starts a program that keeps running; its output goes to `<folder>/logs/<name>.log`."""
        return self._spawn(self._running, name, command, environment, stop_signal)

    def run(self, name: str, command: Sequence[str | Path], environment: Mapping[str, str]) -> None:
        """Runs a program to its end; a failure is a `LocalError` that shows the last lines of its log."""
        running = self._spawn(self._short_lived, name, command, environment, signal.SIGTERM)
        code = running.process.wait()
        with self._lock:
            self._short_lived.remove(running)
            self._write_records()
        if code:
            raise LocalError(f"{name} failed ({ended_by(code)}); see {running.log}\n{tail(running.log)}")

    def check(self) -> None:
        """Raises `ServiceDied`, with the name of the log, if one of them has ended."""
        with self._lock:
            running = list(self._running)
        for each in running:
            check_alive(each)

    def stop(self, *, patience_s: float = 5.0) -> None:
        """Ends all of them, the newest first; what does not end in time is killed, with all that it started."""
        with self._lock:
            self._stopped = True
            ending = [*self._short_lived, *self._running]
        for each in reversed(ending):
            if each.process.poll() is None:
                each.process.send_signal(each.record.stop_signal)
        deadline = time.monotonic() + patience_s
        for each in reversed(ending):
            with contextlib.suppress(subprocess.TimeoutExpired):
                each.process.wait(max(0.0, deadline - time.monotonic()))
            _kill_session(each.record)
            each.process.wait()
        self._running, self._short_lived = [], []
        self._write_records()

    def _spawn(
        self,
        kept_in: list[Running],
        name: str,
        command: Sequence[str | Path],
        environment: Mapping[str, str],
        stop_signal: signal.Signals,
    ) -> Running:
        log = self._folder / "logs" / f"{name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with self._lock, log.open("wb") as output:
            if self._stopped:
                raise Stopped(f"{name} is not started: the stack is stopping")
            process = subprocess.Popen(  # noqa: S603 - our own commands
                [str(part) for part in command],
                env=dict(environment),
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            record = Record(name, process.pid, _start_time(process.pid), int(stop_signal))
            running = Running(record, process, log)
            kept_in.append(running)
            self._write_records()
        return running

    def _write_records(self) -> None:
        records = [asdict(each.record) for each in (*self._short_lived, *self._running)]
        # This process may be killed while it writes.
        unfinished = self._records.with_suffix(".new")
        unfinished.write_text(json.dumps(records))
        unfinished.replace(self._records)


def end_leftovers(folder: Path, *, patience_s: float = 5.0) -> list[str]:
    """Ends the programs that an earlier run left here when it was killed; returns their names."""
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
    """Raises `ServiceDied`, with the name of the log, if the program has ended."""
    code = running.process.poll()
    if code is not None:
        raise ServiceDied(f"{running.record.name} ended ({ended_by(code)}); see {running.log}\n{tail(running.log)}")


def until_ready(running: Running, probe: Callable[[], bool]) -> None:
    """Waits until `probe` is true; a refused connection counts as false. Raises `ServiceDied` if the program ends."""
    deadline = time.monotonic() + _READY_WITHIN_S
    while True:
        try:
            if probe():
                return
        except OSError:
            pass
        check_alive(running)
        if time.monotonic() > deadline:
            late = f"{running.record.name} did not answer within {_READY_WITHIN_S} s"
            raise LocalError(f"{late}; see {running.log}\n{tail(running.log)}")
        time.sleep(0.02)


def answers(port: int, path: str) -> bool:
    """Returns whether a server on this machine answers `GET path` with 200; raises `OSError` if there is none."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    finally:
        connection.close()


def tail(log: Path) -> str:
    """Returns the last lines of a log."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-_LINES_OF_A_LOG:]) if log.exists() else ""


def ended_by(code: int) -> str:
    """Returns an exit code in words."""
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _start_time(pid: int) -> float:
    try:
        return psutil.Process(pid).create_time()
    except psutil.NoSuchProcess:
        return time.time()


def _ours(record: Record) -> psutil.Process | None:
    """Returns the process of a record while it runs. It may end between two calls."""
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
    """Kills a program and everything in its session, such as the emulator's workers."""
    if psutil.pid_exists(record.pid) and not _started_as(record):
        # Another program has this process id now.
        return
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied, ProcessLookupError):
            if os.getsid(process.pid) == record.pid:
                process.kill()
