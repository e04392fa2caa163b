"""Exact cosine distances between a query vector and all stored vectors."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]

# Blocks grow without copying: 100,000 rows of 1,536 numbers have 600 MB.
BLOCK_ROWS = 8_192
# Below this share only the wanted rows are computed.
FEW = 0.25


class Vectors:
    """All vectors of a namespace by row, without zeros at their end: padding costs neither memory nor time."""

    def __init__(self) -> None:
        self._blocks: list[Floats] = []
        self._size = 0

    def extend(self, vectors: list[Floats]) -> None:
        """Adds rows, each with its own width."""
        for vector in vectors:
            block, row = divmod(self._size, BLOCK_ROWS)
            self._make_room(block, len(vector))
            self._blocks[block][row, : len(vector)] = _unit(vector)
            self._size += 1

    def distances(self, query: Floats, wanted: Mask) -> Floats:
        """Returns the distance of each row, infinite for rows that are not wanted."""
        distances = np.full(self._size, np.inf, np.float32)
        asked = _unit(query)
        for number, block in enumerate(self._blocks):
            start, end = number * BLOCK_ROWS, min((number + 1) * BLOCK_ROWS, self._size)
            rows = np.flatnonzero(wanted[start:end])
            if len(rows) < FEW * (end - start):
                distances[start + rows] = _distances(block[rows], asked)
            elif len(rows):
                distances[start + rows] = _distances(block[: end - start], asked)[rows]
        return distances

    def _make_room(self, block: int, width: int) -> None:
        if block == len(self._blocks):
            before = self._blocks[-1].shape[1] if self._blocks else 0
            self._blocks.append(np.zeros((BLOCK_ROWS, max(width, before, 1)), np.float32))
        narrow = self._blocks[block]
        if width > narrow.shape[1]:
            # Unwritten rows are zeros that use no memory: they are not copied.
            used = self._size - block * BLOCK_ROWS
            self._blocks[block] = np.zeros((BLOCK_ROWS, width), np.float32)
            self._blocks[block][:used, : narrow.shape[1]] = narrow[:used]


def _unit(vector: Floats) -> Floats:
    norm = float(np.linalg.norm(vector))
    return vector / norm if norm else vector


def _distances(rows: Floats, asked: Floats) -> Floats:
    width = min(rows.shape[1], len(asked))
    return np.asarray(1 - rows[:, :width] @ asked[:width], np.float32)


def trimmed(vector: Floats) -> Floats:
    """Returns a vector without the zeros at its end."""
    used = np.flatnonzero(vector)
    return vector[: used[-1] + 1] if len(used) else vector[:0]
