"""What may happen next in a schedule of any kind: a worker makes some calls more, or a queue loses messages."""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.convergence.interleaving import Fate


@dataclass(frozen=True)
class Work:
    """A worker takes a message; its first call of `place` has this fate, and after it the worker pauses.

    `place` may be a number: the call after so many. A worker that never calls it runs to its end. `doubled`: SQS
    delivers the message twice.
    """

    which: int
    doubled: bool
    place: str | int
    fate: Fate


@dataclass(frozen=True)
class GoOn:
    """A worker that paused continues to its next call of `place`, which has this fate."""

    which: int
    place: str | int
    fate: Fate


@dataclass(frozen=True)
class Maintenance:
    """The run of each minute begins after a minute in which the workers kept their messages.

    `later`: the nightly run begins after an hour in which no worker kept any.
    """

    later: bool
    place: str | int
    fate: Fate


@dataclass(frozen=True)
class Forget:
    """A queue loses a message, even one that a worker has. None: all queues lose all."""

    which: int | None


SharedAction = Work | GoOn | Maintenance | Forget
END = "the end"
numbers = st.integers(0, 5)
# Calls that succeed are where others come between.
fates = st.sampled_from(tuple(Fate))
forget = st.builds(Forget, st.none() | numbers)
# A vendor that does not answer.
unavailable = st.builds(Work, numbers, st.booleans(), st.just("openai"), st.just(Fate.FAIL_BEFORE))


def weighted(parts: tuple[tuple[st.SearchStrategy[Any], int], ...]) -> st.SearchStrategy[Any]:
    """Returns a strategy of the parts, each as frequent as its number says."""
    # A strategy that is named twice counts once; a mapped one is another each time.
    return st.one_of([part.map(_same) for part, weight in parts for _ in range(weight)])


def _same(drawn: Any) -> Any:
    return drawn
