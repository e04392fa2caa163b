"""Days without a vendor: no dead letters, all work done soon after, and reconciliation leaves waiting pages alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count

import pytest
from sakuin.errors import CircuitOpen, OverBudget, Refused
from sakuin.knowledge.messages import MaterialQueue
from sakuin.platform.embedding import Vector
from sakuin.platform.retry import Waiting
from sakuin.platform.s3 import StoredObject
from sakuin.platform.sqs import SqsQueue
from sakuin.wiring.index_versions import reconciling

from tests.builders import a_page
from tests.convergence.passing import time_passes
from tests.doubles.bucket import MemoryBucket
from tests.doubles.embedder import MemoryEmbedder
from tests.doubles.sqs import ModelledSqs
from tests.worked_queue import Killed, WorkedQueue
from tests.worlds import World, Worlds

PAGES = 5
A_MINUTE, A_DAY = 60, 86_400
AWAY = CircuitOpen("openai keeps failing", vendor="openai", retry_after=20)
USED_UP = OverBudget("The day's budget is used up")
REFUSED = Refused("The embedding service refused with 401: check openai_api_key", vendor="openai")


@dataclass
class Refusing(MemoryEmbedder):
    """An embedder that fails with `error`."""

    error: Exception | None = None

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        if self.error is not None:
            raise self.error
        return super().passages(texts)


@dataclass
class Deadly(MemoryBucket):
    """A bucket whose objects in `kills` kill the worker that reads them."""

    kills: set[str] = field(default_factory=set)

    def read(self, key: str, *, version_id: str | None = None, max_bytes: int) -> StoredObject:
        if key in self.kills:
            raise Killed
        return super().read(key, version_id=version_id, max_bytes=max_bytes)


@dataclass
class Library:
    """Bucket, queue, worker and nightly run, by one clock."""

    world: World
    bucket: Deadly = field(default_factory=Deadly)
    embedder: Refusing = field(default_factory=Refusing)
    # A worker that is busy elsewhere takes nothing.
    is_busy: bool = False
    sqs: ModelledSqs = field(default_factory=ModelledSqs)
    versions: Iterator[int] = field(default_factory=count)
    queue: WorkedQueue = field(init=False)

    def __post_init__(self) -> None:
        self.world.bucket, self.world.embedder, self.sql = self.bucket, self.embedder, self.world.sql
        self.records = self.world.work_records
        self.world.queue = self.messages
        self.queue = WorkedQueue(self.world.events, self.records, self.sqs, "material")

    @property
    def messages(self) -> MaterialQueue:
        return MaterialQueue(SqsQueue(self.sqs, "material"))

    def upload(self, number: int) -> None:
        self.bucket.now = datetime.now(UTC)
        self.bucket.write(f"{number:02}.html", a_page({"rule-a": f"解の公式: {next(self.versions)}番の版。"}))

    def passes(self, seconds: int) -> None:
        """Lets time pass, with deliveries at its end."""
        self.sqs.passes(seconds)
        time_passes(self.sql, seconds)
        self.bucket.grow_older(seconds)
        self.bucket.now = datetime.now(UTC)
        self._deliver()

    def minutes(self, number: int) -> None:
        for _ in range(number):
            self.passes(A_MINUTE)

    def night(self) -> list[str]:
        """Runs the nightly comparison; returns the keys found."""
        differences = self.world.night(reconciling(self.world.clients, self.world.kept)())
        self._deliver()
        return [one.where for one in differences]

    def _deliver(self) -> None:
        self.queue.send(*self.bucket.take_messages())
        for message in [] if self.is_busy else self.sqs.waiting:
            try:
                self.queue.hand_over(message)
            except Killed:
                # Its queue delivers the message again.
                continue

    @property
    def rows(self) -> dict[str, Waiting]:
        return {row.subject: row for row in self.records.waiting(limit=99).rows}

    @property
    def ready(self) -> int:
        (found,) = self.sql.execute("select count(*) from material where status = 'ready'").fetchall()
        return int(found[0])


@pytest.fixture
def library(a_world: Worlds) -> Library:
    """Pages that were uploaded a moment ago."""
    library = Library(a_world())
    for number in range(PAGES):
        library.upload(number)
    return library


@pytest.mark.parametrize(("error", "seconds"), [(AWAY, 90), (REFUSED, 90), (USED_UP, 630)])
def test_days_of_waiting_have_one_row_a_page_and_no_finding(library: Library, error: Exception, seconds: int) -> None:
    library.embedder.error = error
    library.minutes(12)
    assert (library.night(), len(library.rows)) == ([], PAGES)
    library.passes(A_DAY)
    assert (library.night(), len(library.rows), library.sqs.dead) == ([], PAGES, [])
    library.embedder.error = None
    for _ in range(seconds // 30):
        library.passes(30)
    assert (library.ready, library.rows, library.night()) == (PAGES, {}, [])


def test_a_queue_without_a_worker_does_not_grow(library: Library) -> None:
    library.is_busy = True
    library.minutes(20)
    assert (library.night(), len(library.sqs.messages)) == ([], PAGES)
    library.is_busy = False
    library.minutes(1)
    assert (library.ready, library.sqs.messages) == (PAGES, [])


@pytest.mark.parametrize("has_event", [True, False])
def test_a_page_that_kills_its_worker_is_one_dead_letter_with_a_reason(library: Library, has_event: bool) -> None:
    library.minutes(1)
    library.bucket.kills.add("00.html")
    library.upload(0)
    if not has_event:
        library.bucket.forget_messages()
        library.minutes(10)
        # The run finds the page, and the worker falls with it.
        assert library.night() == ["00.html"]
    library.minutes(30)
    assert len(library.sqs.dead) == 1
    state = library.world.state("00")
    assert (state.status, str(state.error).partition(":")[0]) == ("failed", "The worker ended without an answer")
    for _ in range(2):
        library.passes(A_DAY)
        assert library.night() == []
    assert (len(library.sqs.dead), library.sqs.messages) == (1, [])
    # The version before answers.
    assert (library.rows, library.world.state("00").chunks_count) == ({}, 1)
