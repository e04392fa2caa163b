"""The parts of a stack that runs: one that dies is started again, as its maker or its cloud would do it."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from sakuin_local.errors import LocalError, ServiceDied
from sakuin_local.processes import Programs, Running, ended_by, tail

T = TypeVar("T")

# One that dies so often within so long has a reason that starting it again does not mend.
_DEATHS = 5
_WITHIN_S = 60.0


class Parts:
    """How each program of a stack is started, by its name."""

    def __init__(self, programs: Programs, clock: Callable[[], float] = time.monotonic) -> None:
        self._programs = programs
        self._clock = clock
        self._starts: dict[str, Callable[[], object]] = {}
        self._deaths: dict[str, deque[float]] = {}
        self._failures: list[LocalError] = []
        # The parts of the stack start side by side.
        self._lock = threading.Lock()

    def start(self, name: str, start: Callable[[], T], again: Callable[[], object] | None = None) -> T:
        """Start a part, and remember how; `again` where more is to be done for one that died."""
        with self._lock:
            self._starts[name] = again or start
        return start()

    def revive(self, tell: Callable[[str], None]) -> list[str]:
        """Start again what has ended, telling people of it; the names.

        It does not wait until they answer: one may need another that died too. One that keeps dying is a
        `ServiceDied`, and what went wrong in starting one is raised by the next call.
        """
        if self._failures:
            raise self._failures[0]
        dead = self._programs.take_dead()
        for each in dead:
            name = each.record.name
            tell(f"{name} ended ({ended_by(each.process.returncode)}): starting it again")
            self._note_death(each)
            threading.Thread(target=self._start_again, args=(name,), daemon=True).start()
        return [each.record.name for each in dead]

    def _start_again(self, name: str) -> None:
        try:
            self._starts[name]()
        except ServiceDied:
            # It ended while it started: the next look finds it so.
            return
        except Exception as error:
            self._failures.append(LocalError(f"{name} could not be started again: {error}"))

    def _note_death(self, dead: Running) -> None:
        name, now = dead.record.name, self._clock()
        deaths = self._deaths.setdefault(name, deque(maxlen=_DEATHS))
        deaths.append(now)
        if name not in self._starts or (len(deaths) == _DEATHS and now - deaths[0] < _WITHIN_S):
            log = dead.log.with_name(f"{name}.ended.log")
            raise ServiceDied(f"{name} keeps ending; see {log}\n{tail(log)}")
