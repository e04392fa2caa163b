"""Killed for real: every part of the running stack, with -9, in the middle of work."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.stack import Stack
from benchmarks.traffic import Traffic
from tests.doubles.sqs import VISIBILITY_SECONDS
from tests.effort import EFFORT
from tests.integration.conftest import started
from tests.integration.kills import PROGRAMS, QUEUES, WORKERS, answers_again, kill_in_mid_work, kill_with_lease

pytestmark = pytest.mark.integration

# Each many times what it takes. A Table of which a queue forgot all messages is restarted after two minutes, what the
# queue was to deliver again after three, by a schedule of a minute.
ANSWER_SECONDS, REST_SECONDS = 600, 1500
# What forgets its queues goes first: what was in them is missed only after minutes. The others go in proofs alone.
PARTS = ("emulator", "IndexMaterial", "EmbedChunks", "postgres")
LEASE_SECONDS, STRINGS = 5, 4
# A queue delivers the message of a worker that died at its start after ninety seconds, here after fewer. The rest is a
# cold start beside other work.
RECOVERY_SECONDS, SHORT_SECONDS = 180, 20


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data folder of a running stack that nothing else is tested on."""
    folder = tmp_path_factory.mktemp("killed")
    with started(folder, "--no-samples", "--parameter", f"LeaseSeconds={LEASE_SECONDS}"):
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


def test_a_worker_that_dies_at_once_costs_the_queue_s_time(traffic: Traffic, data: Path, summary: set[str]) -> None:
    assert_at_rest(traffic, within=ANSWER_SECONDS)
    with hidden_for(traffic, VISIBILITY_SECONDS if EFFORT > 1 else SHORT_SECONDS) as seconds:
        killed = kill_with_lease(traffic, data, "IndexMaterial", lease_seconds=LEASE_SECONDS, before=True)
        assert max(traffic.hidden_seconds("MaterialQueue")) <= seconds
        assert_at_rest(traffic, within=RECOVERY_SECONDS)
    summary.add(f"killed at their start: {killed}")


@contextmanager
def hidden_for(traffic: Traffic, seconds: int) -> Iterator[int]:
    """Lets the queue of pages hide a message for `seconds`, instead of the ninety that the template says."""
    url, name = traffic.stack.environment["SAKUIN_QUEUE_URL"], "VisibilityTimeout"
    sqs = traffic.stack.client("sqs")
    deployed = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"][name]
    assert deployed == str(VISIBILITY_SECONDS)
    sqs.set_queue_attributes(QueueUrl=url, Attributes={name: str(seconds)})
    yield seconds
    sqs.set_queue_attributes(QueueUrl=url, Attributes={name: deployed})


def test_a_killed_worker_costs_a_lease_and_not_the_queue_s_time(
    traffic: Traffic, data: Path, summary: set[str]
) -> None:
    killed = {
        part: kill_with_lease(traffic, data, part, lease_seconds=LEASE_SECONDS)
        for part in (QUEUES if EFFORT > 1 else [each for each in PARTS if each in QUEUES])
    }
    count_kills(killed, summary)
    assert_at_rest(traffic, within=RECOVERY_SECONDS)


def test_nothing_is_lost_or_stuck_when_every_part_is_killed(traffic: Traffic, data: Path, summary: set[str]) -> None:
    killed = {}
    for part in [each for each in PARTS if each in PROGRAMS] if EFFORT == 1 else (*WORKERS, *PROGRAMS):
        # Its event may be lost with a queue: only the bucket knows then that the page is gone.
        traffic.delete()
        killed[part] = kill_in_mid_work(traffic, data, part, uploads=4)
        answers_again(traffic, within=ANSWER_SECONDS)
    count_kills(killed, summary)
    assert_at_rest(traffic, within=REST_SECONDS)
