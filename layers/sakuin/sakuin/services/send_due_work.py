"""Work that stopped, or waited long enough, is sent to its queue again."""

from collections.abc import Callable
from dataclasses import dataclass

from sakuin.domain.work import MAX_TRIES, About, DueWork, WorkQueueName
from sakuin.ports.work import WorkQueues, WorkRows

# A vendor that has just come back, or a new day, is not met by everything at once.
A_MINUTE = 100


@dataclass(frozen=True, slots=True)
class SentWork:
    """How much was sent again, and how much became dead letters."""

    sent: int = 0
    buried: int = 0


@dataclass(frozen=True, slots=True)
class SendDueWork:
    """Any number of times, beside anything: each row is one caller's, and a message that comes twice does no harm."""

    rows: WorkRows
    queues: WorkQueues
    gave_up: Callable[[WorkQueueName, About, str], None]
    limit: int = A_MINUTE

    def __call__(self) -> SentWork:
        """Sends what is due. What ended its worker on every try becomes a dead letter instead."""
        due = self.rows.due(limit=self.limit)
        last = [work for work in due if work.lost and work.attempt >= MAX_TRIES]
        for work in last:
            self._bury(work)
        again = [work for work in due if work not in last]
        for work in again:
            self.queues.send(work)
            self.rows.sent([work.id])
        return SentWork(len(again), len(last))

    def _bury(self, work: DueWork) -> None:
        reason = f"Its worker stopped without a word {work.attempt} times: too much memory, too much time, or a defect"
        # First the letter: a row that says `dead` has its message among the dead letters.
        self.queues.bury(work)
        self.rows.bury(work.id, reason)
        self.gave_up(work.queue, work.about, reason)
