"""What is in hand, waits, is parked or dead, as keepers see it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sakuin.domain.work import WorkCounts, WorkQueueName, WorkRow, WorkState
from sakuin.ports.work import WorkRows


@dataclass(frozen=True, slots=True)
class LookAtWork:
    """Reads the rows of work."""

    known: WorkRows

    def counts(self) -> WorkCounts:
        """How much of each state."""
        return self.known.counts()

    def rows(
        self,
        *,
        state: WorkState | None = None,
        queue: WorkQueueName | None = None,
        subject: str | None = None,
        ids: Collection[str] | None = None,
        limit: int = 200,
    ) -> Sequence[WorkRow]:
        """The rows that fit, in the order in which they were first taken."""
        subjects = None if subject is None else [subject]
        return self.known.rows(state=state, queue=queue, subjects=subjects, ids=ids, limit=limit)

    def of_materials(self, materials: Collection[str]) -> Mapping[str, Sequence[WorkRow]]:
        """By material, what is not done of it yet; materials of which all is done are left out."""
        found: dict[str, list[WorkRow]] = {}
        if materials:
            for row in self.known.rows(queue="material", subjects=materials):
                found.setdefault(str(row.subject), []).append(row)
        return found
