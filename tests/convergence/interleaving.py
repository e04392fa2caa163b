"""Workers that run one at a time and stop before each call, until a schedule lets them go on."""

import threading
from collections.abc import Callable
from enum import StrEnum
from queue import SimpleQueue


class Fate(StrEnum):
    """The result of one call to a store, a vendor or a queue."""

    GO = "goes well"
    FAIL_BEFORE = "fails before"
    FAIL_AFTER = "answer lost"
    TWICE = "done twice"
    DIE_BEFORE = "dies before"
    DIE_AFTER = "dies after"


class Died(BaseException):
    """The worker's process is gone: nothing catches it, and what it would still call is not called."""


_here = threading.local()


def fate_of_call(place: str) -> Fate:
    """Stops the worker that is about to call `place`; other threads continue, and their call succeeds."""
    worker: Worker | None = getattr(_here, "worker", None)
    return Fate.GO if worker is None else worker.stop_at(place)


class Worker:
    """One job in a thread of its own, that runs only while `advance` waits for it.

    Where it stops does not depend on time: the same schedule gives the same interleaving.
    """

    def __init__(self, job: Callable[[], object]) -> None:
        self._orders: SimpleQueue[Fate] = SimpleQueue()
        self._stops: SimpleQueue[str | None] = SimpleQueue()
        self._job = job
        self.result: object = None
        self.error: Exception | None = None
        self.died = False
        threading.Thread(target=self._run, daemon=True).start()
        # The call that it is about to make; None once it has ended.
        self.place = self._stops.get()

    @property
    def ended(self) -> bool:
        return self.place is None

    def advance(self, fate: Fate = Fate.GO) -> None:
        """Makes the call before which it stopped, with this fate, and runs to the next call or to its end."""
        if self.place is not None:
            self._orders.put(fate)
            self.place = self._stops.get()

    def kill(self) -> None:
        """Ends its process at each call that is left."""
        while not self.ended:
            self.advance(Fate.DIE_BEFORE)

    def stop_at(self, place: str) -> Fate:
        if self.died:
            # What is written at the end of all things is Python's doing, not a process's that is gone.
            return Fate.DIE_BEFORE
        self._stops.put(place)
        fate = self._orders.get()
        self.died = fate in (Fate.DIE_BEFORE, Fate.DIE_AFTER)
        return fate

    def _run(self) -> None:
        _here.worker = self
        try:
            self.result = self._job()
        except Died:
            pass
        except Exception as error:
            self.error = error
        finally:
            self._stops.put(None)
