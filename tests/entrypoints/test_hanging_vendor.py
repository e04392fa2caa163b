"""A vendor that takes every call and answers none ends no worker, by a clock of the test's own."""

import io
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest
from aws_lambda_powertools import Logger, Metrics, Tracer
from sakuin.adapters.asking import Ask, Inside, patient
from sakuin.adapters.circuit import Circuit
from sakuin.adapters.circuit_breaker import guard_of
from sakuin.adapters.circuit_store import SharedCircuits
from sakuin.adapters.openai_learns import LONGEST_LEARNS
from sakuin.domain.page import Page
from sakuin.entrypoints.observing import CurrentWork
from sakuin.entrypoints.sqs import Handler
from sakuin.entrypoints.sqs_materials import material_handler
from sakuin.errors import Unavailable
from sakuin.ports.embedding import Vector
from sakuin.services.work_in_hand import WorkInHand

from tests.builders import a_page
from tests.entrypoints.events import Context, event
from tests.in_memory.circuits import MemoryCircuits
from tests.doubles.embedder import MODEL, MemoryEmbedder
from tests.doubles.learns_model import MemoryLearnsModel
from tests.in_memory.work import MemoryWork
from tests.world import SETTINGS, World
from tests.test_template import FUNCTIONS

INDEX_MATERIAL = FUNCTIONS["SakuinIndexMaterial"]
BATCH = INDEX_MATERIAL["Events"]["Materials"]["Properties"]["BatchSize"]
BESIDE = replace(SETTINGS, model=replace(MODEL, name="another"))
# Powertools counts failures by name, for the life of the process.
_names = itertools.count()


class Killed(BaseException):
    """Lambda's end of an invocation that took too long."""


@dataclass
class Clock(Context):
    """The time, and when the invocation ends."""

    now: float = 0.0
    ends: float = 0.0

    def passes(self, seconds: float) -> None:
        self.now += seconds
        if self.now >= self.ends:
            raise Killed

    def hangs(self, seconds: float) -> None:
        self.passes(seconds)
        raise Unavailable("The embedding service did not answer", vendor="openai")

    def get_remaining_time_in_millis(self) -> int:
        return round((self.ends - self.now) * 1000)


@dataclass
class HangingEmbedder(MemoryEmbedder):
    """Takes what OpenAI's client waits for an answer."""

    clock: Clock = field(default_factory=Clock)
    ask: Ask = field(default_factory=patient)

    def passages(self, _texts: Sequence[str]) -> list[Vector]:
        self.ask(lambda: self.clock.hangs(30.0))
        return []


@dataclass
class HangingModel(MemoryLearnsModel):
    """The same for `learns`."""

    clock: Clock = field(default_factory=Clock)
    ask: Ask = field(default_factory=patient)

    def learns(self, _page: Page) -> Mapping[str, tuple[str, ...]]:
        self.ask(lambda: self.clock.hangs(10.0))
        return {}


@dataclass
class Worker:
    """One worker of `index_material`, asking as `bootstrap` has it ask, and the rows of its work."""

    clock: Clock = field(default_factory=Clock)
    current: CurrentWork = field(default_factory=CurrentWork)
    circuits: MemoryCircuits = field(default_factory=MemoryCircuits)
    rows: MemoryWork = field(default_factory=MemoryWork)
    world: World = field(default_factory=World)
    number: int = field(default_factory=lambda: next(_names))
    handler: Handler = field(init=False)

    def __post_init__(self) -> None:
        ask = self.asks("passages", tries=3, longest_call=35.0)
        self.world.embedder = HangingEmbedder(clock=self.clock, ask=ask)
        self.world.embedders[BESIDE.model] = HangingEmbedder(BESIDE.model, clock=self.clock, ask=ask)
        logger = Logger(service=f"hanging-{self.number}", stream=io.StringIO())
        self.handler = material_handler(
            lambda change: self.world.follow(change),
            lambda _handle, _seconds: None,
            logger,
            Metrics(namespace="Sakuin", service="hanging"),
            Tracer(disabled=True),
            hold=lambda taken: WorkInHand(self.rows, taken, logger.warning),
            current=self.current,
        )

    def asks(self, work: str, *, tries: int, longest_call: float) -> Ask:
        now: Callable[[], float] = lambda: self.clock.now  # noqa: E731
        retries = patient(tries=tries, left=self.current.seconds_left, longest_call=longest_call)
        retries = replace(retries, sleep=self.clock.passes, clock=now)
        name = self.circuit(work)
        circuit = Circuit(name, "openai", lambda: guard_of(name, "openai", SharedCircuits(self.circuits)), clock=now)
        return Inside(retries.in_time, Inside(circuit, retries))

    def circuit(self, work: str) -> str:
        return f"hanging-{work}-{self.number}"

    def invoked(self, *pages: str) -> float:
        """Works on uploads of these pages, for as many seconds as it gives."""
        started, self.clock.ends = self.clock.now, self.clock.now + INDEX_MATERIAL["Timeout"]
        for page in pages:
            self.world.bucket.write(f"{page}.html", a_page({"rule-a": f"名: {page}の文。"}))
        record = event("index_material.put")["Records"][0]
        messages = zip(pages, self.world.bucket.take_messages(), strict=True)
        records = [record | {"messageId": page, "body": body} for page, body in messages]
        self.clock.passes(1.0)
        answer = self.handler({"Records": records}, self.clock)
        self.kept = [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]
        return self.clock.now - started


@pytest.fixture
def worker() -> Worker:
    return Worker()


@pytest.mark.parametrize("learns", [False, True])
@pytest.mark.parametrize("kept", [[SETTINGS], [BESIDE, SETTINGS]], ids=["one index", "two indexes"])
def test_a_vendor_that_hangs_ends_no_worker_and_the_first_opens_its_circuit(
    worker: Worker, kept: list[object], learns: bool
) -> None:
    if learns:
        ask = worker.asks("learns", tries=1, longest_call=LONGEST_LEARNS)
        worker.world.model = HangingModel(clock=worker.clock, ask=ask)
    for settings in (BESIDE, SETTINGS):
        if settings in kept:
            worker.world.indexes.keep(settings)
    worker.world.indexes.flip(SETTINGS.id, force=True)
    for number in range(3):
        worker.invoked(*(f"page {number}.{place}" for place in range(BATCH)))
    assert worker.circuits.records[worker.circuit("passages")].state == "OPEN"
    assert worker.invoked("last") < 5
    assert {row.id: row.state for row in worker.rows.rows()}["last"] == "parked"


def test_work_that_a_worker_has_no_time_for_costs_no_try_and_is_sent_again_at_once(worker: Worker) -> None:
    assert worker.invoked("a", "b", "c") < INDEX_MATERIAL["Timeout"]
    # It had its two calls, the next had one; after them there was no time for a third.
    assert worker.kept == ["a", "b"]
    (row,) = worker.rows.rows(ids=["c"])
    assert (row.state, row.attempt) == ("parked", 0)
    assert row.reason == "Its worker's time was nearly over; this goes on by itself"
    assert [work.id for work in worker.rows.due(limit=10)] == ["c"]
