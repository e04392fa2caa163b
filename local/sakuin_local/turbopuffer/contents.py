"""One namespace in memory: rows in the order of writing, with the indexes for searches and filters."""

from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sakuin_local.turbopuffer.columns import Column, Growing
from sakuin_local.turbopuffer.documents import Id
from sakuin_local.turbopuffer.postings import Postings, tokens
from sakuin_local.turbopuffer.schema import FullText, Schema
from sakuin_local.turbopuffer.storage import Parts, Storage, Stored
from sakuin_local.turbopuffer.vectors import Vectors

Mask = NDArray[np.bool_]

# Rows that are loaded at once.
TOGETHER = 1_000


class Contents:
    """The rows of a namespace, built from storage; texts are tokenized before the first search for them."""

    def __init__(self, storage: Storage, namespace: str, schema: Schema) -> None:
        self._storage, self._namespace = storage, namespace
        self.schema = schema
        self.ids: list[Id] = []
        self._numbers = Growing(np.int64)
        self._alive = Growing(np.bool_)
        self._row_of: dict[Id, int] = {}
        self._hidden: Collection[Id] = ()
        self.vectors = Vectors()
        self._columns = {name: Column() for name, attribute in schema.items() if attribute.filterable and name != "id"}
        self._postings = {
            name: Postings(attribute.full_text)
            for name, attribute in schema.items()
            if attribute.full_text and attribute.full_text.is_pre_tokenized
        }
        self.add(storage.documents(namespace))

    @property
    def size(self) -> int:
        """Returns the number of rows, including removed ones."""
        return len(self.ids)

    @property
    def alive(self) -> Mask:
        """Returns the rows that are not removed."""
        return self._alive.view

    @property
    def shown(self) -> Mask:
        """Returns the rows that queries see."""
        shown = self.alive.copy()
        shown[[self._row_of[id] for id in self._hidden if id in self._row_of]] = False
        return shown

    def hide(self, ids: Collection[Id]) -> None:
        """Hides these documents, and no others, from queries."""
        self._hidden = ids

    @property
    def is_mostly_gone(self) -> bool:
        """Returns whether most rows are removed, so that it should be rebuilt."""
        return self.size > 1_000 and len(self._row_of) < self.size // 2

    def row(self, id: Id) -> int | None:
        """Returns the row of a document."""
        return self._row_of.get(id)

    def numbers(self, rows: Iterable[int]) -> list[int]:
        """Returns the numbers of rows in storage."""
        return [int(self._numbers.view[row]) for row in rows]

    def add(self, documents: Iterable[Stored]) -> None:
        """Adds rows."""
        remaining = iter(documents)
        while part := list(islice(remaining, TOGETHER)):
            first = self.size
            self.ids += [stored.document.id for stored in part]
            self._numbers.extend([stored.number for stored in part])
            self._alive.extend([True] * len(part))
            self._row_of |= {stored.document.id: first + place for place, stored in enumerate(part)}
            self.vectors.extend([stored.document.vector for stored in part if stored.document.vector is not None])
            for name, column in self._columns.items():
                for place, stored in enumerate(part):
                    column.add(first + place, _value(stored, name))
            for name, postings in self._postings.items():
                postings.add(self._words(part, name))

    def remove(self, rows: Sequence[int]) -> None:
        """Removes rows."""
        for row in rows:
            self._alive.view[row] = False
            del self._row_of[self.ids[row]]
            for postings in self._postings.values():
                postings.remove(row)

    def column(self, name: str) -> Column:
        """Returns the values of a filterable attribute, or the ids."""
        if name not in self._columns:
            column = Column()
            if name == "id":
                for row, id in enumerate(self.ids):
                    column.add(row, id)
            else:
                for stored in self._storage.documents(self._namespace, parts=Parts(vectors=False)):
                    column.add(self._row_of[stored.document.id], stored.document.attributes.get(name))
            self._columns[name] = column
        return self._columns[name]

    def postings(self, name: str) -> Postings:
        """Returns the words of a full-text attribute."""
        if name not in self._postings:
            postings = Postings(self._full_text(name))
            remaining = self._storage.documents(self._namespace, parts=Parts(vectors=False))
            while part := list(islice(remaining, TOGETHER)):
                postings.add(self._words(part, name))
            self._postings[name] = postings
        return self._postings[name]

    def _words(self, documents: Sequence[Stored], name: str) -> list[tuple[int, Sequence[str]]]:
        full_text = self._full_text(name)
        values = [(self._row_of[each.document.id], each.document.attributes.get(name)) for each in documents]
        return [(row, tokens(value, full_text)) for row, value in values if value is not None]

    def _full_text(self, name: str) -> FullText:
        full_text = self.schema[name].full_text
        assert full_text is not None  # noqa: S101 - checked before
        return full_text


def _value(stored: Stored, name: str) -> Any:
    return stored.document.id if name == "id" else stored.document.attributes.get(name)
