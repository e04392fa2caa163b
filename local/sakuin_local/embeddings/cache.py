"""Vectors on disk by model and text, so that a second start embeds nothing again."""

import hashlib
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from sakuin_local.embeddings.model import NAME, Text, Vector


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
        rows = [(self._key(text), vector.tobytes()) for text, vector in vectors.items()]
        with self._connection:
            self._connection.executemany("insert or replace into vector values (?, ?)", rows)

    def _key(self, text: Text) -> bytes:
        key = f"{self._model}\n{'query' if text.is_query else 'passage'}\n{text.text}"
        return hashlib.sha256(key.encode()).digest()
