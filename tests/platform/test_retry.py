"""The decision after a failure: wait or dead letter."""

import pytest
from sakuin.errors import CircuitOpen, Conflict, Invalid, OutOfTime, OverBudget, RateLimited, Refused, Unavailable
from sakuin.platform.retry import MAX_FAILURES, DeadLetter, Wait, WorkersDied, decide_retry

A_DAY = 86_400
AWAY = Unavailable("The embedding service did not answer", vendor="openai")
REFUSED = Refused("The embedding service refused with 401: check openai_api_key", vendor="openai")
WAITS = "this waits for openai and continues automatically"


def decision(error: Exception, *, failures: int = 0, waited: float = 0.0) -> Wait | DeadLetter:
    return decide_retry(error, failures=failures, waited=waited)


@pytest.mark.parametrize("error", [Invalid("It is wrong"), Conflict("Somebody was first"), Unavailable("away")])
def test_what_no_vendor_is_to_blame_for_is_tried_five_times(error: Exception) -> None:
    decisions = [decision(error, failures=failures) for failures in range(MAX_FAILURES)]
    waits = [Wait(seconds, str(error), is_failure=True) for seconds in (5, 30, 60, 60)]
    assert decisions == [*waits, DeadLetter(str(error))]


def test_a_short_failure_of_a_vendor_costs_seconds_and_an_outage_pauses_of_a_minute() -> None:
    reason = f"The embedding service did not answer; {WAITS}"
    pauses = ((0, 5), (20, 10), (70, 35), (3600, 60))
    for waited, seconds in pauses:
        for failures in (0, MAX_FAILURES):
            assert decision(AWAY, failures=failures, waited=waited) == Wait(seconds, reason, "openai")
    half = decide_retry(AWAY, failures=0, waited=3600, part=0.5)
    assert half == Wait(30, reason, "openai")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            CircuitOpen("openai keeps failing", vendor="openai", retry_after=20),
            Wait(20, f"openai keeps failing; {WAITS}", "openai"),
        ),
        (OverBudget("The tokens are used up"), Wait(600, "The tokens are used up")),
        (OutOfTime("There was no time"), Wait(0, "There was no time")),
        (
            RateLimited("embeddings", vendor="openai", retry_after=30),
            Wait(30, "Waiting for embeddings, about 1 minute", "openai"),
        ),
        # A vendor that names hours may be back in a minute.
        (
            RateLimited("embeddings", vendor="openai", retry_after=4_000),
            Wait(60, "Waiting for embeddings, about 67 minutes", "openai"),
        ),
        (Unavailable("429", vendor="openai", retry_after=315_360_000), Wait(60, f"429; {WAITS}", "openai")),
        (REFUSED, Wait(5, f"{REFUSED}; {WAITS} after the correction", "openai")),
        # A busy namespace is no vendor's failure.
        (
            CircuitOpen("turbopuffer answered 429", vendor="turbopuffer", namespace="a project's", retry_after=20),
            Wait(20, "turbopuffer answered 429"),
        ),
    ],
)
def test_work_that_has_to_wait_does_so_whatever_its_failures(error: Exception, expected: Wait) -> None:
    assert [decision(error, failures=failures) for failures in range(MAX_FAILURES)] == [expected] * MAX_FAILURES


@pytest.mark.parametrize(
    ("error", "days"),
    [(AWAY, 2), (OutOfTime("no time"), 2), (RateLimited("x", vendor="y", retry_after=1), 2), (REFUSED, 20)],
)
def test_work_that_waited_for_too_long_uses_up_its_failures(error: Exception, days: int) -> None:
    last = decision(error, waited=days * A_DAY)
    assert isinstance(last, Wait)
    assert not last.is_failure
    late = [decision(error, failures=failures, waited=days * A_DAY + 1) for failures in range(MAX_FAILURES)]
    assert [isinstance(each, Wait) and each.is_failure for each in late] == [True] * 4 + [False]


def test_a_message_whose_workers_died_is_not_tried_again() -> None:
    assert decision(WorkersDied("The worker ended")) == DeadLetter("The worker ended")


def test_an_unexpected_error_is_shown_without_its_words() -> None:
    made = decision(RuntimeError("postgres://user:secret@host"), failures=4)
    assert made == DeadLetter("An unexpected error occurred; see the log")
