"""What the rows of work are told of the messages of one invocation."""

from collections.abc import Callable, Sequence

from sakuin.domain.work import Begun, Done, Ended, Taken
from sakuin.errors import SakuinError
from sakuin.ports.work import WorkRows


class WorkTold:
    """The rows are a net, not the work: what they cannot be told is said to `warn`, and the work goes on."""

    def __init__(self, rows: WorkRows, taken: Sequence[Taken], warn: Callable[[str], None]) -> None:
        self._rows = rows
        self._taken = taken
        self._warn = warn
        self._begun: dict[str, Begun] | None = None

    def begin(self) -> None:
        """Says that they are in hand."""
        self._told(self._begin, "work in hand is not written")

    def beat(self) -> None:
        """A sign of life."""
        ids = [taken.id for taken in self._taken]
        self._told(lambda: self._rows.beat(ids), "a heartbeat is not written")

    def begun(self, work_id: str) -> Begun:
        """What the rows said of a message when it was begun."""
        return (self._begun or {}).get(work_id, Begun())

    def let_go(self, ended: Sequence[Ended]) -> bool:
        """Says what became of the messages; False if that could not be written."""
        if self._begun is None and all(isinstance(one.outcome, Done) for one in ended):
            # There is no row, or one that nobody beats for: it is sent again, and does no harm.
            return False
        return self._told(lambda: self._rows.end(ended), "how work ended is not written")

    def _begin(self) -> None:
        self._begun = dict(self._rows.begin(self._taken))

    def _told(self, tell: Callable[[], None], problem: str) -> bool:
        try:
            tell()
        except SakuinError as error:
            self._warn(f"{problem}: {error}")
            return False
        return True
