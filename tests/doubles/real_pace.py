"""turbopuffer's stand-in with the pace of the real service, on a clock that nobody waits for."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sakuin_local.serving import served
from sakuin_local.turbopuffer.endpoint import application
from sakuin_local.turbopuffer.pace import Pace
from sakuin_local.turbopuffer.store import Store


@dataclass
class PassingTime:
    """A clock that only sleeping moves."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@dataclass(frozen=True, slots=True)
class RealPace:
    """A running stand-in: its address, its store, and its time."""

    url: str
    store: Store
    time: PassingTime


@contextmanager
def real_pace(folder: Path, *, patience: float = 0.0) -> Iterator[RealPace]:
    """Runs a stand-in with its files in `folder`; a query waits `patience` seconds for others."""
    time = PassingTime()
    store = Store(folder / "turbopuffer.sqlite", Pace(patience=patience, clock=time, sleep=time.sleep))
    with served(application(store)) as port:
        yield RealPace(f"http://127.0.0.1:{port}", store, time)
