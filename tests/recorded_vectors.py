"""Vectors that the local model gave before: those of the samples and of the questions about them take it minutes.

A stack or a gate that begins with them computes only what is new. `make proofs` begins without them. After texts have
changed, record the new ones; to leave out the old ones, or with another model, remove the file before:

    export SAKUIN_RECORD_VECTORS=1
    .venv/bin/python -m pytest -p no:xdist tests/general tests/integration/test_retrieval_gate.py
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
from sakuin_local.embeddings.cache import VectorCache

from tests.effort import EFFORT

FILE = Path(__file__).with_suffix(".npz")


@contextmanager
def recorded_vectors(cache: Path) -> Iterator[None]:
    """Puts the recorded vectors into the file of a `VectorCache`; keeps its vectors afterwards if asked to record."""
    if EFFORT == 1:
        put_into(cache)
    yield
    if "SAKUIN_RECORD_VECTORS" in os.environ:
        _keep(_recorded() | _content(cache))


def put_into(cache: Path) -> None:
    """Puts the recorded vectors into the file of a `VectorCache`, which may be new."""
    VectorCache(cache)
    with closing(sqlite3.connect(cache)) as connection, connection:
        connection.executemany("insert or ignore into vector values (?, ?)", _recorded().items())


def _recorded() -> dict[bytes, bytes]:
    """Vectors of 32-bit floats by the key that the cache gives them."""
    if not FILE.exists():
        return {}
    with np.load(FILE) as file:
        return {
            key.tobytes(): row.astype("<f4").tobytes() for key, row in zip(file["keys"], file["vectors"], strict=True)
        }


def _keep(vectors: dict[bytes, bytes]) -> None:
    keys = np.array([np.frombuffer(key, dtype=np.uint8) for key in vectors])
    # A cosine of such numbers differs in the fourth decimal.
    halves = np.array([np.frombuffer(value, dtype="<f4") for value in vectors.values()]).astype("<f2")
    np.savez_compressed(FILE, keys=keys, vectors=halves)


def _content(cache: Path) -> dict[bytes, bytes]:
    with closing(sqlite3.connect(cache)) as connection:
        return dict(connection.execute("select key, value from vector"))
