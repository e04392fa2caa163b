"""The time limits of the tests themselves."""

import signal
from collections.abc import Callable
from contextlib import suppress

import pytest

from tests.awaiting import awaited
from tests.hanging import ended_when_it_hangs


def waits_all_errors_out() -> None:
    with ended_when_it_hangs(0.05):
        while True:
            with suppress(Exception):
                signal.pause()


def waits_after_another_net() -> None:
    with ended_when_it_hangs(0.05):
        with ended_when_it_hangs(60):
            pass
        signal.pause()


@pytest.mark.parametrize("hang", [waits_all_errors_out, waits_after_another_net])
def test_what_hangs_is_ended_and_fails(hang: Callable[[], None]) -> None:
    with pytest.raises(pytest.fail.Exception, match=r"still not done after 0\.05 seconds"):
        hang()


def test_a_time_limit_restores_the_outer_one() -> None:
    left, _ = signal.getitimer(signal.ITIMER_REAL)
    with ended_when_it_hangs(0.05):
        pass
    assert left - 60 < signal.getitimer(signal.ITIMER_REAL)[0] <= left


def test_a_wait_that_ends_without_success_names_its_subject() -> None:
    with pytest.raises(AssertionError, match="the page: not within 0 seconds"):
        awaited("the page", lambda: None, within_s=0)
    coming = iter(["", "", "here"])
    assert awaited("the page", lambda: next(coming)) == "here"
