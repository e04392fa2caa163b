"""What failed for the last time is said where people look for it: on the page, or on the tools of the Table."""

from collections.abc import Callable
from dataclasses import dataclass

from sakuin.domain.work import About, WorkQueueName


@dataclass(frozen=True, slots=True)
class GiveUpWork:
    """Of work of any queue; what nobody could read is told by its row alone.

    `page` and `table` say it; `table` in one index over Tables by its fingerprint, or in all of them.
    """

    page: Callable[[About, str], None]
    table: Callable[[str, str, str | None], None]

    def __call__(self, queue: WorkQueueName, about: About, reason: str) -> None:
        if queue == "material":
            self.page(about, reason)
        elif about.subject is not None:
            self.table(about.subject, reason, about.fingerprint)
