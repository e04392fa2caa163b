"""Each part of a running stack killed with -9 in the middle of work, and when it answers again."""

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from benchmarks.traffic import Traffic

PROGRAMS = ("postgrest", "postgres", "turbopuffer", "embeddings", "emulator")
WORKERS = ("IndexMaterial", "IndexTool", "EmbedChunks", "Mcp")
QUEUES = {"IndexMaterial": "MaterialQueue", "IndexTool": "ToolQueue", "EmbedChunks": "EmbedQueue"}
UPLOADS = 12


def kill(data: Path, part: str) -> int:
    """Kills a program of the stack, or all workers of a function, with -9; says how many processes that were."""
    pids = list(_workers(data, part)) if part in WORKERS else [_program(data, part)]
    return sum(_signal(pid, signal.SIGKILL) for pid in pids)


def kill_in_mid_work(traffic: Traffic, data: Path, part: str, *, uploads: int = UPLOADS, within: float = 120.0) -> int:
    """Starts work and kills a part with -9 while workers have messages; says how many processes that were."""
    deadline = time.perf_counter() + within
    while time.perf_counter() < deadline:
        under_way(traffic, uploads=uploads)
        for _ in range(100):
            at_work = any(traffic.hidden_seconds(queue) for queue in QUEUES.values())
            if at_work and (killed := kill(data, part)):
                return killed
            time.sleep(0.02)
    raise AssertionError(f"{part} was not killed in mid-work within {within:.0f} s")


def kill_with_lease(
    traffic: Traffic, data: Path, function: str, *, lease_seconds: int, before: bool = False, within: float = 120.0
) -> int:
    """Kills all workers of a function with -9 while each message at work has its lease; says how many processes.

    `before`: kills new workers instead, before the first line of their handler, which takes the lease. The queue hides
    a message without a lease for longer.
    """
    deadline = time.perf_counter() + within
    while time.perf_counter() < deadline:
        if before:
            kill(data, function)
        under_way(traffic, uploads=4)
        for _ in range(100):
            # Nothing moves between the look at the queue and the kill.
            stopped = [pid for pid in _workers(data, function) if _signal(pid, signal.SIGSTOP)]
            leases = [seconds <= lease_seconds for seconds in traffic.hidden_seconds(QUEUES[function])]
            now = bool(stopped and leases) and (not any(leases) if before else all(leases))
            killed = sum(_signal(pid, signal.SIGKILL if now else signal.SIGCONT) for pid in stopped)
            if now and killed:
                return killed
            time.sleep(0.02)
    raise AssertionError(f"{function} was not killed within {within:.0f} s")


def under_way(traffic: Traffic, *, uploads: int = UPLOADS) -> None:
    """Starts more work than is done at once: pages and an edit of the Table."""
    traffic.edit_table()
    for _ in range(uploads):
        traffic.upload()


def answers_again(traffic: Traffic, *, within: float = 120.0) -> float:
    """Seconds until a search of pages and one of the Table are answered."""
    started = time.perf_counter()
    while time.perf_counter() - started < within:
        before = len(traffic.seen.errors)
        traffic.search()
        traffic.search_table()
        if len(traffic.seen.errors) == before:
            return time.perf_counter() - started
        time.sleep(0.2)
    raise AssertionError(f"no answer within {within:.0f} s: {traffic.seen.errors[-1]}")


def _signal(pid: int, number: signal.Signals) -> bool:
    """Returns whether the process was there: a worker may end by itself."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)
        return True
    return False


def _program(data: Path, name: str) -> int:
    records = json.loads((data / "processes.json").read_text())
    return next(int(record["pid"]) for record in records if record["name"] == name)


def _workers(data: Path, function: str) -> Iterator[int]:
    for process in psutil.Process(_program(data, "emulator")).children(recursive=True):
        try:
            name = process.environ().get("AWS_LAMBDA_FUNCTION_NAME", "")
        except psutil.Error:
            continue
        if f"-Sakuin{function}-" in name:
            yield process.pid
