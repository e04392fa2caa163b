"""How often a vendor is asked, how long one waits in between, and when one gives up."""

import math
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from sakuin.adapters.asking import Retries, RetryBudget
from sakuin.adapters.retry_after import retry_after
from sakuin.errors import CircuitOpen, Invalid, OutOfTime, Refused, Unavailable


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

    def asked(
        self, *, tries: int = 4, patience: float = 60.0, budget: RetryBudget | None = None, ends: float = math.inf
    ) -> Retries:
        return Retries(
            tries=tries,
            patience=patience,
            longest_pause=5.0,
            budget=budget or RetryBudget(),
            sleep=self.sleep,
            clock=lambda: self.now,
            share=lambda: 0.5,
            left=lambda: ends - self.now,
            longest_call=35.0,
        )


def test_pauses_are_a_random_part_of_one_that_doubles() -> None:
    vendor = Vendor(3)
    assert vendor.asked()(vendor) == "an answer"
    assert vendor.naps == [0.5, 1.0, 2.0]


def test_it_is_asked_so_often_and_no_more() -> None:
    vendor = Vendor(9)
    with pytest.raises(Unavailable):
        vendor.asked(tries=3)(vendor)
    assert vendor.calls == 3


def test_a_call_that_hung_is_not_repeated_beyond_one_s_patience() -> None:
    vendor = Vendor(9, seconds=30)
    with pytest.raises(Unavailable):
        vendor.asked()(vendor)
    assert (vendor.calls, vendor.now < 65) == (2, True)


def test_a_call_is_not_repeated_where_that_might_end_the_worker() -> None:
    vendor, budget = Vendor(9, seconds=30), RetryBudget()
    with pytest.raises(Unavailable):
        # After the first call and half a second 44 are left, for 35 and what is written then.
        vendor.asked(ends=74.5, budget=budget)(vendor)
    assert (vendor.calls, vendor.naps, budget.left) == (1, [], 10.0)


@pytest.mark.parametrize(("ends", "calls"), [(44.0, 0), (46.0, 1)])
def test_a_call_is_made_only_where_it_may_take_its_time(ends: float, calls: int) -> None:
    vendor = Vendor(0)
    with suppress(OutOfTime):
        vendor.asked(ends=ends).in_time(vendor)
    assert vendor.calls == calls


@pytest.mark.parametrize("error", [Invalid("no"), CircuitOpen("no"), Refused("no")])
def test_what_would_fail_again_is_not_repeated(error: Exception) -> None:
    vendor = Vendor(9, error)
    with pytest.raises(type(error)):
        vendor.asked()(vendor)
    assert vendor.calls == 1


def test_a_vendor_is_waited_for_as_it_asks() -> None:
    vendor = Vendor(1, Unavailable("no", retry_after=3.0))
    assert vendor.asked()(vendor) == "an answer"
    assert vendor.naps == [3.0]


def test_a_vendor_that_asks_for_long_is_not_waited_for() -> None:
    vendor = Vendor(1, Unavailable("no", retry_after=5.1))
    with pytest.raises(Unavailable) as failure:
        vendor.asked()(vendor)
    assert (failure.value.retry_after, vendor.calls, vendor.naps) == (5.1, 1, [])


def test_an_outage_multiplies_no_calls() -> None:
    vendor, budget = Vendor(10_000), RetryBudget()
    asks = vendor.asked(budget=budget)
    for _ in range(1000):
        with pytest.raises(Unavailable):
            asks(vendor)
    # Without a budget they would be 4,000.
    assert 1000 + 200 <= vendor.calls <= 1000 + 210


def test_a_healthy_vendor_earns_its_retries_back() -> None:
    budget, vendor = RetryBudget(left=0.0), Vendor(0)
    asks = vendor.asked(budget=budget)
    for _ in range(5):
        asks(vendor)
    assert budget.spend()
    assert not budget.spend()


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
