"""Work in hand, parked and dead: rows that outlive the workers, and the queues that it goes back to."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from sakuin.domain.work import Begun, DueWork, Ended, Taken, WorkCounts, WorkQueueName, WorkRow, WorkState


class WorkRows(Protocol):
    """A row for each message, from the moment a worker takes it until it is done. `Unavailable` if there is no way."""

    def begin(self, taken: Sequence[Taken]) -> Mapping[str, Begun]:
        """Says that a worker has these messages, by their ids. A message and its copy are one row."""

    def beat(self, ids: Collection[str]) -> None:
        """A sign of life; also on the tools of a Table that is worked on in the index that answers.

        A row that is gone is not an error.
        """

    def end(self, ended: Sequence[Ended]) -> None:
        """Says what became of messages: done ones have no row any more, the others one even if `begin` failed.

        Work that had been parked for a vendor and is done lets go what else waits for that vendor.
        """

    def due(self, *, limit: int) -> Sequence[DueWork]:
        """Claims what is to be sent again, the oldest trouble first; nobody else gets it for a minute.

        That is work whose worker gave no sign of life, parked work whose time has come, and what was sent and never
        taken. Of what waits for a vendor that has not answered since, one goes at a time.
        """

    def sent(self, ids: Collection[str]) -> None:
        """Records that claimed work is in its queue again."""

    def bury(self, work_id: str, reason: str) -> None:
        """Records that work is a dead letter."""

    def restarted(self, table_id: str, fingerprint: str, *, seconds: int) -> int | None:
        """Counts that a Table's indexing is started again in this index, and says how often that was; None if somebody
        did so within `seconds`, or the Table is gone. A new generation, or a day, begins at one."""

    def rows(
        self,
        *,
        state: WorkState | None = None,
        queue: WorkQueueName | None = None,
        subjects: Collection[str] | None = None,
        ids: Collection[str] | None = None,
        limit: int = 500,
    ) -> Sequence[WorkRow]:
        """The rows that fit all that is given, in the order in which they were first taken."""

    def counts(self) -> WorkCounts:
        """How much there is of each state."""


class WorkQueues(Protocol):
    """The queues as `maintain` writes to them. At least once."""

    def send(self, work: DueWork) -> None:
        """Sends work to its queue again, under its old name."""

    def bury(self, work: DueWork) -> None:
        """Puts work among its queue's dead letters."""

    def lines_are_empty(self, *queues: WorkQueueName) -> bool:
        """Whether none of the queues has a message that waits for a worker. About now, not exactly."""
