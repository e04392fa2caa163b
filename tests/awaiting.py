"""Waiting for another program, with a time limit."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def awaited(what: str, look: Callable[[], T], *, within_s: float = 120) -> T:
    """Returns the first result of `look` that is not empty; fails with `what` after the time limit."""
    began = time.monotonic()
    while not (found := look()):
        waited = time.monotonic() - began
        assert waited < within_s, f"{what}: not within {within_s:.0f} seconds"
        # The one place where a test waits: for a program or a queue, which tell nobody when they are done. A look takes
        # time from what is waited for, so it looks less and less often.
        time.sleep(min(1, max(0.05, waited / 10)))
    return found
