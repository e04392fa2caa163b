"""Sends messages for work that waited long enough, or whose vendor answers again."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from sakuin.platform.unfinished_work import DueWork, UnfinishedWorkStore, WorkSubject
from sakuin.tables.messages import TableQueues

# A vendor that has just come back, or a new day, does not meet everything at once.
A_MINUTE = 100


class MaterialRequests(Protocol):
    """Messages about materials."""

    def resume(self, subject: WorkSubject) -> None:
        """Asks for work that waited."""


@dataclass(frozen=True, slots=True)
class ResumeWork:
    """Any number of times, beside anything: each row belongs to one caller, and a second message does no harm."""

    unfinished: UnfinishedWorkStore
    materials: MaterialRequests
    tables: Callable[[str], TableQueues]
    limit: int = A_MINUTE

    def __call__(self) -> int:
        """Returns how many messages were sent."""
        due = self.unfinished.claim_due(limit=self.limit)
        for work in due:
            self._send(work)
        return len(due)

    def _send(self, work: DueWork) -> None:
        subject = work.subject
        if subject.kind in ("file", "material"):
            self.materials.resume(subject)
        elif subject.kind == "upload":
            self.tables("").import_document(subject.id)
        elif work.project_id is not None and work.chunks:
            self.tables(subject.fingerprint).embed(work.project_id, subject.id, [work.chunks], resumed=True)
        elif work.project_id is not None:
            self.tables(subject.fingerprint).index(work.project_id, subject.id, resumed=True)
