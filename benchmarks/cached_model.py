"""The local stack's model with its vectors in a file, as an `Embedder`: 8 texts a second are asked for once."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sakuin_local.embeddings.cache import VectorCache
from sakuin_local.embeddings.model import DIMENSIONS, NAME, Model, Text

# As wide as the column of the database; zeros change no cosine.
WIDTH = 1536


@dataclass(frozen=True)
class CachedModel:
    """Vectors of unit length by text."""

    model: Model
    cache: VectorCache

    @classmethod
    def in_file(cls, file: Path) -> "CachedModel":
        """A cache that is there is used on."""
        file.parent.mkdir(parents=True, exist_ok=True)
        return cls(Model(), VectorCache(file))

    @property
    def name(self) -> str:
        return NAME

    def matrix(self, texts: Sequence[str], *, queries: bool) -> NDArray[np.float32]:
        """One row a text, as narrow as the model makes them."""
        asked = [Text(queries, text) for text in texts]
        known = self.cache.found(asked)
        missing = [text for text in dict.fromkeys(asked) if text not in known]
        position = 0
        for part in self.model.embed(missing):
            fresh = part.result()
            new = dict(zip(missing[position : position + len(fresh)], fresh, strict=True))
            position += len(fresh)
            self.cache.store(new)
            known |= new
        return np.stack([known[text] for text in asked]) if asked else np.zeros((0, DIMENSIONS), dtype=np.float32)

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        return [_wide(row) for row in self.matrix(texts, queries=False)]

    def query(self, text: str) -> list[float]:
        return _wide(self.matrix([text], queries=True)[0])


def _wide(vector: NDArray[np.float32]) -> list[float]:
    padded = np.zeros(WIDTH, dtype=np.float32)
    padded[: len(vector)] = vector
    return [float(number) for number in padded]
