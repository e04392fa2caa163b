"""The decision after a failure: retry, defer or dead letter."""

import pytest
from sakuin.errors import CircuitOpen, Conflict, Invalid, OutOfTime, OverBudget, RateLimited, Refused, Unavailable
from sakuin.platform.retry import (
    MAX_FAILURES,
    DeadLetter,
    Defer,
    Retry,
    RetryDecision,
    SendAgain,
    decide_retry,
    retry_or_dead_letter,
)

NOON = 1_763_812_800.0
A_DAY = 86_400
EACH_DELIVERY = range(1, MAX_FAILURES + 1)
AWAY = Unavailable("The embedding service did not answer", vendor="openai")
REFUSED = Refused("The embedding service refused with 401: check openai_api_key", vendor="openai")


def decision(error: Exception, *, receives: int = 1) -> RetryDecision:
    return decide_retry(error, receives=receives, now=NOON)


@pytest.mark.parametrize("error", [Invalid("It is wrong"), Conflict("Somebody was first"), Unavailable("away")])
def test_what_no_vendor_is_to_blame_for_is_tried_five_times(error: Exception) -> None:
    tries = [decision(error, receives=receives) for receives in range(1, MAX_FAILURES)]
    assert tries == [Retry(seconds, str(error)) for seconds in (5, 30, 180, 720)]
    assert decision(error, receives=MAX_FAILURES) == DeadLetter(str(error))


def test_a_short_failure_of_a_vendor_is_tried_again_and_an_outage_never_uses_up_the_deliveries() -> None:
    decisions = [decision(AWAY, receives=receives) for receives in EACH_DELIVERY]
    assert list(map(type, decisions)) == [Retry, Retry, Retry, Defer, Defer]
    reason = "The embedding service did not answer"
    assert decisions[0] == Retry(5, reason, "openai")
    waits = f"{reason}; this waits for openai and continues automatically"
    assert decisions[3] == Defer(0, waits, "openai", longest=2 * A_DAY)


@pytest.mark.parametrize("receives", EACH_DELIVERY)
def test_work_for_a_vendor_that_is_not_asked_waits_at_once(receives: int) -> None:
    error = CircuitOpen("openai keeps failing", vendor="openai", retry_after=20)
    assert decision(error, receives=receives) == Defer(
        20, "openai keeps failing; this waits for openai and continues automatically", "openai", longest=2 * A_DAY
    )


@pytest.mark.parametrize("error", [Unavailable, CircuitOpen])
@pytest.mark.parametrize(("wanted", "seconds"), [(None, 60), (200, 200)])
def test_a_busy_namespace_is_no_vendor_s_failure(
    error: type[Unavailable], wanted: float | None, seconds: float
) -> None:
    busy = error("turbopuffer answered 429", vendor="turbopuffer", namespace="a project's", retry_after=wanted)
    assert decision(busy, receives=4) == Defer(seconds, "turbopuffer answered 429", None, longest=2 * A_DAY)


@pytest.mark.parametrize(("receives", "kind"), [(1, Retry), (4, Defer)])
@pytest.mark.parametrize(("wanted", "seconds"), [(700, 700), (315_360_000, 900)])
def test_a_vendor_s_wait_is_at_most_a_quarter_hour(receives: int, kind: type, wanted: float, seconds: float) -> None:
    made = decision(Unavailable("429", vendor="openai", retry_after=wanted), receives=receives)
    assert isinstance(made, kind)
    assert not isinstance(made, DeadLetter)
    assert made.seconds == seconds


@pytest.mark.parametrize("receives", EACH_DELIVERY)
def test_work_over_the_budget_continues_with_the_next_day_whatever_its_deliveries(receives: int) -> None:
    error = OverBudget("The day's tokens are used up")
    assert decision(error, receives=receives) == Defer(12 * 3600, "The day's tokens are used up", longest=None)


@pytest.mark.parametrize("receives", EACH_DELIVERY)
def test_work_that_its_worker_had_no_time_for_continues_at_once_and_ends_after_two_days(receives: int) -> None:
    error = OutOfTime("There was no time")
    assert decision(error, receives=receives) == SendAgain(0, "There was no time", longest=2 * A_DAY)


@pytest.mark.parametrize("receives", EACH_DELIVERY)
@pytest.mark.parametrize(("seconds", "waits"), [(130, 130), (4_000, 900)])
def test_work_that_a_vendor_delays_is_sent_again_after_that_time(receives: int, seconds: float, waits: float) -> None:
    error = RateLimited("embeddings", vendor="openai", retry_after=seconds)
    reason = f"Waiting for embeddings, about {3 if seconds == 130 else 67} minutes"
    assert decision(error, receives=receives) == SendAgain(waits, reason, longest=2 * A_DAY)


@pytest.mark.parametrize("receives", EACH_DELIVERY)
def test_work_whose_key_is_refused_waits_at_once_for_twenty_days_and_says_what_to_check(receives: int) -> None:
    assert decision(REFUSED, receives=receives) == Defer(
        0,
        "The embedding service refused with 401: check openai_api_key; this waits for openai and continues "
        "automatically after the correction",
        "openai",
        longest=20 * A_DAY,
    )


@pytest.mark.parametrize("error", [AWAY, REFUSED, OutOfTime("There was no time")])
def test_work_that_may_wait_no_more_uses_up_its_deliveries(error: Exception) -> None:
    decisions = [type(retry_or_dead_letter(error, receives=receives)) for receives in EACH_DELIVERY]
    assert decisions == [Retry, Retry, Retry, Retry, DeadLetter]


def test_an_unexpected_error_is_shown_without_its_words() -> None:
    made = decision(RuntimeError("postgres://user:secret@host"), receives=5)
    assert made == DeadLetter("An unexpected error occurred; see the log")
