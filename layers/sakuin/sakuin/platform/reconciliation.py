"""Differences between an index and its sources: the types that both products report."""

from dataclasses import dataclass
from typing import Literal

DifferenceKind = Literal[
    "missing",  # in the bucket, not in the index
    "stale",  # the index has another version than the bucket
    "gone",  # in the index, not in the bucket
    "orphaned",  # a key waits for a material whose owner was removed
    "unread",  # the current version of an authored file was not read, or a page was not written with it
    "broken",  # the searchable chunks of a page do not match its record
    "lost",  # chunks of the records are not in the store
    "left over",  # rows of the store belong to no record
    "unbuilt",  # a Tool is ready, but its records are missing
    "failed",  # the comparison failed
    "behind",  # the store has a later generation than the records, which come from a backup
]


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference: `where` is a key, a material or the id of a Table; `repair` is what the run does about it."""

    rule: DifferenceKind
    where: str
    message: str
    repair: str


@dataclass(frozen=True, slots=True)
class ComparedPage:
    """The differences of one page of a scan, and where the next page begins (None at the end)."""

    differences: list[Difference]
    after: str | None
