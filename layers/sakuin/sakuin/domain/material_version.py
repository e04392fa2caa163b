"""Versions of a material: which one is newest, and what became of it."""

from dataclasses import dataclass
from typing import Literal

SEQUENCER_LENGTH = 64


def padded(sequencer: str) -> str:
    """An S3 sequencer made comparable as text.

    Sequencers of one key are hexadecimal strings of different lengths: pad the shorter one with zeros on the
    right, then compare (Amazon S3 User Guide, "Event message structure").
    """
    return sequencer.upper().ljust(SEQUENCER_LENGTH, "0")


@dataclass(frozen=True, slots=True)
class Source:
    """One version of one S3 object. `sequencer` is padded; it orders the events of one key."""

    bucket: str
    key: str
    version_id: str | None
    sequencer: str


Status = Literal["ready", "failed", "deleted"]

# applied      the index now says what this version says
# failed       the version cannot be read: its reason is kept, the last good one stays searchable
# superseded   a newer version of the same key was first
# waiting      another key of the same material owns it
# conflict     the row changed since it was read: look again
Outcome = Literal["applied", "failed", "superseded", "waiting", "conflict"]


@dataclass(frozen=True, slots=True)
class MaterialState:
    """What the index holds of a material.

    `source` is the newest version heard of, `indexed_version_id` the one that is searchable.
    `generation` counts the changes; a change without a sequencer names the one it was made from.
    """

    material: str
    source: Source
    status: Status
    error: str | None
    generation: int
    indexed_version_id: str | None
    fingerprint: str | None
    chunks_count: int
    indexed_at: str | None


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of a version. `successor` is a key that waited for this material and may now have it."""

    outcome: Outcome
    generation: int
    successor: Source | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of one uploaded version, for the one who waits for it."""

    key: str
    version_id: str
    outcome: Outcome
    reason: str | None
