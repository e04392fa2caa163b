"""Differences between an index and its sources: the types that both products report."""

from dataclasses import dataclass
from typing import Literal

DifferenceKind = Literal[
    "differs",  # the index has another version of a key than the bucket, or none, or did not read what it depends on
    "gone",  # a page is in the index, not in the bucket
    "lost",  # rows of the records are not in the store
    "left over",  # rows of the store belong to no record
    "behind",  # the store has a later generation than the records, which come from a backup
    "failed",  # the comparison failed
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
