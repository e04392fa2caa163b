"""Embedding models, and what embeds texts and questions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """A model with everything that changes its vectors.

    `dimensions` is what the endpoint is asked for; the prefixes go before queries and passages
    (e5 models want them, OpenAI's do not).
    """

    name: str
    dimensions: int
    query_prefix: str = ""
    passage_prefix: str = ""


Vector = Sequence[float]


class QuestionEmbedder(Protocol):
    """A question to a vector of `dimensions` floats, of length 1."""

    def query(self, text: str) -> Vector:
        """The vector of a question."""


class Embedder(QuestionEmbedder, Protocol):
    """Texts to vectors of `dimensions` floats, of length 1."""

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        """One vector a text, in the order of the texts. No text is not an error."""


# OpenAI takes at most 2,048 texts and 300,000 tokens a request; a Japanese character is about one token. Less is
# asked for at once, so that a slow endpoint answers before the request is given up and asked for again.
_MAX_TEXTS = 64

_MAX_CHARACTERS = 20_000

# A token is a byte at least, and a text may have 8,192; the rest is for a model's prefix.
_ALWAYS_FITS = 8_000


def requests(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in their order, in parts that a service takes at once."""
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
    """The beginning of a text that has no more tokens than a service takes, whatever its characters are."""
    return text.encode("utf-8", "replace")[:_ALWAYS_FITS].decode("utf-8", "ignore")
