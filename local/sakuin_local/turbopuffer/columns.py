"""The values of a filterable attribute, each distinct value stored once; growing arrays."""

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

Mask = NDArray[np.bool_]


class Growing:
    """A one-dimensional numpy array that grows at its end; its capacity doubles, so that appending is cheap."""

    def __init__(self, dtype: DTypeLike) -> None:
        self._capacity: NDArray[Any] = np.empty(64, dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def view(self) -> NDArray[Any]:
        """Returns a writable view of the values."""
        return self._capacity[: self._size]

    def extend(self, values: ArrayLike) -> None:
        """Adds `values` at the end."""
        added = np.asarray(values, self._capacity.dtype)
        needed = self._size + len(added)
        if needed > len(self._capacity):
            room = np.empty(max(needed, 2 * len(self._capacity)), self._capacity.dtype)
            room[: self._size] = self.view
            self._capacity = room
        self._capacity[self._size : needed] = added
        self._size = needed

    def fill_to(self, size: int) -> None:
        """Extends the array to `size` with zeros."""
        if size > self._size:
            self.extend(np.zeros(size - self._size, self._capacity.dtype))


class Column:
    """Pairs of row and value: none for null, one for a scalar, any number for a list."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._rows, self._values = Growing(np.int32), Growing(np.int32)

    def add(self, row: int, value: Any) -> None:
        """Adds the value of a new row."""
        values = value if isinstance(value, list) else [] if value is None else [value]
        self._values.extend([self._numbers.setdefault(each, len(self._numbers)) for each in values])
        self._rows.extend([row] * len(values))

    def having_any(self, size: int) -> Mask:
        """Returns the rows with a value."""
        return self._mask(self._rows.view, size)

    def having(self, wanted: Collection[Any], size: int) -> Mask:
        """Returns the rows with one of these values."""
        numbers = [self._numbers[each] for each in wanted if each in self._numbers]
        if len(numbers) == 1:
            return self._mask(self._rows.view[self._values.view == numbers[0]], size)
        chosen = np.zeros(len(self._numbers), bool)
        chosen[numbers] = True
        return self._mask(self._rows.view[chosen[self._values.view]], size)

    def fulfilling(self, predicate: Callable[[Any], bool], size: int) -> Mask:
        """Returns the rows with a value for which `predicate` is true."""
        return self.having([value for value in self._numbers if predicate(value)], size)

    @staticmethod
    def _mask(rows: NDArray[np.int32], size: int) -> Mask:
        mask = np.zeros(size, bool)
        mask[rows] = True
        return mask
