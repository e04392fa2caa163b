"""What lies among the dead letters, why and since when; and sending it again."""

from collections.abc import Sequence
from dataclasses import dataclass

from sakuin.domain.work import WorkQueueName, WorkRow
from sakuin.errors import NotFound, SakuinError
from sakuin.ports.work import DeadLetter, DeadLetters

from sakuin_cli.ports import DeployedWork

QUEUES: tuple[WorkQueueName, ...] = ("material", "tool", "embed")


@dataclass(frozen=True, slots=True)
class FoundLetter:
    """A dead letter with what is known of it. `since` is the moment of its death as ISO 8601, if it is known."""

    letter: DeadLetter
    reason: str | None
    since: str | None
    tries: int


@dataclass(frozen=True, slots=True)
class Redrive:
    """Looks into the dead letter queues, and sends again what shall be."""

    letters: DeadLetters
    work: DeployedWork | None

    def look(self, queues: Sequence[WorkQueueName] = QUEUES) -> Sequence[FoundLetter]:
        """All that lies in the queues; it stays there."""
        found = [letter for queue in queues for letter in self.letters.look(queue)]
        self.letters.leave(found)
        return self._told(found)

    def send(self, queues: Sequence[WorkQueueName] = QUEUES, *, ids: Sequence[str] = ()) -> Sequence[FoundLetter]:
        """Sends all of it again, or those whose ids begin with one of `ids`; gives what was sent.

        `NotFound`, and nothing is sent, if one of `ids` is nobody's.
        """
        found = [letter for queue in queues for letter in self.letters.look(queue)]
        chosen = [letter for letter in found if not ids or letter.id.startswith(tuple(ids))]
        self.letters.leave([letter for letter in found if ids and not letter.id.startswith(tuple(ids))])
        for one in ids:
            if not any(letter.id.startswith(one) for letter in chosen):
                self.letters.leave(chosen)
                raise NotFound(f"There is no dead letter {one!r} now. `sakuin redrive` lists them")
        told = self._told(chosen)
        for letter in chosen:
            self.letters.send_again(letter)
        return told

    def _told(self, letters: Sequence[DeadLetter]) -> Sequence[FoundLetter]:
        rows = {row.id: row for row in self._rows([letter.work_id for letter in letters])}
        told = []
        for letter in letters:
            row = rows.get(letter.work_id)
            reason = (row.reason if row else None) or letter.said
            tries = max(letter.tries, row.attempt if row else 0)
            told.append(FoundLetter(letter, reason, row.since if row else None, tries))
        return told

    def _rows(self, ids: Sequence[str]) -> Sequence[WorkRow]:
        if self.work is None or not ids:
            return ()
        try:
            return self.work.work(ids=ids).rows
        except SakuinError:
            # The letters can be looked at and sent without their reasons: the API may be what is away.
            return ()
