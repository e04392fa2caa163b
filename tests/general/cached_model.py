"""A model with its vectors in a file, as an `Embedder`: the local stack's, 8 texts a second, or one at an endpoint."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from openai import OpenAI
from sakuin_local.embeddings.cache import VectorCache
from sakuin_local.embeddings.model import DIMENSIONS, NAME, Model, Text, Vector, slices

# As wide as the column of the database; zeros change no cosine.
WIDTH = 1536


@dataclass(frozen=True)
class EndpointModel:
    """A model behind an endpoint as OpenAI's. The variable OPENAI_API_KEY has the key."""

    name: str
    client: OpenAI

    def embed(self, texts: Sequence[Text]) -> list[Vector]:
        """Returns vectors of unit length in the order of the texts."""
        answer = self.client.embeddings.create(model=self.name, input=[text.text for text in texts])
        rows = [np.array(one.embedding, dtype="<f4") for one in answer.data]
        return [row / np.linalg.norm(row) for row in rows]


@dataclass(frozen=True)
class CachedModel:
    """Vectors of unit length by text."""

    name: str
    model: Model | EndpointModel
    cache: VectorCache

    @classmethod
    def in_file(cls, file: Path, *, endpoint: str | None = None, name: str = NAME) -> "CachedModel":
        """The local model, or the model `name` at `endpoint`. A cache that is there is used on."""
        file.parent.mkdir(parents=True, exist_ok=True)
        model = EndpointModel(name, OpenAI(base_url=endpoint)) if endpoint else Model()
        return cls(name, model, VectorCache(file, name))

    def matrix(self, texts: Sequence[str], *, queries: bool) -> NDArray[np.float32]:
        """One row a text, as narrow as the model makes them."""
        asked = [Text(queries, text) for text in texts]
        known = self.cache.found(asked)
        missing = [text for text in dict.fromkeys(asked) if text not in known]
        for part in slices(missing):
            new = dict(zip(part, self.model.embed(part), strict=True))
            self.cache.store(new)
            known |= new
        return np.stack([known[text] for text in asked]) if asked else np.zeros((0, DIMENSIONS), dtype=np.float32)

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        return [_wide(row) for row in self.matrix(texts, queries=False)]

    def questions(self, texts: Sequence[str]) -> list[list[float]]:
        return [_wide(row) for row in self.matrix(texts, queries=True)]


def _wide(vector: NDArray[np.float32]) -> list[float]:
    padded = np.zeros(WIDTH, dtype=np.float32)
    padded[: len(vector)] = vector
    return [float(number) for number in padded]
