"""Two snapshots in, what differs out: the bucket and the index, the store and the records."""

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from sakuin.domain.learns_file import LEARNS_FILE
from sakuin.domain.material import material_of_key, synonyms_key

Rule = Literal[
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

    rule: Rule
    where: str
    message: str
    repair: str


@dataclass(frozen=True, slots=True)
class HeldObject:
    """What a key of the bucket holds now: a version, or None where it was removed; since when."""

    key: str
    version_id: str | None
    modified: datetime


@dataclass(frozen=True, slots=True)
class RecordedObject:
    """What the index knows of a key.

    An `owner` has a material, a `waiting` one waits for it (`free`: its owner was deleted), a `file` lies beside the
    pages (`free`: it was read by another analyzer). `version_id` is the newest version heard of.
    `young`: that changed just now.
    """

    key: str
    kind: Literal["owner", "waiting", "file"]
    version_id: str | None
    gone: bool
    free: bool = False
    young: bool = False


def of_bucket(
    held: Sequence[HeldObject],
    recorded: Sequence[RecordedObject],
    *,
    prefix: str,
    until: datetime,
    own: Collection[str] = (),
) -> list[Difference]:
    """What the bucket and the index say otherwise of the same range of keys, by key.

    What changed after `until`, or is young, is left alone: its event is on its way. So are keys that begin with one
    of `own`.
    A version that could not be read is what the index heard of: it is no difference.
    """
    there = {one.key: one for one in held}
    known = {one.key: one for one in recorded}
    keys = [key for key in there.keys() | known.keys() if not key.startswith(tuple(own))]
    found = []
    for key in sorted(keys, key=str.encode):
        here, its = there.get(key), known.get(key)
        if (here is not None and here.modified > until) or (its is not None and its.young):
            continue
        difference = _of_key(key, here.version_id if here else None, its, prefix)
        if difference is not None:
            found.append(difference)
    return found


def held_back(found: Sequence[Difference], recorded: Sequence[RecordedObject], *, pages: int) -> list[Difference]:
    """The same; where most of `pages`, or of a large range, would go at once, they stay until somebody asks for it.

    So many events are not lost one by one: the bucket is another one, or was emptied behind everybody's back. `pages`
    are those of the whole library.
    """
    gone = sum(one.rule == "gone" for one in found)
    indexed = sum(not one.gone and one.kind != "file" for one in recorded)
    most = gone > pages / 2 or (gone >= _FLOOD and gone > indexed / 2)
    if gone < _SEVERAL or not most:
        return list(found)
    return [replace(one, repair=HELD_BACK) if one.rule == "gone" else one for one in found]


# Two pages and more, that are most of the library.
_SEVERAL, _FLOOD = 2, 20
HELD_BACK = "nothing by itself, since most pages would go; `sakuin reconcile` does it"
_ASKED = "its key is looked at again"


def _of_key(key: str, version: str | None, its: RecordedObject | None, prefix: str) -> Difference | None:
    if is_file_beside(key, prefix):
        # What was never there needs no reading.
        if (its.version_id if its else None) == version and not (its and its.free):
            return None
        return Difference("unread", key, "It was not read as it is now.", _ASKED)
    if material_of_key(key, prefix=prefix) is None:
        return None
    known = its is not None and not its.gone
    if version is None:
        return Difference("gone", key, "It is indexed, and not in the bucket.", _ASKED) if known else None
    if its is None or not known:
        said = "the index says that it was deleted" if its else "the index never heard of it"
        return Difference("missing", key, f"It is in the bucket, and {said}.", _ASKED)
    if its.kind == "waiting" and its.free:
        return Difference("orphaned", key, "It waits for a material whose owner is gone.", _ASKED)
    if its.version_id not in (None, version):
        return Difference("stale", key, "The bucket holds another version than the index has heard of.", _ASKED)
    return None


def is_file_beside(key: str, prefix: str) -> bool:
    """Whether a key is a `learns.yml`, or the site's `synonyms.yml`."""
    name = unicodedata.normalize("NFC", key)
    is_learns = name.startswith(prefix) and name.rpartition("/")[2] == LEARNS_FILE
    return is_learns or key == synonyms_key(prefix)


@dataclass(frozen=True, slots=True)
class RecordedTable:
    """What the records of a Table say of its rows in the store: `stored` doc ids, and `coming` ones.

    `planned`: the walk of its present `generation` is over, so no other row can be wanted for it.
    """

    generation: int
    planned: bool
    stored: Collection[str]
    coming: Collection[str]


def lost_and_left_over(table: RecordedTable, rows: Mapping[str, int]) -> tuple[list[str], list[str]]:
    """The doc ids that the store has lost, and those that nobody wants, up to the Table's generation.

    Of a Table that is being walked nothing is left over: a wanted row may not be recorded yet.
    """
    lost = sorted(set(table.stored) - rows.keys())
    if not table.planned:
        return lost, []
    wanted = {*table.stored, *table.coming}
    return lost, sorted(doc_id for doc_id, made in rows.items() if doc_id not in wanted and made <= table.generation)
