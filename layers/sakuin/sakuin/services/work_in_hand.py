"""The messages of one invocation have rows that say so, with a sign of life every few seconds while it works."""

from collections.abc import Callable, Sequence
from threading import Event, Thread

from sakuin.domain.work import Begun, Done, Ended, Taken
from sakuin.errors import SakuinError
from sakuin.ports.work import WorkRows

BEAT_SECONDS = 10.0


class WorkInHand:
    """Begins when it is made, and holds until `let_go`.

    The rows are a net, not the work: what they cannot be told is said to `warn`, and the work goes on. They are
    written beside the work, by a thread that `let_go` ends.
    """

    def __init__(
        self, rows: WorkRows, taken: Sequence[Taken], warn: Callable[[str], None], *, beat_seconds: float = BEAT_SECONDS
    ) -> None:
        self._rows = rows
        self._taken = taken
        self._warn = warn
        self._beat_seconds = beat_seconds
        self._begun: dict[str, Begun] | None = None
        self._answered, self._ended = Event(), Event()
        self._thread = Thread(target=self._hold, name="work in hand", daemon=True)
        self._thread.start()

    def begun(self, work_id: str) -> Begun:
        """What the rows say of a message; waits for their answer."""
        self._answered.wait()
        return (self._begun or {}).get(work_id, Begun())

    def let_go(self, ended: Sequence[Ended]) -> bool:
        """Says what became of the messages; False if that could not be written."""
        self._ended.set()
        self._thread.join()
        if self._begun is None and all(isinstance(one.outcome, Done) for one in ended):
            # There is no row, or one that nobody beats for: it is sent again, and does no harm.
            return False
        return self._told(lambda: self._rows.end(ended), "how work ended is not written")

    def _hold(self) -> None:
        try:
            self._told(self._begin, "work in hand is not written")
        finally:
            self._answered.set()
        ids = [taken.id for taken in self._taken]
        while not self._ended.wait(self._beat_seconds):
            self._told(lambda: self._rows.beat(ids), "a heartbeat is not written")

    def _begin(self) -> None:
        self._begun = dict(self._rows.begin(self._taken))

    def _told(self, tell: Callable[[], None], problem: str) -> bool:
        try:
            tell()
        except SakuinError as error:
            self._warn(f"{problem}: {error}")
            return False
        return True
