"""A vendor that keeps failing is left alone, by every worker that shares the records."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from aws_lambda_powertools.utilities.circuit_breaker import CircuitBreakerConfig, CircuitState
from sakuin.adapters.circuit import Change, Circuit
from sakuin.adapters.circuit_breaker import guard_of
from sakuin.adapters.circuit_store import SharedCircuits
from sakuin.errors import CircuitOpen, Invalid, Refused, SakuinError, Unavailable

from tests.in_memory.circuits import MemoryCircuits

_names = itertools.count()


@dataclass
class Vendor:
    """Fails as told; counts who asks."""

    error: SakuinError | None = None
    calls: int = 0

    def __call__(self) -> str:
        self.calls += 1
        if self.error is not None:
            raise self.error
        return "an answer"


@dataclass
class Outage:
    """A vendor, the records of its circuit, and workers."""

    vendor: Vendor = field(default_factory=Vendor)
    records: MemoryCircuits = field(default_factory=MemoryCircuits)
    told: list[Change] = field(default_factory=list)
    # Powertools counts failures by name, for the life of the process.
    name: str = field(default_factory=lambda: f"vendor-{next(_names)}")

    def worker(self, *, open_seconds: int = 1000, clock: Callable[[], float] = lambda: 0.0) -> Circuit:
        store = SharedCircuits(self.records)
        return Circuit(
            self.name,
            "openai",
            lambda: guard_of(self.name, "openai", store, self._tell, open_seconds=open_seconds, cached_seconds=0),
            self._tell,
            clock=clock,
        )

    def fail(self, worker: Circuit, times: int) -> None:
        self.vendor.error = Unavailable("The vendor answered 500", vendor="openai")
        for _ in range(times):
            with pytest.raises(Unavailable):
                worker(self.vendor)

    def grows_old(self) -> None:
        """The circuit has been open for long enough to be probed."""
        known = self.records.records[self.name]
        self.records.records[self.name] = replace(known, opened_at=1, lease_until=known.lease_until and 1)

    def _tell(self, _name: str, change: Change) -> None:
        self.told.append(change)


@pytest.fixture
def outage() -> Outage:
    return Outage()


def test_a_healthy_vendor_costs_no_look_at_the_records(outage: Outage) -> None:
    worker = outage.worker()
    assert [worker(outage.vendor) for _ in range(50)] == ["an answer"] * 50
    assert outage.records.asked == 0


def test_three_failures_in_a_row_open_the_circuit_for_all_workers(outage: Outage) -> None:
    worker, other = outage.worker(), outage.worker()
    outage.fail(worker, 3)
    assert outage.told == ["opened"]
    outage.fail(other, 1)
    calls = outage.vendor.calls
    for each in (worker, other):
        with pytest.raises(CircuitOpen, match="openai keeps failing") as refused:
            each(outage.vendor)
        assert refused.value.vendor == "openai"
        assert 990 < (refused.value.retry_after or 0) <= 1000
    assert outage.vendor.calls == calls
    assert outage.told == ["opened", "refused", "refused"]


def test_failures_with_an_answer_between_them_open_nothing(outage: Outage) -> None:
    worker = outage.worker()
    for _ in range(5):
        outage.fail(worker, 2)
        outage.vendor.error = None
        assert worker(outage.vendor) == "an answer"
    assert outage.told == []


def test_a_vendor_that_refuses_requests_is_there(outage: Outage) -> None:
    worker = outage.worker()
    outage.fail(worker, 2)
    outage.vendor.error = Invalid("The text is too long")
    for _ in range(10):
        with pytest.raises(Invalid):
            worker(outage.vendor)
    assert outage.told == []


def test_the_probe_that_succeeds_closes_the_circuit(outage: Outage) -> None:
    worker, other = outage.worker(), outage.worker()
    outage.fail(worker, 3)
    outage.fail(other, 1)
    outage.grows_old()
    outage.vendor.error = None
    assert other(outage.vendor) == "an answer"
    assert outage.told == ["opened", "probed", "closed"]
    assert worker(outage.vendor) == "an answer"


def test_the_probe_that_fails_opens_it_anew(outage: Outage) -> None:
    worker = outage.worker()
    outage.fail(worker, 3)
    outage.grows_old()
    outage.fail(worker, 1)
    assert outage.vendor.calls == 4
    with pytest.raises(CircuitOpen):
        worker(outage.vendor)
    assert outage.told == ["opened", "probed", "opened", "refused"]


def test_a_vendor_that_refuses_our_key_is_there_and_that_is_told(outage: Outage) -> None:
    worker = outage.worker()
    outage.vendor.error = Refused("The vendor answered 401", vendor="openai")
    for _ in range(5):
        with pytest.raises(Refused):
            worker(outage.vendor)
    assert (outage.vendor.calls, outage.records.asked, outage.told) == (5, 0, ["denied"] * 5)


def test_a_vendor_is_not_asked_before_it_wants_to_be(outage: Outage) -> None:
    now = [1000.0]
    worker = outage.worker(clock=lambda: now[0])
    outage.vendor.error = Unavailable("The vendor answered 429", vendor="openai", retry_after=20.0)
    with pytest.raises(Unavailable):
        worker(outage.vendor)
    outage.vendor.error = None
    now[0] = 1015.0
    with pytest.raises(CircuitOpen, match="in 5 seconds") as refused:
        worker(outage.vendor)
    assert refused.value.retry_after == pytest.approx(5)
    now[0] = 1020.5
    assert worker(outage.vendor) == "an answer"
    assert outage.vendor.calls == 2


def test_without_its_records_a_worker_spares_the_vendor_alone(outage: Outage) -> None:
    worker, other = outage.worker(), outage.worker()
    outage.records.down = True
    outage.fail(worker, 3)
    for _ in range(5):
        with pytest.raises(CircuitOpen):
            worker(outage.vendor)
    assert outage.records.asked == 1
    outage.vendor.error = None
    assert other(outage.vendor) == "an answer"


def test_without_its_records_a_worker_probes_and_closes_alone(outage: Outage) -> None:
    outage.records.down = True
    config = CircuitBreakerConfig(recovery_timeout=30, local_cache_max_age=0)
    own = SharedCircuits(outage.records)
    own.configure(config, outage.name)
    own.save_open(outage.name, failure_count=3, opened_at=100)
    assert (own.get_state(outage.name).state, own.get_state(outage.name).opened_at) == (CircuitState.OPEN, 100)
    assert own.try_acquire_half_open(outage.name, "me", 100)
    assert own.get_state(outage.name).half_open_owner == "me"
    own.save_closed(outage.name)
    assert own.get_state(outage.name).state == CircuitState.CLOSED
    assert outage.records.asked == 1
