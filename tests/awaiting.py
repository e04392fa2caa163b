"""Waiting for another program, with a time limit."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def awaited(what: str, look: Callable[[], T], *, within_s: float = 120) -> T:
    """Returns the first result of `look` that is not empty; fails with `what` after the time limit."""
    until = time.monotonic() + within_s
    while not (found := look()):
        assert time.monotonic() < until, f"{what}: not within {within_s:.0f} seconds"
        # The one place where a test waits: for a program or a queue, which tell nobody when they are done.
        time.sleep(0.05)
    return found
