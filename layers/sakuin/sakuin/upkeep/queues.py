"""The queues of a deployment: what waits, what is in flight and since when, and what has no worker."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sakuin.errors import Unavailable
from sakuin.platform.retry import QUEUES, QueueName
from sakuin.platform.sqs import SqsQueue
from sakuin.platform.supabase.forms import Time
from sakuin.platform.unfinished_work import UnfinishedWorkStore
from sakuin.upkeep.dead_letters import DeadLetters, contents


@dataclass(frozen=True, slots=True)
class QueueState:
    """The messages of one queue. SQS counts approximately.

    `in_flight` were received and are not finished. `unattended` of them have no known worker: they were received within
    the last five seconds, or their worker is dead. The queue delivers these again within 90 seconds.
    """

    queue: QueueName
    waiting: int
    in_flight: int
    unattended: int
    dead_letters: int


@dataclass(frozen=True, slots=True)
class WorkInFlight:
    """A message whose work takes more than five seconds: what it asks for, and since when.

    `worker`: alive, or dead; then the queue delivers the message again.
    """

    queue: QueueName
    what: str
    since: Time
    worker: Literal["alive", "dead"]


@dataclass(frozen=True, slots=True)
class Queues:
    """The states of all queues: the numbers of SQS, compared with the leases that workers have recorded."""

    letters: DeadLetters
    unfinished: UnfinishedWorkStore

    def in_flight(self) -> Sequence[WorkInFlight]:
        """Returns the work that takes more than five seconds, the oldest first."""
        return [
            WorkInFlight(queue, contents(queue, lease.body).text, lease.since, "dead" if lease.is_over else "alive")
            for lease in self.unfinished.leases()
            for queue in QUEUES
            if queue == lease.queue
        ]

    def states(self, in_flight: Sequence[WorkInFlight]) -> Sequence[QueueState] | None:
        """Returns the states; None while SQS does not answer. `in_flight` was read just before."""
        try:
            return [self._state(queue, in_flight) for queue in QUEUES]
        except Unavailable:
            return None

    def _state(self, queue: QueueName, in_flight: Sequence[WorkInFlight]) -> QueueState:
        sqs = self.letters.queues
        counts = SqsQueue(sqs.sqs, sqs.urls[queue]).counts()
        attended = sum(work.queue == queue and work.worker == "alive" for work in in_flight)
        dead = SqsQueue(sqs.sqs, sqs.dead_urls[queue]).counts().all
        return QueueState(queue, counts.waiting, counts.in_flight, max(counts.in_flight - attended, 0), dead)
