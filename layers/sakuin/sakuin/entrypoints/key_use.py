"""Which day a key is used, noted once: the other calls of a day cost nothing."""

import logging
from collections.abc import Callable
from datetime import date

from sakuin.errors import SakuinError

# Takes the hash of a key that opened an endpoint.
Note = Callable[[str], None]

logger = logging.getLogger(__name__)


def noted_once_a_day(note: Note, today: Callable[[], date]) -> Note:
    """`note`, asked once for each key and day of `today`; a failure of it is logged and never the caller's."""
    tried: dict[str, date] = {}

    def noted(key_hash: str) -> None:
        day = today()
        if tried.get(key_hash) == day:
            return
        # Also when it fails: a database that is away must not slow down every call.
        tried[key_hash] = day
        try:
            note(key_hash)
        except SakuinError:
            logger.warning("the use of a key was not noted", exc_info=True)

    return noted
