"""The workers of a schedule, at most three at once, and their messages."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from sakuin.errors import Conflict, Unavailable

from tests.convergence.interleaving import Fate, Worker
from tests.doubles.sqs import Message, ModelledSqs

_AT_ONCE = 3
# Many times what the messages of one schedule need.
_MOST_DELIVERIES = 300


@dataclass(frozen=True)
class Received:
    """A message that a worker has, and the handle that it was received with."""

    message: Message
    handle: str


@dataclass
class Workers:
    """Give messages of `sqs` to `handle`, which returns whether they are done; the others come back."""

    sqs: ModelledSqs
    handle: Callable[[Message], bool]
    tally: Counter[str]
    at_work: list[tuple[Worker, Received | None]] = field(default_factory=list)

    def take(self, which: int, *, doubled: bool, place: str | int, fate: Fate) -> None:
        """Gives one of the waiting messages to a worker, if any wait."""
        waiting = self.sqs.waiting
        if waiting:
            received = self._received(which % len(waiting), doubled=doubled)
            self.begin(lambda: self.handle(received.message), received, place=place, fate=fate)

    def begin(
        self, job: Callable[[], object], received: Received | None = None, *, place: str | int, fate: Fate
    ) -> None:
        """Starts a worker; when there are too many, the oldest one runs to its end first."""
        if len(self.at_work) == _AT_ONCE:
            self._finish(*self.at_work.pop(0))
        self._advance(Worker(job), received, place, fate)

    def go_on(self, which: int, *, place: str | int, fate: Fate) -> None:
        """Continues one of the workers, if there are any."""
        if self.at_work:
            self._advance(*self.at_work.pop(which % len(self.at_work)), place, fate)

    def forget(self, which: int | None) -> None:
        """Deletes one message, also a received one; None deletes all."""
        messages = list(self.sqs.messages)
        if which is not None and messages:
            messages = [messages[which % len(messages)]]
        for message in messages:
            self.sqs.forget(message)
        self.tally["messages forgotten"] += len(messages)

    def finish_all(self) -> None:
        """Runs all workers without failure until no message is left, dead letters included.

        Fails if messages cause more and more messages.
        """
        while self.at_work:
            self._finish(*self.at_work.pop(0))
        self.sqs.redrive()
        deliveries = self.tally["messages delivered"]
        while self.sqs.messages:
            given = self.tally["messages delivered"] - deliveries
            assert given < _MOST_DELIVERIES, "It never comes to rest"
            self.sqs.until_next()
            if not self.sqs.waiting:
                self.sqs.redrive()
                continue
            received = self._received(0, doubled=False)
            self._finish(Worker(lambda received=received: self.handle(received.message)), received)

    def dismiss(self) -> None:
        """Kills all workers."""
        while self.at_work:
            self.at_work.pop()[0].kill()

    def _received(self, place: int, *, doubled: bool) -> Received:
        message = self.sqs.receive(place, doubled=doubled)
        self.tally["messages delivered"] += 1
        self.tally["messages doubled"] += doubled
        self.tally["messages that overtook others"] += place > 0
        self.tally["messages delivered again"] += message.receives > 1
        return Received(message, message.handle)

    def _advance(self, worker: Worker, received: Received | None, place: str | int, fate: Fate) -> None:
        self._to(worker, place)
        if worker.place is not None and fate is not Fate.GO:
            self.tally[f"fault: {fate}"] += 1
        worker.advance(fate)
        if worker.ended:
            self._ended(worker, received)
        else:
            self.at_work.append((worker, received))

    def _finish(self, worker: Worker, received: Received | None) -> None:
        self._to(worker, None)
        self._ended(worker, received)

    def _to(self, worker: Worker, place: str | int | None) -> None:
        """Runs it without failure until it is about to call `place`, has made so many calls, or has ended."""
        left = place if isinstance(place, int) else None
        while worker.place is not None and left != 0 and not (isinstance(place, str) and place in worker.place):
            worker.advance()
            left = left and left - 1

    def _ended(self, worker: Worker, received: Received | None) -> None:
        if worker.error is not None and not isinstance(worker.error, Unavailable | Conflict):
            raise worker.error
        if received is not None and worker.result:
            self.sqs.delete(received.message.id)
