"""Retries, circuits and second requests of vendor calls."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from threading import Event
from typing import Any

import pytest
from sakuin.errors import CircuitOpen, Invalid, OutOfTime, RateLimited, Refused, SakuinError, Unavailable
from sakuin.platform.calls import Change, Circuit, Retries, RetryBudget, VendorCalls, retry_after
from sakuin.platform.openai.hedging import HedgedQuestions


@dataclass
class Vendor:
    """Fails so often, then answers; each call takes `seconds`."""

    failures: int
    error: Exception = field(default_factory=lambda: Unavailable("no"))
    seconds: float = 0.0
    calls: int = 0
    now: float = 0.0
    naps: list[float] = field(default_factory=list)

    def __call__(self) -> str:
        self.calls += 1
        self.now += self.seconds
        if self.calls <= self.failures:
            raise self.error
        return "an answer"

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.now += seconds

    def retries(
        self, *, attempts: int = 4, max_seconds: float = 60.0, budget: RetryBudget | None = None, ends: float = math.inf
    ) -> Retries:
        return Retries(
            attempts=attempts,
            max_seconds=max_seconds,
            max_pause=5.0,
            budget=budget or RetryBudget(),
            sleep=self.sleep,
            clock=lambda: self.now,
            jitter=lambda: 0.5,
            seconds_left=lambda: ends - self.now,
            longest_call=35.0,
            max_wait=60.0,
        )


def test_pauses_are_a_random_part_of_one_that_doubles() -> None:
    vendor = Vendor(3)
    assert vendor.retries()(vendor) == "an answer"
    assert vendor.naps == [0.5, 1.0, 2.0]


def test_a_call_that_hung_is_not_repeated_beyond_the_patience() -> None:
    vendor = Vendor(9, seconds=30)
    with pytest.raises(Unavailable):
        vendor.retries()(vendor)
    assert (vendor.calls, vendor.now < 65) == (2, True)


def test_a_call_is_not_repeated_where_that_might_end_the_worker() -> None:
    vendor, budget = Vendor(9, seconds=30), RetryBudget()
    with pytest.raises(Unavailable):
        # After the first call and half a second 44 are left, for 35 and what is written then.
        vendor.retries(ends=74.5, budget=budget)(vendor)
    assert (vendor.calls, vendor.naps, budget.left) == (1, [], 10.0)


@pytest.mark.parametrize("error", [Invalid("no"), CircuitOpen("no"), Refused("no")])
def test_what_would_fail_again_is_not_repeated(error: Exception) -> None:
    vendor = Vendor(9, error)
    with pytest.raises(type(error)):
        vendor.retries()(vendor)
    assert vendor.calls == 1


def test_a_short_retry_time_is_waited_for_and_a_long_one_not() -> None:
    vendor = Vendor(1, Unavailable("no", retry_after=3.0))
    assert vendor.retries()(vendor) == "an answer"
    assert vendor.naps == [3.0]
    vendor = Vendor(1, Unavailable("no", retry_after=5.1))
    with pytest.raises(Unavailable) as failure:
        vendor.retries()(vendor)
    assert (failure.value.retry_after, vendor.calls, vendor.naps) == (5.1, 1, [])


def busy(seconds: float) -> RateLimited:
    return RateLimited("embeddings", vendor="openai", retry_after=seconds)


def test_a_rate_limit_is_waited_for_and_takes_no_attempt() -> None:
    vendor, budget = Vendor(3, busy(18.0)), RetryBudget()
    assert vendor.retries(attempts=1, budget=budget)(vendor) == "an answer"
    assert (vendor.naps, budget.left) == ([18.0] * 3, 10.0)


@pytest.mark.parametrize(("seconds", "ends", "calls"), [(61.0, math.inf, 1), (25.0, math.inf, 3), (25.0, 90.0, 2)])
def test_a_rate_limit_is_waited_for_within_the_worker_s_time(seconds: float, ends: float, calls: int) -> None:
    vendor = Vendor(9, busy(seconds))
    with pytest.raises(RateLimited, match="Waiting for embeddings, about"):
        vendor.retries(ends=ends)(vendor)
    assert vendor.calls == calls


def test_an_outage_multiplies_no_calls() -> None:
    vendor, budget = Vendor(10_000), RetryBudget()
    call = vendor.retries(budget=budget)
    for _ in range(1000):
        with pytest.raises(Unavailable):
            call(vendor)
    # Without a budget they would be 4,000.
    assert 1000 + 200 <= vendor.calls <= 1000 + 210


def test_a_healthy_vendor_earns_its_retries_back() -> None:
    budget, vendor = RetryBudget(left=0.0), Vendor(0)
    call = vendor.retries(budget=budget)
    for _ in range(5):
        call(vendor)
    assert budget.take()
    assert not budget.take()


# ---------------------------------------------------------------- a vendor that keeps failing


@dataclass
class Worker:
    """One worker's calls of a vendor, without retries, by a clock of its own. `error` is what each call raises."""

    error: SakuinError | None = None
    calls: int = 0
    now: float = 1000.0
    seconds_left: float = math.inf
    changes: list[Change] = field(default_factory=list)
    circuit: Circuit = field(init=False)

    def __post_init__(self) -> None:
        self.circuit = Circuit(
            "turbopuffer-writes",
            "turbopuffer",
            lambda _name, change: self.changes.append(change),
            clock=lambda: self.now,
        )

    def call(self, namespace: str | None = None) -> str:
        retries = Retries(
            attempts=1, max_seconds=60.0, max_pause=5.0, seconds_left=lambda: self.seconds_left, longest_call=35.0
        )
        return VendorCalls(retries, self.circuit)(self.answer, namespace=namespace)

    def answer(self) -> str:
        self.calls += 1
        if self.error is not None:
            raise self.error
        return "an answer"

    def fails(self, times: int, error: SakuinError | None = None, *, namespace: str | None = None) -> None:
        self.error = error or Unavailable("The vendor answered 500", vendor="turbopuffer")
        for _ in range(times):
            with pytest.raises(type(self.error)):
                self.call(namespace)
        self.error = None

    def is_not_called(self, namespace: str | None = None) -> CircuitOpen:
        """Returns the error raised in place of a call."""
        before = self.calls
        with pytest.raises(CircuitOpen) as refused:
            self.call(namespace)
        assert self.calls == before
        return refused.value


@pytest.fixture
def worker() -> Worker:
    return Worker()


def test_three_failures_in_a_row_open_the_circuit_for_half_a_minute(worker: Worker) -> None:
    worker.fails(3)
    refused = worker.is_not_called()
    assert str(refused) == "turbopuffer keeps failing; the next call is possible in 30 seconds"
    assert (refused.vendor, refused.retry_after, refused.namespace) == ("turbopuffer", 30.0, None)
    worker.now += 29
    worker.is_not_called("a namespace")
    assert worker.changes == ["opened", "not called", "not called"]


def test_after_half_a_minute_one_call_decides_about_the_circuit(worker: Worker) -> None:
    worker.fails(3)
    worker.now += 30
    worker.fails(1)
    worker.is_not_called()
    worker.now += 30
    assert [worker.call() for _ in range(3)] == ["an answer"] * 3
    worker.fails(2)
    assert worker.call() == "an answer"
    assert (worker.calls, worker.changes) == (10, ["opened", "not called", "closed"])


def test_failures_with_an_answer_or_a_refusal_between_them_open_nothing(worker: Worker) -> None:
    for _ in range(5):
        worker.fails(2)
        assert worker.call() == "an answer"
        worker.fails(2)
        worker.fails(2, Invalid("The text is too long"))
    assert worker.changes == []


def test_a_refused_key_opens_no_circuit_in_a_worker_and_is_reported(worker: Worker) -> None:
    worker.fails(5, Refused("The vendor answered 401", vendor="turbopuffer"))
    assert (worker.calls, worker.changes) == (5, ["refused"] * 5)


@pytest.mark.parametrize(("asked", "waits"), [(20.0, 20.0), (1e9, 60.0)])
def test_a_vendor_is_not_called_before_its_retry_time(worker: Worker, asked: float, waits: float) -> None:
    worker.fails(1, Unavailable("The vendor answered 503", vendor="turbopuffer", retry_after=asked))
    worker.now += waits - 5
    assert worker.is_not_called().retry_after == pytest.approx(5)
    worker.now += 5.5
    assert worker.call() == "an answer"


def test_a_busy_namespace_does_not_block_others(worker: Worker) -> None:
    worker.fails(10, Unavailable("429", vendor="turbopuffer", namespace="hot"), namespace="hot")
    worker.fails(1, Unavailable("429", vendor="turbopuffer", retry_after=20.0, namespace="hot"), namespace="hot")
    assert worker.changes == []
    refused = worker.is_not_called("hot")
    assert str(refused) == "a namespace of turbopuffer keeps failing; the next call is possible in 20 seconds"
    assert (refused.namespace, refused.retry_after) == ("hot", 20.0)
    assert worker.call("cold") == worker.call() == "an answer"
    worker.is_not_called("hot")
    worker.now += 20
    assert worker.call("hot") == "an answer"


def test_rate_limits_open_no_circuit_and_are_respected(worker: Worker) -> None:
    for _ in range(5):
        worker.fails(1, busy(20.0))
        worker.now += 19
        with pytest.raises(RateLimited) as limited:
            worker.call()
        assert (str(limited.value), limited.value.retry_after) == ("Waiting for embeddings, about 1 minute", 1.0)
        worker.now += 1
    assert worker.call() == "an answer"
    assert (worker.calls, set(worker.changes)) == (6, {"not called"})


def test_a_rate_limit_is_an_answer_and_closes_the_circuit(worker: Worker) -> None:
    worker.fails(3)
    worker.now += 30
    worker.fails(1, busy(0.0))
    assert worker.changes == ["opened", "closed"]
    assert worker.call() == "an answer"


def test_namespaces_that_are_busy_no_more_are_forgotten(worker: Worker) -> None:
    for number in range(100):
        name = f"namespace {number}"
        worker.fails(1, Unavailable("429", vendor="turbopuffer", retry_after=5.0, namespace=name), namespace=name)
        worker.now += 5
    assert len(worker.circuit.not_before) <= 2


@pytest.mark.parametrize(("seconds", "calls"), [(44.0, 0), (46.0, 1)])
def test_a_call_is_made_only_where_it_may_take_its_time(worker: Worker, seconds: float, calls: int) -> None:
    worker.seconds_left = seconds
    if calls:
        assert worker.call() == "an answer"
    else:
        with pytest.raises(OutOfTime, match="this continues automatically"):
            worker.call()
    assert (worker.calls, worker.changes) == (calls, [])


def test_each_call_is_repeated_before_it_counts_as_a_failure() -> None:
    vendor, circuit = Vendor(9), Circuit("openai-passages", "openai")
    with pytest.raises(Unavailable):
        VendorCalls(vendor.retries(attempts=4), circuit)(vendor)
    assert (vendor.calls, circuit.failures) == (4, 1)


# ---------------------------------------------------------------- what a vendor asks for


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "tomorrow"}, None),
        ({"retry-after": "Fri, 01 Jan 2021 00:00:00 GMT"}, 0.0),
    ],
)
def test_what_an_answer_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_a_date_is_so_many_seconds_from_now() -> None:
    soon = datetime.now(UTC) + timedelta(seconds=90)
    assert retry_after({"retry-after": format_datetime(soon, usegmt=True)}) == pytest.approx(90, abs=5)


@dataclass
class Service:
    """Answers each request with its number; the first of a `stuck` one waits for the second one."""

    stuck: bool = False
    fails: bool = False
    asked: int = 0
    second: Event = field(default_factory=Event)
    given: list[float] = field(default_factory=list)

    def within(self, seconds: float) -> Any:
        self.given.append(seconds)
        return self

    def questions(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += 1
        number = self.asked
        if self.stuck and number == 1:
            assert self.second.wait(30)
        if self.stuck and number == 2:
            self.second.set()
            if self.fails:
                raise Unavailable("down")
        return [[float(number)] for _ in texts]


def embedder(service: Service, counted: list[str]) -> HedgedQuestions:
    hedged = HedgedQuestions(service.within, 0.8, 2.0, counted.append, clock=lambda: 0.0)
    hedged.seconds.extend([0.125] * 20)
    hedged.allowed = 1.0
    return hedged


def test_the_first_answer_to_a_slow_request_and_to_its_second_counts() -> None:
    counted: list[str] = []
    service = Service(stuck=True)
    assert len(embedder(service, counted).questions(["a", "b"])) == 2
    assert (service.asked, counted) == (2, ["EmbeddingsAskedTwice"])
    assert service.given == [0.8, pytest.approx(0.675)]


def test_the_first_request_of_a_worker_has_time_to_connect() -> None:
    service = Service()
    hedged = HedgedQuestions(service.within, 0.8, 2.0)
    for _ in range(3):
        hedged.questions(["a"])
    assert service.given == [2.0, 0.8, 0.8]


def test_the_error_of_one_is_no_error_while_the_other_answers() -> None:
    service = Service(stuck=True, fails=True)
    assert len(embedder(service, []).questions(["a"])) == 1


def test_a_second_request_is_made_for_one_call_of_twenty_at_most() -> None:
    counted: list[str] = []
    service = Service()
    hedged = HedgedQuestions(service.within, 0.8, 2.0, counted.append)
    for _ in range(100):
        hedged.questions(["a"])
    assert service.asked - 100 == len(counted) <= 5


def test_an_error_of_the_only_request_is_raised() -> None:
    class Down:
        def questions(self, texts: Sequence[str]) -> list[list[float]]:
            raise Unavailable("down")

    down: Any = Down()
    with pytest.raises(Unavailable):
        HedgedQuestions(lambda _seconds: down, 0.8, 2.0).questions(["a"])
