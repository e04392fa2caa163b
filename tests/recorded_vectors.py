"""Vectors that the local model gave before: those of the samples and of the questions about them take it minutes.

A stack that begins without a cache has them, so a gate computes only what is new. `make proofs` begins without them.
After texts have changed, record the new ones; to leave out the old ones, or with another model, remove the file before:

    export SAKUIN_RECORD_VECTORS=1
    .venv/bin/python -m pytest -p no:xdist tests/general tests/integration/test_retrieval_gate.py
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
from sakuin_local.embeddings.cache import RECORDED, VectorCache

from tests.effort import EFFORT


@contextmanager
def recorded_vectors(cache: Path) -> Iterator[None]:
    """Puts the recorded vectors into the file of a `VectorCache`; keeps its vectors afterwards if asked to record."""
    new = VectorCache(cache)  # a stack puts them into a new file only
    if EFFORT == 1:
        new.add_recorded()
    yield
    if "SAKUIN_RECORD_VECTORS" in os.environ:
        _keep(_content(cache))


def _keep(vectors: dict[bytes, bytes]) -> None:
    keys = np.array([np.frombuffer(key, dtype=np.uint8) for key in vectors])
    halves = np.array([np.frombuffer(value, dtype="<f4") for value in vectors.values()]).astype("<f2")
    np.savez_compressed(RECORDED, keys=keys, vectors=halves)


def _content(cache: Path) -> dict[bytes, bytes]:
    with closing(sqlite3.connect(cache)) as connection:
        return dict(connection.execute("select key, value from vector"))
