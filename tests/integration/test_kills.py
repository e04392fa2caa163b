"""Killed for real: every part of the running stack, with -9, in the middle of work."""

import json
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from benchmarks.stack import Stack
from benchmarks.traffic import Traffic
from tests.doubles.sqs import VISIBILITY_SECONDS
from tests.effort import EFFORT
from tests.integration.conftest import started

pytestmark = pytest.mark.integration

# Each many times what it takes. A Table of which a queue forgot all messages is restarted after two minutes, by a
# schedule of a minute.
ANSWER_SECONDS, REST_SECONDS = 600, 1500
# What forgets its queues goes first: what was in them is missed only after minutes. The others go in proofs alone.
PARTS = ("emulator", "IndexMaterial", "EmbedChunks", "postgres")

STRINGS = 4
# A queue delivers the message of a worker that died after a minute, here after fewer seconds. The rest is a cold start
# beside other work.
RECOVERY_SECONDS, SHORT_SECONDS = 180, 20


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data folder of a running stack that nothing else is tested on."""
    folder = tmp_path_factory.mktemp("killed")
    with started(folder, "--no-samples"):
        yield folder / "data"


@pytest.fixture(scope="module")
def traffic(data: Path) -> Traffic:
    # The model takes seconds for each string of the Table: few show as much.
    traffic = Traffic(Stack(data), "killed", nodes=[0] * STRINGS)
    traffic.make_table()
    return traffic


def assert_at_rest(traffic: Traffic, *, within: float) -> None:
    different: list[str] = []
    rested = traffic.rested(within, different.append)
    assert rested is not None, f"not at rest within {within} seconds: {different}, {traffic.waiting()}"
    assert [queue for queue in traffic.waiting() if "DeadLetters" in queue] == []
    assert traffic.unfinished().get("failed", 0) == 0


def count_kills(killed: Mapping[str, int], summary: set[str]) -> None:
    """Fails if a part was not killed; pytest's last lines say how many processes were."""
    assert all(killed.values()), killed
    summary.add("killed in mid-work: " + ", ".join(f"{part} {count}" for part, count in killed.items()))


def test_a_killed_worker_costs_the_queue_s_time(traffic: Traffic, data: Path, summary: set[str]) -> None:
    assert_at_rest(traffic, within=ANSWER_SECONDS)
    with hidden_for(traffic, VISIBILITY_SECONDS if EFFORT > 1 else SHORT_SECONDS) as seconds:
        killed = kill_in_mid_work(traffic, data, "IndexMaterial", uploads=4)
        assert max(traffic.hidden_seconds("MaterialQueue"), default=0) <= seconds
        assert_at_rest(traffic, within=RECOVERY_SECONDS)
    summary.add(f"killed in mid-work: {killed}")


@contextmanager
def hidden_for(traffic: Traffic, seconds: int) -> Iterator[int]:
    """Lets the queue of pages hide a message for `seconds`, instead of the minute that the template says."""
    url, name = traffic.stack.environment["SAKUIN_QUEUE_URL"], "VisibilityTimeout"
    sqs = traffic.stack.client("sqs")
    deployed = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"][name]
    assert deployed == str(VISIBILITY_SECONDS)
    sqs.set_queue_attributes(QueueUrl=url, Attributes={name: str(seconds)})
    yield seconds
    sqs.set_queue_attributes(QueueUrl=url, Attributes={name: deployed})


def test_nothing_is_lost_or_stuck_when_every_part_is_killed(traffic: Traffic, data: Path, summary: set[str]) -> None:
    killed = {}
    for part in [each for each in PARTS if each in PROGRAMS] if EFFORT == 1 else (*WORKERS, *PROGRAMS):
        # Its event may be lost with a queue: only the bucket knows then that the page is gone.
        traffic.delete()
        killed[part] = kill_in_mid_work(traffic, data, part, uploads=4)
        answers_again(traffic, within=ANSWER_SECONDS)
    count_kills(killed, summary)
    assert_at_rest(traffic, within=REST_SECONDS)


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
