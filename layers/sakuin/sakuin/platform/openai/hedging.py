"""A second request beside one that is slow: the first answer counts.

The 95th percentile of the last requests says what is slow (Dean, Barroso: The Tail at Scale, 2013).
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass, field

from sakuin.platform.embedding import QuestionEmbedder, Vector

_KNOWN, _LEAST_KNOWN = 100, 20
# A second request for one call of twenty.
_SHARE = 0.05


def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(4, thread_name_prefix="question")


@dataclass(slots=True)
class HedgedQuestions:
    """A `QuestionEmbedder` that asks again in parallel, once and for at most 5 % of the calls. `count` counts these.

    `within` gives the embedder that has so many seconds. A call has `all_seconds`, with its second request; the first
    one of a worker, which opens the connection, has `first_seconds`.
    """

    within: Callable[[float], QuestionEmbedder]
    all_seconds: float
    first_seconds: float
    count: Callable[[str], None] = lambda _name: None
    clock: Callable[[], float] = time.monotonic
    pool: ThreadPoolExecutor = field(default_factory=_pool)
    seconds: deque[float] = field(default_factory=lambda: deque(maxlen=_KNOWN))
    allowed: float = 0.0

    def questions(self, texts: Sequence[str]) -> list[Vector]:
        self.allowed = min(self.allowed + _SHARE, 1.0)
        most, slow = self.all_seconds if self.seconds else self.first_seconds, self._slow()
        if slow is None or self.allowed < 1.0:
            return self._timed(texts, most)
        first = self._submitted(texts, most)
        if wait([first], slow).done:
            return first.result()
        self.allowed -= 1.0
        self.count("EmbeddingsAskedTwice")
        return _first_answer([first, self._submitted(texts, most - slow)])

    def _submitted(self, texts: Sequence[str], most: float) -> Future[list[Vector]]:
        # Traces and ids of requests are in the context.
        return self.pool.submit(copy_context().run, self._timed, texts, most)

    def _slow(self) -> float | None:
        """Returns the 95th percentile of the last requests; None while few are known."""
        seconds = sorted(self.seconds)
        return seconds[len(seconds) * 95 // 100] if len(seconds) >= _LEAST_KNOWN else None

    def _timed(self, texts: Sequence[str], most: float) -> list[Vector]:
        began = self.clock()
        vectors = self.within(most).questions(texts)
        self.seconds.append(self.clock() - began)
        return vectors


def _first_answer(running: Sequence[Future[list[Vector]]]) -> list[Vector]:
    """Returns the first answer without an error, else raises the error of the last."""
    finished, unfinished = wait(running, return_when=FIRST_COMPLETED)
    answer = next((future for future in finished if future.exception() is None), None)
    return (answer or next(iter(unfinished or finished))).result()
