"""Vectors on disk by model and text, so that a second start embeds nothing again."""

import hashlib
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from sakuin_local.embeddings.model import NAME, Text, Vector

# The vectors of the samples, which the model gave before: it would take half of the first start for them. They have
# numbers of 16 bits: a cosine differs in the fourth decimal.
RECORDED = Path(__file__).with_name("recorded.npz")


class VectorCache:
    """One SQLite file for the vectors of models; use it from one thread at a time."""

    def __init__(self, file: Path, model: str = NAME) -> None:
        self._model = model
        # Another thread than the serving one may open it.
        self._connection = sqlite3.connect(file, check_same_thread=False)
        # Vectors lost in a power failure are computed again.
        self._connection.execute("pragma journal_mode = wal")
        self._connection.execute("pragma synchronous = off")
        self._connection.execute("create table if not exists vector (key blob primary key, value blob) without rowid")

    def found(self, texts: Sequence[Text]) -> dict[Text, Vector]:
        """Returns the stored vectors among `texts`."""
        vectors = {}
        for text in set(texts):
            row = self._connection.execute("select value from vector where key = ?", (self._key(text),)).fetchone()
            if row:
                vectors[text] = np.frombuffer(row[0], dtype="<f4")
        return vectors

    def store(self, vectors: Mapping[Text, Vector]) -> None:
        """Stores vectors."""
        self._put({self._key(text): vector for text, vector in vectors.items()})

    def add_recorded(self) -> None:
        """Stores the recorded vectors, if they are shipped."""
        if RECORDED.exists():
            with np.load(RECORDED) as file:
                pairs = zip(file["keys"], file["vectors"], strict=True)
                self._put({key.tobytes(): row.astype("<f4") for key, row in pairs})

    def _put(self, vectors: Mapping[bytes, Vector]) -> None:
        with self._connection:
            rows = [(key, vector.tobytes()) for key, vector in vectors.items()]
            self._connection.executemany("insert or replace into vector values (?, ?)", rows)

    def _key(self, text: Text) -> bytes:
        key = f"{self._model}\n{'query' if text.is_query else 'passage'}\n{text.text}"
        return hashlib.sha256(key.encode()).digest()
