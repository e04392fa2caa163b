"""Texts and questions to vectors."""

from collections.abc import Sequence
from typing import Protocol

Vector = Sequence[float]


class QuestionEmbedder(Protocol):
    """A question to a vector of `dimensions` floats, of length 1."""

    def query(self, text: str) -> Vector:
        """The vector of a question."""


class Embedder(QuestionEmbedder, Protocol):
    """Texts to vectors of `dimensions` floats, of length 1."""

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        """One vector a text, in the order of the texts. No text is not an error."""
