"""The vectors of the samples, which the model gave before: it would take half of the first start for them."""

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np

from sakuin_local.embeddings.cache import VectorCache

# Of 16 bits: a cosine of such numbers differs in the fourth decimal.
FILE = Path(__file__).with_suffix(".npz")


def put_into(cache: Path) -> None:
    """Puts the recorded vectors into the file of a `VectorCache`, which may be new."""
    VectorCache(cache)
    with closing(sqlite3.connect(cache)) as connection, connection:
        connection.executemany("insert or ignore into vector values (?, ?)", recorded_vectors().items())


def recorded_vectors() -> dict[bytes, bytes]:
    """Returns vectors of 32-bit floats by the key that the cache gives them."""
    if not FILE.exists():
        return {}
    with np.load(FILE) as file:
        return {
            key.tobytes(): row.astype("<f4").tobytes() for key, row in zip(file["keys"], file["vectors"], strict=True)
        }
