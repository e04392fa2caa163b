"""Hints to turbopuffer that searches will follow, so that it loads a namespace into its cache."""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from sakuin.platform.run_all import in_thread

# turbopuffer keeps a namespace in its cache for hours. A hint for one that is not there costs as much as a query.
_SECONDS_BETWEEN = 300.0
# The namespaces of one thread.
_MOST = 16
# Of one hint, connection and answer.
SECONDS = 2.0

logger = logging.getLogger(__name__)


class CacheHints:
    """Sends hints, at most one in five minutes for each namespace.

    `connect` returns a client of httpx2 for turbopuffer, without hooks: metrics and traces belong to the request that
    is answered meanwhile. `start` starts work that nobody waits for, and returns whether it still runs.
    """

    def __init__(
        self,
        connect: Callable[[], AbstractContextManager[Any]],
        clock: Callable[[], float] = time.monotonic,
        start: Callable[[Callable[[], None]], Callable[[], bool]] = in_thread,
    ) -> None:
        self._connect, self._clock, self._start = connect, clock, start
        self._hinted: dict[str, float] = {}
        self._is_sending: Callable[[], bool] = lambda: False

    def due(self, names: Iterable[str]) -> list[str]:
        """Returns the names without a hint in the last five minutes. They count as hinted from now on."""
        now = self._clock()
        self._hinted = {name: at for name, at in self._hinted.items() if now - at < _SECONDS_BETWEEN}
        new_names = [name for name in dict.fromkeys(names) if name not in self._hinted]
        self._hinted |= dict.fromkeys(new_names, now)
        return new_names

    def send(self, namespaces: Sequence[str]) -> None:
        """Sends hints and returns at once. At most one thread runs; it ends with its calls and repeats none."""
        if namespaces and not self._is_sending():
            self._is_sending = self._start(lambda: self._send(list(dict.fromkeys(namespaces))[:_MOST]))

    def _send(self, namespaces: Sequence[str]) -> None:
        try:
            with self._connect() as client:
                for namespace in namespaces:
                    client.get(f"/v1/namespaces/{namespace}/hint_cache_warm")
        # Best effort: failures are ignored, because a search reports them.
        except Exception:
            logger.debug("hints to turbopuffer failed", exc_info=True)
