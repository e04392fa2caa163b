"""A message stays hidden from other workers only while its worker lives."""

from contextlib import suppress
from threading import Event, Thread

from sakuin.errors import Unavailable
from sakuin.platform.sqs import SqsQueue

# An extension that is lost is followed by another one in time.
_EXTENSIONS_A_LEASE = 3
# An extension that SQS answers late does no harm: the message is gone, or comes back a little later.
_LONGEST_JOIN_SECONDS = 2.0


class MessageLease:
    """Hides a message for `seconds` and extends that beside the work, until `stop`.

    A worker that is killed stops extending: the message is delivered to another worker after `seconds`, not after the
    queue's visibility timeout, which is a multiple of the longest work. A request that SQS does not take is not an
    error: then the queue's own time counts.
    """

    def __init__(self, queue: SqsQueue, receipt_handle: str, *, seconds: int) -> None:
        self._queue = queue
        self._receipt_handle = receipt_handle
        self._seconds = seconds
        self._stopped = Event()
        self._thread = Thread(target=self._hold, name="message lease", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the extensions, and waits for one that is under way."""
        self._stopped.set()
        self._thread.join(_LONGEST_JOIN_SECONDS)

    def _hold(self) -> None:
        while True:
            # What SQS does not take is tried again at the next turn.
            with suppress(Unavailable):
                self._queue.hide(self._receipt_handle, seconds=self._seconds)
            if self._stopped.wait(self._seconds / _EXTENSIONS_A_LEASE):
                return
