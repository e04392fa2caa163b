"""The messages of one invocation have rows that say so, with a sign of life every few seconds while it works."""

from collections.abc import Callable, Sequence
from threading import Event, Thread

from sakuin.domain.work import Begun, Ended, Taken
from sakuin.ports.work import WorkRows
from sakuin.services.work_told import WorkTold

BEAT_SECONDS = 10.0


class WorkInHand:
    """Begins when it is made, and holds until `let_go`; written beside the work, by a thread that `let_go` ends."""

    def __init__(
        self, rows: WorkRows, taken: Sequence[Taken], warn: Callable[[str], None], *, beat_seconds: float = BEAT_SECONDS
    ) -> None:
        self._told = WorkTold(rows, taken, warn)
        self._beat_seconds = beat_seconds
        self._answered, self._ended = Event(), Event()
        self._thread = Thread(target=self._hold, name="work in hand", daemon=True)
        self._thread.start()

    def begun(self, work_id: str) -> Begun:
        """What the rows say of a message; waits for their answer."""
        self._answered.wait()
        return self._told.begun(work_id)

    def let_go(self, ended: Sequence[Ended]) -> bool:
        """Says what became of the messages; False if that could not be written."""
        self._ended.set()
        self._thread.join()
        return self._told.let_go(ended)

    def _hold(self) -> None:
        try:
            self._told.begin()
        finally:
            self._answered.set()
        while not self._ended.wait(self._beat_seconds):
            self._told.beat()
