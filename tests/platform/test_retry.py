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


WAITS = "this waits for openai and continues automatically"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            CircuitOpen("openai keeps failing", vendor="openai", retry_after=20),
            Defer(20, f"openai keeps failing; {WAITS}", "openai", longest=2 * A_DAY),
        ),
        # Until the next day.
        (OverBudget("The tokens are used up"), Defer(12 * 3600, "The tokens are used up", longest=None)),
        (OutOfTime("There was no time"), SendAgain(0, "There was no time", longest=2 * A_DAY)),
        (
            RateLimited("embeddings", vendor="openai", retry_after=130),
            SendAgain(130, "Waiting for embeddings, about 3 minutes", longest=2 * A_DAY),
        ),
        (
            RateLimited("embeddings", vendor="openai", retry_after=4_000),
            SendAgain(900, "Waiting for embeddings, about 67 minutes", longest=2 * A_DAY),
        ),
        (REFUSED, Defer(0, f"{REFUSED}; {WAITS} after the correction", "openai", longest=20 * A_DAY)),
    ],
)
def test_work_that_has_to_wait_does_so_at_once_whatever_its_deliveries(
    error: Exception, expected: RetryDecision
) -> None:
    assert [decision(error, receives=receives) for receives in EACH_DELIVERY] == [expected] * MAX_FAILURES


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


@pytest.mark.parametrize("error", [AWAY, REFUSED, OutOfTime("There was no time")])
def test_work_that_may_wait_no_more_uses_up_its_deliveries(error: Exception) -> None:
    decisions = [type(retry_or_dead_letter(error, receives=receives)) for receives in EACH_DELIVERY]
    assert decisions == [Retry, Retry, Retry, Retry, DeadLetter]


def test_an_unexpected_error_is_shown_without_its_words() -> None:
    made = decision(RuntimeError("postgres://user:secret@host"), receives=5)
    assert made == DeadLetter("An unexpected error occurred; see the log")
