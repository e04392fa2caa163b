"""How long an upload takes to get into the index now: asked with a page of our own that explains nothing."""

from collections.abc import Callable
from dataclasses import dataclass

from sakuin.ports.materials import MaterialBucket, MaterialRecords

# Below the prefix of the library's keys; nobody else's pages belong there.
OWN_FOLDER = "_sakuin/"
CANARY_KEY = f"{OWN_FOLDER}canary.html"

_LONGEST_WAIT = 75.0
_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 2.0
_SLOWER = 1.5


@dataclass(frozen=True, slots=True)
class CanarySeen:
    """Whether the page was applied, and how long that took; one that was not took at least as long as one waits."""

    arrived: bool
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Canary:
    """Uploads a page, waits until it has been applied, and removes it.

    It takes the way of every page: bucket, queue, function, transaction. It has no explanation, so it makes no
    chunk and costs no embedding, and no agent can find it. `clock` gives seconds, `sleep` waits so many.
    """

    bucket: MaterialBucket
    records: MaterialRecords
    prefix: str
    clock: Callable[[], float]
    sleep: Callable[[float], None]

    def __call__(self) -> CanarySeen:
        key = self.prefix + CANARY_KEY
        started = self.clock()
        version = self.bucket.write(key, _page(), content_type="text/html; charset=utf-8")
        try:
            arrived = self._arrived(key, version, until=started + _LONGEST_WAIT)
            seconds = self.clock() - started
            # A page that was refused at once is not a fresh one.
            return CanarySeen(arrived, (seconds if arrived else max(seconds, _LONGEST_WAIT)) * 1000)
        finally:
            self.bucket.remove(key)

    def _arrived(self, key: str, version: str, *, until: float) -> bool:
        pause = _FIRST_PAUSE
        while True:
            receipts = self.records.receipts([(key, version)])
            if receipts:
                return receipts[0].outcome == "applied"
            if self.clock() >= until:
                return False
            self.sleep(pause)
            pause = min(pause * _SLOWER, _LONGEST_PAUSE)


def _page() -> bytes:
    return b"<!doctype html><html lang=en><title>Canary</title><body><p>Nothing is explained here.</p></body></html>"
