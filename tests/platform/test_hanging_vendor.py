"""A vendor that answers no call: no worker runs out of time."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest
from sakuin.errors import Unavailable
from sakuin.knowledge.learns.instructions import Section
from sakuin.platform.calls import LONGEST_CALL, Ask, Circuit, VendorCalls, background
from sakuin.platform.embedding import Vector
from sakuin.platform.retry import Waiting
from sakuin.platform.telemetry import CurrentWork
from sakuin.platform.waiting import WorkRecords

from tests.builders import a_page
from tests.doubles.embedder import MODEL, MemoryEmbedder
from tests.doubles.learns_model import MemoryLearnsModel
from tests.events import Context
from tests.test_template import FUNCTIONS
from tests.worked_queue import Killed, WorkedQueue
from tests.worlds import SETTINGS, World, Worlds

TIMEOUT = FUNCTIONS["SakuinIndexMaterial"]["Timeout"]
BESIDE = replace(SETTINGS, model=replace(MODEL, name="another"))


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
    """Takes as long as OpenAI's client waits for an answer."""

    clock: Clock = field(default_factory=Clock)
    ask: Ask = field(default_factory=background)

    def passages(self, _texts: Sequence[str]) -> list[Vector]:
        self.ask(lambda: self.clock.hangs(30.0))
        return []


@dataclass
class HangingModel(MemoryLearnsModel):
    """The same for `learns`."""

    clock: Clock = field(default_factory=Clock)
    ask: Ask = field(default_factory=background)

    def learns(self, _sections: Sequence[Section]) -> Mapping[str, tuple[str, ...]]:
        self.ask(lambda: self.clock.hangs(30.0))
        return {}


@dataclass
class Worker:
    """One worker of `index_material`, which calls vendors as `bootstrap` has it."""

    records: WorkRecords
    world: World
    clock: Clock = field(default_factory=Clock)
    current: CurrentWork = field(default_factory=CurrentWork)
    circuits: dict[str, Circuit] = field(default_factory=dict)
    queue: WorkedQueue = field(init=False)

    def __post_init__(self) -> None:
        ask = self.calls("passages", attempts=3, longest_call=LONGEST_CALL)
        self.world.embedder = HangingEmbedder(clock=self.clock, ask=ask)
        self.world.embedders[BESIDE.model] = HangingEmbedder(BESIDE.model, clock=self.clock, ask=ask)

    def calls(self, work: str, *, attempts: int, longest_call: float) -> VendorCalls:
        def now() -> float:
            return self.clock.now

        retries = background(attempts=attempts, seconds_left=self.current.seconds_left, longest_call=longest_call)
        self.circuits[work] = Circuit(f"openai-{work}", "openai", clock=now)
        return VendorCalls(replace(retries, sleep=self.clock.passes, clock=now), self.circuits[work])

    def invoked(self, page: str) -> float:
        """Processes an upload of this page; returns the seconds that it took."""
        self.world.bucket.write(f"{page}.html", a_page({"rule-a": f"名: {page}の文。"}))
        (body,) = self.world.bucket.take_messages()
        return self.deliver(body)

    def deliver(self, body: str) -> float:
        """Processes a message; returns the seconds that it took."""
        started, self.clock.ends = self.clock.now, self.clock.now + TIMEOUT
        work = self.world.events
        self.clock.passes(1.0)
        self.queue = WorkedQueue(work, self.records, context=self.clock, current=self.current)
        self.is_done = self.queue.deliver(body)
        return self.clock.now - started

    def row(self, page: str) -> Waiting:
        return next(row for row in self.records.waiting(limit=9).rows if row.subject == page)


@pytest.fixture
def worker(records: WorkRecords, a_world: Worlds) -> Worker:
    return Worker(records, a_world())


@pytest.mark.parametrize("kept", [[SETTINGS], [BESIDE, SETTINGS]], ids=["one index", "two indexes"])
def test_a_vendor_that_hangs_ends_no_worker_and_the_first_opens_its_circuit(worker: Worker, kept: list[object]) -> None:
    for settings in (BESIDE, SETTINGS):
        if settings in kept:
            worker.world.indexes.add(settings)
    worker.world.indexes.activate(SETTINGS.id, force=True)
    for number in range(3):
        assert worker.invoked(f"page {number}") < TIMEOUT
        assert worker.row(f"page {number}").vendor == "openai"
    assert worker.circuits["passages"].failures >= 3
    assert worker.invoked("last") < 5
    assert (worker.is_done, worker.row("last").vendor) == (True, "openai")


def test_a_language_model_that_hangs_keeps_no_page_back(records: WorkRecords, a_world: Worlds) -> None:
    world = a_world(model=MemoryLearnsModel())
    for number in range(4):
        world.put(f"{number}.html", a_page({"rule-a": f"名: {number}の文。"}))
    worker = Worker(records, world)
    world.model = HangingModel(clock=worker.clock, ask=worker.calls("learns", attempts=1, longest_call=LONGEST_CALL))
    seconds = [worker.deliver(json.dumps({"learns": {"material": str(number)}})) for number in range(4)]
    # The fourth meets an open circuit.
    assert [round(each) for each in seconds] == [31, 31, 31, 1]
    assert {chunk.learns.source for chunk in world.chunks()} == {"provisional"}
    assert records.waiting().count == 0
