"""Hours without a vendor while each minute reconciles: a page that waits is not asked for beside its own work."""

import io
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from aws_lambda_powertools import Logger, Metrics, Tracer
from sakuin.domain.work import WORK_ATTRIBUTE
from sakuin.entrypoints.sqs import Handler
from sakuin.entrypoints.sqs_materials import material_handler
from sakuin.errors import CircuitOpen, OverBudget
from sakuin.ports.embedding import Vector
from sakuin.services.follow_bucket import Change, Followed
from sakuin.services.give_up_page import GiveUpPage
from sakuin.services.send_due_work import SendDueWork
from sakuin.services.work_in_hand import WorkInHand

from tests.builders import a_page
from tests.entrypoints.events import Context, event
from tests.doubles.embedder import MemoryEmbedder
from tests.in_memory.work import MemoryWorkQueues
from tests.world import World

PAGES = 26


@dataclass
class Refusing(MemoryEmbedder):
    """An embedder that fails as it is told to."""

    error: Exception | None = None

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        if self.error is not None:
            raise self.error
        return super().passages(texts)


@dataclass
class Library:
    """The bucket, its queue and its worker, and a schedule once a minute; everything by the clock of the rows."""

    world: World = field(default_factory=World)
    embedder: Refusing = field(default_factory=Refusing)
    # A worker that is busy elsewhere takes nothing.
    takes: int = 1_000
    killed_by: str | None = None
    queue: list[tuple[str, str, str]] = field(default_factory=list)
    buried: list[str] = field(default_factory=list)
    found: int = 0
    names: "itertools.count[int]" = field(default_factory=itertools.count)
    handler: Handler = field(init=False)

    def __post_init__(self) -> None:
        self.world.embedder = self.embedder
        self.handler = material_handler(
            self._followed,
            lambda _handle, _seconds: None,
            Logger(service="outage", stream=io.StringIO()),
            Metrics(namespace="Sakuin", service="outage"),
            Tracer(disabled=True),
            hold=lambda taken: WorkInHand(self.world.work, taken, lambda _problem: None),
        )

    def pass_minutes(self, count: int) -> None:
        for _ in range(count):
            self._minute()

    def upload(self, number: int) -> None:
        self.world.bucket.now = self._now()
        self.world.bucket.write(f"{number:02}.html", a_page({"rule-a": f"解の公式: {next(self.names)}番の版。"}))

    def _minute(self) -> None:
        self.world.work.now += 60
        queues = MemoryWorkQueues()
        gave_up = GiveUpPage(self.world.index, "", self.world.bucket)
        SendDueWork(self.world.work, queues, lambda _queue, about, reason: gave_up(about, reason))()
        self.buried += [work.body for work in queues.buried]
        for work in queues.sent:
            self._send(work.body, work.id)
        reconcile = self.world.reconcile_with(now=self._now(), line_is_empty=lambda: not self.queue)
        self.found += len(reconcile(whole=False).differences)
        for body in [*self.world.bucket.take_messages(), *self.world.queue.take_messages()]:
            self._send(body, None)
        for _ in range(min(self.takes, len(self.queue))):
            self._deliver(*self.queue.pop(0))

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self.world.work.now, UTC)

    def _send(self, body: str, work_id: str | None) -> None:
        name = f"m{next(self.names)}"
        self.queue.append((name, body, work_id or name))

    def _deliver(self, name: str, body: str, work_id: str) -> None:
        record = event("index_material.put")["Records"][0] | {"messageId": name, "receiptHandle": name}
        sent = str(round(self.world.work.now * 1000))
        record["attributes"] |= {"ApproximateReceiveCount": "1", "SentTimestamp": sent}
        record |= {"body": body, "messageAttributes": {WORK_ATTRIBUTE: {"stringValue": work_id}}}
        try:
            self.handler({"Records": [record]}, Context())
        except _Killed:
            # Nobody says what became of it: the row falls silent.
            return

    def _followed(self, change: Change) -> Followed:
        if self.killed_by is not None and self.killed_by in str(change):
            raise _Killed
        return self.world.follow(change)


class _Killed(BaseException):
    """The worker is gone."""


@pytest.fixture
def library() -> Library:
    """Pages that were uploaded a moment ago."""
    library = Library()
    for number in range(PAGES):
        library.upload(number)
    return library


AWAY = CircuitOpen("openai keeps failing", vendor="openai", retry_after=20)


@pytest.mark.parametrize("error", [AWAY, OverBudget("The day's budget is used up")])
def test_hours_of_waiting_have_one_row_of_work_a_page_and_no_finding(library: Library, error: Exception) -> None:
    library.embedder.error = error
    library.pass_minutes(120)
    assert (len(library.world.work.table), library.found) == (PAGES, 0)
    library.embedder.error = None
    library.world.work.now += 24 * 3600
    library.pass_minutes(10)
    assert (len(library.world.index.rows), library.world.work.table, library.found) == (PAGES, {}, 0)


def test_a_page_that_is_deleted_unheard_goes_while_its_new_version_waits(library: Library) -> None:
    library.pass_minutes(5)
    library.embedder.error = AWAY
    library.upload(0)
    library.pass_minutes(5)
    assert [row.state for row in library.world.work.rows(subjects=["00"])] == ["parked"]
    library.world.bucket.remove("00.html")
    library.world.bucket.forget_messages()
    library.pass_minutes(5)
    assert library.world.index.rows["00"].status == "deleted"


def test_a_line_that_nobody_takes_grows_by_nothing(library: Library) -> None:
    library.takes = 0
    library.pass_minutes(60)
    assert (len(library.queue), library.found) == (PAGES, 0)


def test_a_page_that_ends_its_worker_is_one_dead_letter_and_says_so(library: Library) -> None:
    library.pass_minutes(5)
    library.killed_by = "00.html"
    library.upload(0)
    # The event is lost: a look finds the page, and falls with it.
    library.world.bucket.forget_messages()
    library.pass_minutes(120)
    assert len(library.buried) == 1
    assert library.world.index.rows["00"].status == "failed"
    assert str(library.world.index.rows["00"].error).startswith("Its worker stopped without a word 5 times")


def test_a_version_that_is_newer_than_a_dead_letter_is_found(library: Library) -> None:
    library.killed_by = "00.html"
    library.pass_minutes(60)
    library.upload(0)
    library.world.bucket.forget_messages()
    library.killed_by = None
    library.pass_minutes(60)
    assert (len(library.buried), library.world.index.rows["00"].status) == (1, "ready")
    assert library.world.index.rows["00"].indexed_version_id == library.world.bucket.current_version("00.html")
