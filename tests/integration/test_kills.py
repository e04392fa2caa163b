"""Killed for real: every part of the running stack, with -9, in the middle of work."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.kills import PROGRAMS, WORKERS, answers_again, kill, under_way
from benchmarks.stack import Stack
from benchmarks.traffic import Traffic
from tests.effort import EFFORT
from tests.integration.conftest import started

pytestmark = pytest.mark.integration

# Each many times what it takes. What a queue forgot is sent again after three minutes, by a schedule of a minute.
ANSWER_SECONDS, REST_SECONDS = 600, 1500
# What forgets its queues goes first: what was in them is missed only after minutes. The others go in proofs alone.
PARTS = ("emulator", "IndexMaterial", "EmbedChunks", "postgres")
OTHERS = tuple(part for part in (*WORKERS, *PROGRAMS) if part not in PARTS)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data folder of a running stack that nothing else is tested on."""
    folder = tmp_path_factory.mktemp("killed")
    with started(folder, "--no-samples"):
        yield folder / "data"


def test_nothing_is_lost_and_nothing_is_stuck_when_every_part_is_killed_in_mid_work(data: Path) -> None:
    traffic = Traffic(Stack(data), "killed")
    traffic.make_table()
    for part in PARTS if EFFORT == 1 else (*PARTS, *OTHERS):
        under_way(traffic, uploads=4)
        kill(data, part)
        answers_again(traffic, within=ANSWER_SECONDS)
    different: list[str] = []
    rested = traffic.rested(REST_SECONDS, different.append)
    assert rested is not None, f"not at rest within {REST_SECONDS} seconds: {different}, {traffic.waiting()}"
    assert [queue for queue in traffic.waiting() if "DeadLetters" in queue] == []
