"""Differences between an index and its sources."""

from dataclasses import dataclass
from typing import Literal

DifferenceKind = Literal[
    "missing",  # the bucket has it, the index does not
    "stale",  # the index has another version than the bucket
    "gone",  # the index has it, the bucket does not
    "orphaned",  # a key waits for a material whose owner is gone
    "unread",  # a file beside the pages was not read as it is now
    "broken",  # what is searchable of a page does not fit its record
    "lost",  # the records have chunks that the store has not
    "left over",  # the store has rows that nobody wants
    "unbuilt",  # a tool says that it is ready and its records are not there
    "failed",  # it could not be compared
    "behind",  # the store has rows of a later generation than the records: those are from a backup
]


@dataclass(frozen=True, slots=True)
class Difference:
    """What does not fit, where (a key, a material, a Table's id), and what is done about it."""

    rule: DifferenceKind
    where: str
    message: str
    repair: str


@dataclass(frozen=True, slots=True)
class ComparedPage:
    """What one page of a walk found, and where the next begins (None at the end)."""

    differences: list[Difference]
    after: str | None
