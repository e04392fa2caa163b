"""A time limit for tests."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest


@contextmanager
def ended_when_it_hangs(seconds: float) -> Iterator[None]:
    """Fails after so many seconds; inside another limit, the outer one goes on."""

    def hung(_signal: int, _frame: FrameType | None) -> None:
        # No `Exception`: code that waits for a server catches those.
        pytest.fail(f"still not done after {seconds:g} seconds")

    began = time.monotonic()
    outer = signal.signal(signal.SIGALRM, hung)
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, outer)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(0.001, left - (time.monotonic() - began)))
