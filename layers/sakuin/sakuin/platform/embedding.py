"""Embedding models, the Protocols of embedders, and the size of their requests."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

Vector = Sequence[float]

# OpenAI accepts 2,048 texts and 300,000 tokens in a request; a Japanese character is about one token. A model on two
# cores embeds 1,000 characters a second: it answers a request of this size within five seconds, and a worker that has
# to end loses no more.
_MAX_TEXTS = 64
_MAX_CHARACTERS = 5_000
# A text may have 8,192 tokens, and a token has at least one byte; the rest is for the prefix of a model.
_ALWAYS_FITS = 8_000


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


def requests(texts: Sequence[str]) -> Iterator[list[str]]:
    """Splits the texts, in their order, into requests that a service accepts."""
    request: list[str] = []
    characters = 0
    for text in texts:
        if request and (len(request) == _MAX_TEXTS or characters + len(text) > _MAX_CHARACTERS):
            yield request
            request, characters = [], 0
        request.append(text)
        characters += len(text)
    if request:
        yield request


def fitting(text: str) -> str:
    """Returns the longest beginning of a text that a service always accepts, whatever its characters are."""
    return text.encode("utf-8", "replace")[:_ALWAYS_FITS].decode("utf-8", "ignore")
