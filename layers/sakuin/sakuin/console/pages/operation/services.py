"""What the pages for operators read and change, and parts that several of them share."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from sakuin.errors import Invalid
from sakuin.http.unfinished_work import WorkOfMaterials
from sakuin.knowledge.learns.listed import Explanations
from sakuin.knowledge.library import Library
from sakuin.knowledge.names import has_host, link, material_of_key
from sakuin.platform.unfinished_work import UnfinishedWork, UnfinishedWorkStore
from sakuin.upkeep.counts import ProjectCounts
from sakuin.upkeep.dead_letters import DeadLetterQueues, KnownFailure
from sakuin.upkeep.doctor import Problem
from sakuin.upkeep.freshness import Freshness
from sakuin.upkeep.index_versions import IndexVersions
from sakuin.upkeep.reconcile import ReconciliationRuns


@dataclass(frozen=True, slots=True)
class Operation:
    """The services. `counts` takes the most Tools in an error to name; `base_url` is the prefix of links to pages."""

    library: Library
    explanations: Explanations
    unfinished: UnfinishedWorkStore
    work_of: WorkOfMaterials
    dead_letters: DeadLetterQueues
    freshness: Freshness
    runs: ReconciliationRuns
    indexes: IndexVersions
    counts: Callable[[int], ProjectCounts]
    doctor: Callable[[], Sequence[Problem]]
    base_url: str

    def link_to(self, material: str, anchor: str | None = None) -> str | None:
        """Returns the link to a page at an element; None while links have no host."""
        return link(material, anchor or "", self.base_url) if has_host(self.base_url) else None

    def material_of(self, row: UnfinishedWork) -> str | None:
        """Returns the material that unfinished work is about; None if it is about something else."""
        if row.kind == "material":
            return row.subject
        return material_of_key(row.subject, prefix=self.library.prefix) if row.kind == "file" else None

    def failures(self, subjects: Collection[str]) -> Mapping[tuple[str, str, str], KnownFailure]:
        """Returns what is known of the failures of these subjects, by kind, subject and index."""
        rows = self.unfinished.rows(subjects=subjects) if subjects else ()
        return {
            (row.kind, row.subject, row.fingerprint): KnownFailure(row.reason, row.since, row.attempts) for row in rows
        }


def address(path: str, **query: str | None) -> str:
    """Returns the address of a page of the console with these parameters, without empty ones."""
    named = urlencode({name: value for name, value in query.items() if value})
    return f"/console{path}?{named}" if named else f"/console{path}"


def read_place(cursor: str | None, parts: int) -> Sequence[str] | None:
    """Returns the parts of a cursor of `write_place`; `Invalid` for any other text."""
    if not cursor:
        return None
    try:
        place = json.loads(cursor)
    except (ValueError, RecursionError):
        place = None
    if not (isinstance(place, list) and len(place) == parts and all(isinstance(part, str) for part in place)):
        raise Invalid("The cursor is not one of this list")
    return place


def write_place(place: Sequence[str]) -> str:
    """Returns a cursor."""
    return json.dumps(place, ensure_ascii=False)
