"""A numpy array that grows at its end."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray


class Growing:
    """One dimension; room is doubled, so that appending is cheap."""

    def __init__(self, dtype: DTypeLike) -> None:
        self._room: NDArray[Any] = np.empty(64, dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def view(self) -> NDArray[Any]:
        """What is in it; writing there changes it."""
        return self._room[: self._size]

    def extend(self, values: ArrayLike) -> None:
        """Adds `values` at the end."""
        added = np.asarray(values, self._room.dtype)
        needed = self._size + len(added)
        if needed > len(self._room):
            room = np.empty(max(needed, 2 * len(self._room)), self._room.dtype)
            room[: self._size] = self.view
            self._room = room
        self._room[self._size : needed] = added
        self._size = needed

    def fill_to(self, size: int, value: float) -> None:
        """Makes it at least `size` long, with `value` in what is new."""
        if size > self._size:
            self.extend(np.full(size - self._size, value, self._room.dtype))
