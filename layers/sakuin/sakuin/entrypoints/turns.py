"""A message of several parts: each has its turn, then the message fails as one of them did."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from aws_lambda_powertools import Logger

from sakuin.errors import Invalid, OutOfTime, OverBudget, SakuinError, Unavailable

T = TypeVar("T")


def all_followed(parts: Iterator[T], follow: Callable[[T], None], logger: Logger) -> None:
    """Follows every part, then raises the failure that waits longest for its turn, if any.

    What waits for a vendor or for tomorrow goes before what is tried five times, and that before what can only fail
    again: else the message would be a dead letter while a part of it still waits. The others are logged.
    """
    failures: list[Exception] = []
    try:
        for part in parts:
            try:
                follow(part)
            except Exception as error:  # one part must not stop the next
                failures.append(error)
    except SakuinError as error:
        # What cannot be read stands after what can.
        failures.append(error)
    if not failures:
        return
    first = min(failures, key=_rank)
    for other in failures:
        if other is not first:
            logger.error("a part of the message failed too", exc_info=other)
    raise first


def is_alone(parts: Iterator[T]) -> bool:
    """Whether nothing follows the part that was taken last, nor anything that cannot be read."""
    try:
        return next(parts, None) is None
    except SakuinError:
        return False


def _rank(error: Exception) -> int:
    if isinstance(error, OutOfTime | OverBudget | Unavailable):
        return 0
    return 2 if isinstance(error, Invalid) else 1
