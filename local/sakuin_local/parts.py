"""The programs of a running stack, restarted when they die."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from sakuin_local.errors import LocalError, ServiceDied
from sakuin_local.processes import Programs, Running, ended_by, tail

T = TypeVar("T")

# A restart does not help a program that dies so often within this time.
_DEATHS = 5
_WITHIN_S = 60.0


class Parts:
    """Starts each program of a stack, and remembers how."""

    def __init__(self, programs: Programs, clock: Callable[[], float] = time.monotonic) -> None:
        self._programs = programs
        self._clock = clock
        self._starts: dict[str, Callable[[], object]] = {}
        self._deaths: dict[str, deque[float]] = {}
        self._failures: list[LocalError] = []
        # Several threads start programs.
        self._lock = threading.Lock()

    def start(self, name: str, start: Callable[[], T], again: Callable[[], object] | None = None) -> T:
        """Starts a program; `again` replaces `start` after it died, if more must be done then."""
        with self._lock:
            self._starts[name] = again or start
        return start()

    def revive(self, show: Callable[[str], None]) -> list[str]:
        """Restarts programs that ended, shows a line about each, and returns their names.

        It does not wait until they answer: one may need another that also died. A program that keeps ending raises
        `ServiceDied`. An error of a restart is raised by the next call.
        """
        if self._failures:
            raise self._failures[0]
        dead = self._programs.take_dead()
        for each in dead:
            name = each.record.name
            show(f"{name} ended ({ended_by(each.process.returncode)}): restarting it")
            self._note_death(each)
            threading.Thread(target=self._start_again, args=(name,), daemon=True).start()
        return [each.record.name for each in dead]

    def _start_again(self, name: str) -> None:
        try:
            self._starts[name]()
        except ServiceDied:
            # It ended while it started: the next call restarts it.
            return
        except Exception as error:
            self._failures.append(LocalError(f"{name} could not be restarted: {error}"))

    def _note_death(self, dead: Running) -> None:
        name, now = dead.record.name, self._clock()
        deaths = self._deaths.setdefault(name, deque(maxlen=_DEATHS))
        deaths.append(now)
        if name not in self._starts or (len(deaths) == _DEATHS and now - deaths[0] < _WITHIN_S):
            log = dead.log.with_name(f"{name}.ended.log")
            raise ServiceDied(f"{name} keeps ending; see {log}\n{tail(log)}")
