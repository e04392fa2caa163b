"""Vectors out of the characters of a text: texts that share words are near each other."""

import math
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from sakuin.errors import Invalid, Unavailable
from sakuin.platform.embedding import DIMENSIONS, EmbeddingModel, Vector
from sakuin.retrieval.index_version import ANALYZER, TEXT_TEMPLATE, PageIndexVersion
from sakuin.retrieval.weights import weights_of

MODEL = EmbeddingModel("characters", DIMENSIONS)
FINGERPRINT = PageIndexVersion(MODEL, TEXT_TEMPLATE, ANALYZER)
WEIGHTS = replace(weights_of(MODEL.name), mean=0.02, spread=0.03, known=1_000, is_calibrated=True)


@dataclass
class MemoryEmbedder:
    """An `Embedder`. `embedded` are all passages ever asked for, `queries` all queries; `down` makes it fail.

    Requests that hold a text with one of the `poisons` in it are refused, and those with more than `longest` bytes.
    """

    model: EmbeddingModel = MODEL
    embedded: list[str] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    calls: int = 0
    question_calls: int = 0
    down: bool = False
    poisons: set[str] = field(default_factory=set)
    longest: int = 1_000_000
    require_budget: Callable[[], None] = lambda: None

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        if texts:
            self.require_budget()
        if self.down:
            raise Unavailable("The embedding service did not answer")
        self.calls += bool(texts)
        if any(poison in text for text in texts for poison in self.poisons):
            raise Invalid("The embedding service refused the request with 400")
        if any(len(text.encode()) > self.longest for text in texts):
            raise Invalid("The embedding service refused the request with 400")
        self.embedded += texts
        return [vector_of(self.model.passage_prefix + text) for text in texts]

    def questions(self, texts: Sequence[str]) -> list[Vector]:
        self.question_calls += 1
        if self.down:
            raise Unavailable("The embedding service did not answer")
        self.queries += texts
        return [vector_of(self.model.query_prefix + text) for text in texts]


def vector_of(text: str) -> Vector:
    """Hashed pairs of characters, of length 1; the same text gives the same vector on every machine."""
    folded = unicodedata.normalize("NFKC", text).lower()
    places: Counter[int] = Counter()
    for pair, count in Counter(pairwise(folded) if len(folded) > 1 else [folded]).items():
        places[zlib.crc32("".join(pair).encode("utf-8", "replace")) % DIMENSIONS] += count
    length = math.sqrt(sum(count * count for count in places.values()))
    vector = [0.0] * DIMENSIONS
    for place, count in places.items():
        vector[place] = count / length
    return vector
