"""One namespace in memory: rows in the order of writing, with the indexes for filters, words and vectors."""

from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sakuin_local.turbopuffer.schema import Attribute, Document, Floats, Schema

Mask = NDArray[np.bool_]
Rows = NDArray[np.int_]
Numbered = tuple[int, Document]

# Blocks grow without copying: 100,000 rows of 1,536 numbers have 600 MB.
BLOCK_ROWS = 8_192


class Index:
    """The rows with each value or token of an attribute, ascending; a row is there once for each occurrence."""

    def __init__(self, attribute: Attribute) -> None:
        self._full_text = attribute.full_text
        self.rows: dict[Any, array[int]] = defaultdict(partial(array, "i"))
        # The number of values or tokens by row.
        self.lengths = array("i")

    def add(self, row: int, value: Any) -> None:
        """Adds the value of a new row; None is no value."""
        if value is None:
            values: Collection[Any] = ()
        elif self._full_text:
            values = self._full_text.tokens(value)
        else:
            values = value if isinstance(value, list) else [value]
        for each in values:
            self.rows[each].append(row)
        self.lengths.append(len(values))

    def of(self, value: Any) -> Rows:
        """Returns the rows with a value, with repetition."""
        return np.array(self.rows.get(value, ()), np.int_)


class Vectors:
    """Unit vectors by row, as wide as the widest without the zeros at its end."""

    def __init__(self) -> None:
        self._blocks: list[Floats] = []
        self._size = 0

    def append(self, vector: Floats) -> None:
        """Adds the vector of a new row."""
        row, width = self._size % BLOCK_ROWS, max(len(vector), 1)
        if row == 0:
            self._blocks.append(np.zeros((BLOCK_ROWS, width), np.float32))
        narrow = self._blocks[-1]
        if width > narrow.shape[1]:
            # Unwritten rows are zeros that use no memory: they are not copied.
            self._blocks[-1] = np.zeros((BLOCK_ROWS, width), np.float32)
            self._blocks[-1][:row, : narrow.shape[1]] = narrow[:row]
        self._blocks[-1][row, : len(vector)] = _unit(vector)
        self._size += 1

    def distances(self, vector: Floats, rows: Rows) -> Floats:
        """Returns the cosine distances of rows, which are ascending; exact."""
        query, parts = _unit(vector), [np.empty(0, np.float32)]
        for number, block in enumerate(self._blocks):
            start, end = np.searchsorted(rows, [number * BLOCK_ROWS, (number + 1) * BLOCK_ROWS])
            own = rows[start:end] - number * BLOCK_ROWS
            width = min(block.shape[1], len(query))
            # Few rows are copied, of many all are computed.
            few = len(own) < BLOCK_ROWS // 4
            parts.append(block[own, :width] @ query[:width] if few else (block[:, :width] @ query[:width])[own])
        return np.asarray(1 - np.concatenate(parts), np.float32)


class Contents:
    """The rows of a namespace. `stored` reads all of them, in the order of writing, with their numbers in storage."""

    def __init__(self, schema: Schema, stored: Callable[[], Iterable[Numbered]]) -> None:
        self.schema, self._stored = schema, stored
        self.ids: list[str] = []
        self.row_of: dict[str, int] = {}
        self.numbers = array("q")
        self._alive = bytearray()
        self.vectors = Vectors()
        # Texts are tokenized before the first search for them: seldom is one.
        self._indexes = {
            name: Index(attribute)
            for name, attribute in schema.items()
            if name != "id" and (attribute.filterable or (attribute.full_text and attribute.full_text.is_pre_tokenized))
        }
        self.add(stored())

    @property
    def size(self) -> int:
        """Returns the number of rows, including removed ones."""
        return len(self.ids)

    @property
    def alive(self) -> Mask:
        """Returns the rows that are not removed."""
        return np.array(self._alive, np.bool_)

    @property
    def is_mostly_gone(self) -> bool:
        """Returns whether most rows are removed, so that it should be rebuilt."""
        return self.size > 1_000 and len(self.row_of) < self.size // 2

    def mask(self, rows: Any) -> Mask:
        """Returns a mask of these rows."""
        mask = np.zeros(self.size, np.bool_)
        mask[rows] = True
        return mask

    def visible(self, hidden: Iterable[str]) -> Mask:
        """Returns the rows that are alive, without the hidden documents."""
        return self.alive & ~self.mask([self.row_of[id] for id in hidden if id in self.row_of])

    def add(self, documents: Iterable[Numbered]) -> None:
        """Adds rows."""
        for number, document in documents:
            row = self.size
            self.ids.append(document.id)
            self.row_of[document.id] = row
            self.numbers.append(number)
            self._alive.append(True)
            if document.vector is not None:
                self.vectors.append(document.vector)
            for name, index in self._indexes.items():
                index.add(row, document.attributes.get(name))

    def remove(self, rows: Iterable[int]) -> None:
        """Removes rows."""
        for row in rows:
            self._alive[row] = False
            del self.row_of[self.ids[row]]

    def index(self, name: str) -> Index:
        """Returns the index of an attribute."""
        if name not in self._indexes:
            index = Index(self.schema[name])
            texts = {self.row_of[document.id]: document.attributes.get(name) for _, document in self._stored()}
            for row in range(self.size):
                index.add(row, texts.get(row))
            self._indexes[name] = index
        return self._indexes[name]


def _unit(vector: Floats) -> Floats:
    norm = float(np.linalg.norm(vector))
    return vector / norm if norm else vector
