"""The workers of a schedule, at most three at once, and what becomes of their messages."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from sakuin.errors import Conflict, Unavailable

from tests.convergence.interleaving import Fate, Worker
from tests.convergence.queues import Message, ModelledSqs
from tests.convergence.tally import Tally

_AT_ONCE = 3


@dataclass
class Crew:
    """Takes messages from `sqs` to `handle`, which says whether they are done; the others come back."""

    sqs: ModelledSqs
    handle: Callable[[Message], bool]
    tally: Tally
    # What no queue forgets before it has a row.
    lasting: str | None = None
    at_work: list[tuple[Worker, Message | None]] = field(default_factory=list)

    def take(self, which: int, *, doubled: bool, place: str | int, fate: Fate) -> None:
        """A worker takes one of the messages that wait, if any do."""
        if self.sqs.waiting:
            message = self._taken(which % len(self.sqs.waiting), doubled=doubled)
            self.begin(lambda: self.handle(message), message, place=place, fate=fate)

    def begin(self, job: Callable[[], object], message: Message | None = None, *, place: str | int, fate: Fate) -> None:
        """A worker begins; the one that has been at it longest makes room by coming to its end."""
        if len(self.at_work) == _AT_ONCE:
            self._finish(*self.at_work.pop(0))
        self.tally.most_at_once = max(self.tally.most_at_once, len(self.at_work) + 1)
        self._advance(Worker(job), message, place, fate)

    def go_on(self, which: int, *, place: str | int, fate: Fate) -> None:
        """One of those at work goes on, if any are."""
        if self.at_work:
            self._advance(*self.at_work.pop(which % len(self.at_work)), place, fate)

    def forget(self, which: int | None, rows: Collection[str]) -> None:
        """The queue loses one of the messages that have a row of work, taken ones among them; or all that it has."""
        messages = [*self.sqs.waiting, *(message for _, message in self.at_work if message is not None)]
        known = [message for message in messages if message.work_id in rows]
        if which is not None:
            messages = [known[which % len(known)]] if known else []
        elif self.lasting is not None:
            messages = [message for message in messages if message in known or self.lasting not in message.body]
        for message in messages:
            self.sqs.forget(message)
        self.tally.messages["messages forgotten"] += len(messages)

    def in_hand(self) -> list[str]:
        """The names of the rows of what those at work have."""
        return [message.work_id for _, message in self.at_work if message is not None]

    def finish_all(self) -> None:
        """All goes well until nobody is at work and no message waits, dead letters included."""
        while self.at_work:
            self._finish(*self.at_work.pop(0))
        self.sqs.redrive()
        while self.sqs.waiting:
            message = self._taken(0, doubled=False)
            self._finish(Worker(lambda message=message: self.handle(message)), message)  # type: ignore[misc]

    def dismiss(self) -> None:
        """Nobody is at work any more."""
        while self.at_work:
            self.at_work.pop()[0].kill()

    def _taken(self, place: int, *, doubled: bool) -> Message:
        message = self.sqs.take(place, doubled=doubled)
        counts = self.tally.messages
        counts["messages delivered"] += 1
        counts["messages doubled"] += doubled
        counts["messages that overtook others"] += place > 0
        counts["messages delivered again"] += message.tries > 1
        counts["copies delivered"] += message.work_id != message.id
        return message

    def _advance(self, worker: Worker, message: Message | None, place: str | int, fate: Fate) -> None:
        self._to(worker, place)
        self.tally.call(fate, worker.place)
        worker.advance(fate)
        if worker.ended:
            self._ended(worker, message)
        else:
            self.at_work.append((worker, message))

    def _finish(self, worker: Worker, message: Message | None) -> None:
        self._to(worker, None)
        self._ended(worker, message)

    def _to(self, worker: Worker, place: str | int | None) -> None:
        """All goes well until it is about to call `place`, has made so many calls, or has ended."""
        left = place if isinstance(place, int) else None
        while worker.place is not None and left != 0 and not (isinstance(place, str) and place in worker.place):
            self.tally.call(Fate.GO, worker.place)
            worker.advance()
            left = left and left - 1

    def _ended(self, worker: Worker, message: Message | None) -> None:
        if worker.error is not None and not isinstance(worker.error, Unavailable | Conflict):
            raise worker.error
        if message is not None and not worker.result:
            self.sqs.failed(message)
