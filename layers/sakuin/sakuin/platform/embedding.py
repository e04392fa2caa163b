"""Embedding models, the Protocols of embedders, and the size of their requests."""

import base64
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from sakuin.platform.run_all import in_portions

Vector = Sequence[float]

# OpenAI accepts 2,048 texts and 300,000 tokens in a request; a Japanese character is about one token.
_MAX_TEXTS = 64
_MAX_CHARACTERS = 20_000
# A model on two cores embeds 1,000 characters a second: it answers the first request within five seconds, and a worker
# that has to end loses no more.
_FIRST_CHARACTERS = 5_000
_LEAST_CHARACTERS = 1_000
_FAST_SECONDS, _SLOW_SECONDS = 1.0, 10.0
# A text may have 8,192 tokens, and a token has at least one byte; the rest is for the prefix of a model.
_ALWAYS_FITS = 8_000

# The length of vectors: the columns of the database have it.
DIMENSIONS = 1536


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """A model with everything that changes its vectors.

    The prefixes are added before queries and passages: e5 models need them, OpenAI's do not.
    """

    name: str
    dimensions: int
    query_prefix: str = ""
    passage_prefix: str = ""


class QuestionEmbedder(Protocol):
    """Embeds questions."""

    def query(self, text: str) -> Vector:
        """Returns a vector of `dimensions` floats and length 1."""


class Embedder(QuestionEmbedder, Protocol):
    """Embeds texts and questions."""

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        """Returns a vector of `dimensions` floats and length 1 for each text, in their order. May be empty."""


@dataclass(slots=True)
class RequestSize:
    """The characters of the next request: twice as many after a fast answer, half as many after a slow one."""

    characters: int = _FIRST_CHARACTERS
    clock: Callable[[], float] = time.monotonic
    began: float = 0.0

    def begin(self) -> None:
        """Records the time of a request."""
        self.began = self.clock()

    def end(self) -> None:
        """Records the time of its answer."""
        seconds = self.clock() - self.began
        if seconds < _FAST_SECONDS:
            self.characters = min(self.characters * 2, _MAX_CHARACTERS)
        elif seconds > _SLOW_SECONDS:
            self.characters = max(self.characters // 2, _LEAST_CHARACTERS)


def packed(vector: Vector) -> str:
    """Returns a vector as base64 of 16-bit floats, as the database has them, the highest byte first."""
    return base64.b64encode(struct.pack(f">{len(vector)}e", *vector)).decode()


def unpacked(text: str, *, header: int = 0) -> Vector:
    """Returns the vector of such a text, which begins with `header` other bytes. Raises `ValueError`."""
    content = base64.b64decode(text, validate=True)[header:]
    if len(content) % 2:
        raise ValueError("A vector has an even number of bytes")
    return struct.unpack(f">{len(content) // 2}e", content)


def requests(texts: Sequence[str], size: RequestSize | None = None) -> Iterator[list[str]]:
    """Splits the texts, in their order, into requests that a service accepts, of at most the `size` of the moment."""
    moment = size or RequestSize(_MAX_CHARACTERS)
    return in_portions(texts, len, lambda count, characters: count > _MAX_TEXTS or characters > moment.characters)


def fitting(text: str) -> str:
    """Returns the longest beginning of a text that a service always accepts, whatever its characters are."""
    return text.encode("utf-8", "replace")[:_ALWAYS_FITS].decode("utf-8", "ignore")
