"""The rows of one namespace in memory, in the order of writing, with indexes for filters, words and vectors."""

import operator
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sakuin_local.turbopuffer import limits
from sakuin_local.turbopuffer.limits import Refused, require
from sakuin_local.turbopuffer.schema import Attribute, Document, Floats, Schema, fits, vector_of

Mask = NDArray[np.bool_]
Rows = NDArray[np.int_]

ORDER: Mapping[str, Callable[[Any, Any], bool]] = {"Lte": operator.le, "Gt": operator.gt, "Gte": operator.ge}
_OF_LISTS = ("Contains", "ContainsAny")
_OF_MANY = ("In", "ContainsAny")
_MEMBERS = {"rank_by", "limit", "filters", "include_attributes", "consistency", "vector_encoding"}
# BM25 as in Robertson and Zaragoza 2009, idf as in Lucene; k1 and b are of the attribute.
_K3 = 8.0


class Index:
    """The rows with each value or token of an attribute, ascending; a row is there once for each occurrence."""

    def __init__(self, attribute: Attribute) -> None:
        self._attribute = attribute
        self.rows: dict[Any, array[int]] = defaultdict(partial(array, "i"))
        # The number of values or tokens by row.
        self.lengths = array("i")

    def add(self, row: int, value: Any) -> None:
        """Adds the value of a new row; None is no value."""
        values = value if isinstance(value, list) else [] if value is None else [value]
        if self._attribute.full_text and value is not None:
            values = self._attribute.full_text.tokens(value)
        for each in values:
            self.rows[each].append(row)
        self.lengths.append(len(values))

    def of(self, value: Any) -> Rows:
        """Returns the rows with a value, with repetition."""
        return np.array(self.rows.get(value, ()), np.int_)


class NamespaceRows:
    """The rows of a namespace, in the order of writing."""

    def __init__(self, schema: Schema, documents: Iterable[Document] = ()) -> None:
        self.schema = schema
        self.ids: list[str] = []
        self.row_of: dict[str, int] = {}
        self.attributes: list[Mapping[str, Any]] = []
        self._alive = bytearray()
        # Unit vectors, as wide as the widest without the zeros at its end.
        self._vectors: Floats = np.zeros((0, 1), np.float32)
        # Texts are tokenized before the first search for them: seldom is one.
        self._indexes = {
            name: Index(attribute)
            for name, attribute in schema.items()
            if name != "id" and (attribute.filterable or (attribute.full_text and attribute.full_text.is_pre_tokenized))
        }
        self.add(list(documents))

    @property
    def alive(self) -> Mask:
        """Returns the rows that are not removed."""
        return np.array(self._alive, np.bool_)

    @property
    def is_mostly_gone(self) -> bool:
        """Returns whether most rows are removed, so that it should be rebuilt."""
        return len(self.ids) > 1_000 and len(self.row_of) < len(self.ids) // 2

    def mask(self, rows: Any) -> Mask:
        """Returns a mask of these rows."""
        mask = np.zeros(len(self.ids), np.bool_)
        mask[rows] = True
        return mask

    def visible(self, hidden: Iterable[str]) -> Mask:
        """Returns the rows that are alive, without the hidden documents."""
        return self.alive & ~self.mask([self.row_of[id] for id in hidden if id in self.row_of])

    def add(self, documents: Sequence[Document]) -> None:
        """Adds rows."""
        for row, document in enumerate(documents, len(self.ids)):
            self.ids.append(document.id)
            self.row_of[document.id] = row
            self._alive.append(True)
            self.attributes.append(document.attributes)
            for name, index in self._indexes.items():
                index.add(row, document.attributes.get(name))
        vectors = [document.vector for document in documents if document.vector is not None]
        (size, width), widest = self._vectors.shape, max(map(len, vectors), default=0)
        grown = np.zeros((size + len(vectors), max(width, widest)), np.float32)
        grown[:size, :width] = self._vectors
        for row, vector in enumerate(vectors, size):
            grown[row, : len(vector)] = _unit(vector)
        self._vectors = grown

    def remove(self, rows: Iterable[int]) -> None:
        """Removes rows."""
        for row in rows:
            self._alive[row] = False
            del self.row_of[self.ids[row]]

    def query(self, query: Mapping[str, Any], visible: Mask) -> list[dict[str, Any]]:
        """Returns the first rows of a query as turbopuffer does; ties are in the order of writing."""
        names = query.get("include_attributes") or ()
        return [
            {**members, **{name: self.attributes[row][name] for name in names if name in self.attributes[row]}}
            for row, members in self._found(query, visible)
        ]

    def _found(self, query: Mapping[str, Any], visible: Mask) -> list[tuple[int, dict[str, Any]]]:
        """Returns the first rows of a query, with their id and `$dist`."""
        require(not query.keys() - _MEMBERS, f"this stand-in does not support the query {str(query)[:200]}", status=422)
        limit, filters, rank_by = query["limit"], query.get("filters"), query["rank_by"]
        is_limit = type(limit) is int and 1 <= limit <= limits.ROWS_AN_ANSWER
        require(is_limit, f"limit is 1 to {limits.ROWS_AN_ANSWER}")
        unknown = set(query.get("include_attributes") or ()) - (self.schema.keys() - {"vector"})
        require(not unknown, f"attributes are not in the schema, or vectors: {', '.join(sorted(unknown))}")
        mask = visible if filters is None else visible & self.passing(filters)
        match rank_by:
            case ["id", "asc"]:
                rows = sorted(np.flatnonzero(mask).tolist(), key=self.ids.__getitem__)
                return [(row, {"id": self.ids[row]}) for row in rows[:limit]]
            case ["vector", "ANN" | "kNN" as kind, value]:
                require(filters or kind == "ANN", "kNN compares all rows of a filter: filters is required")
                vector = vector_of(value, self.schema["vector"].dimensions)
                candidates = np.flatnonzero(mask)
                unit = _unit(vector)[: self._vectors.shape[1]]
                distances = np.asarray(1 - (self._vectors[:, : len(unit)] @ unit)[candidates], np.float32)
                return self._first(candidates, distances, limit, 1)
        is_short = _characters(rank_by) <= limits.FULL_TEXT_QUERY_CHARACTERS
        require(is_short, f"a full-text query has at most {limits.FULL_TEXT_QUERY_CHARACTERS} characters")
        scores = self._scores(rank_by)
        candidates = np.flatnonzero(mask & (scores > 0))
        return self._first(candidates, -scores[candidates], limit, -1)

    def _first(self, rows: Rows, keys: Floats, limit: int, sign: int) -> list[tuple[int, dict[str, Any]]]:
        if len(rows) > limit:
            # Keeps all ties of the last row, so that the result is deterministic.
            near = keys <= np.partition(keys, limit - 1)[limit - 1]
            rows, keys = rows[near], keys[near]
        order = np.argsort(keys, kind="stable")[:limit]
        pairs = zip(rows[order].tolist(), (sign * keys[order]).tolist(), strict=True)
        return [(row, {"id": self.ids[row], "$dist": dist}) for row, dist in pairs]

    # ---------------------------------------------------------------- words

    def _scores(self, expression: Any) -> Floats:
        match expression:
            case ["Sum" | "Max" as together, [*clauses]]:
                parts = [np.zeros(len(self.ids), np.float32), *map(self._scores, clauses)]
                return np.asarray((np.add if together == "Sum" else np.maximum).reduce(parts), np.float32)
            case [str() as name, "BM25", query]:
                return self._bm25(name, query)
        raise Refused("this stand-in orders by id, by distance, or by Sum and Max of BM25", status=422)

    def _bm25(self, name: str, query: Any) -> Floats:
        full_text = self.schema[name].full_text
        if full_text is None:
            raise Refused(f"BM25 needs full_text_search on '{name}'")
        kind = "[]string" if full_text.is_pre_tokenized else "string"
        require(fits(query, kind), f"BM25 on '{name}', whose tokenizer is {full_text.tokenizer}, takes a {kind}")
        index, alive = self._index(name), self.alive
        lengths = np.array(index.lengths, np.float32)
        documents = int((alive & (lengths > 0)).sum())
        k1, b = full_text.k1, full_text.b
        norms = k1 * (1 - b + b * lengths / max(lengths[alive].sum() / max(documents, 1), 1e-9))
        scores = np.zeros(len(self.ids), np.float32)
        for token, times in Counter(full_text.tokens(query)).items():
            rows = index.of(token)
            rows = rows[alive[rows]]
            # They are ascending, so that each occurrence of a token in a row stands beside the others.
            firsts = np.flatnonzero(np.diff(rows, prepend=-1))
            rows, counts = rows[firsts], np.diff(firsts, append=len(rows))
            rarity = np.log1p((documents - len(rows) + 0.5) / (len(rows) + 0.5))
            scores[rows] += rarity * (_K3 + 1) * times / (_K3 + times) * (k1 + 1) * counts / (counts + norms[rows])
        return scores

    def _index(self, name: str) -> Index:
        if name not in self._indexes:
            index = self._indexes[name] = Index(self.schema[name])
            for row, attributes in enumerate(self.attributes):
                index.add(row, attributes.get(name))
        return self._indexes[name]

    # ---------------------------------------------------------------- filters

    def passing(self, filter: Any) -> Mask:
        """Returns the rows that match, removed ones too."""
        match filter:
            case ["And" | "Or" as together, [*filters]]:
                masks = [np.full(len(self.ids), together == "And"), *map(self.passing, filters)]
                return np.asarray((np.logical_and if together == "And" else np.logical_or).reduce(masks), np.bool_)
            case [str() as name, "NotEq", value]:
                return ~self.passing([name, "Eq", value])
            case [str() as name, "NotContains", value]:
                return ~self.passing([name, "Contains", value])
            case [str() as name, "Eq" | "In" | "Contains" | "ContainsAny" | "Lte" | "Gt" | "Gte" as comparison, value]:
                return self._compared(name, comparison, value)
        raise Refused(f"this stand-in does not support the filter {str(filter)[:200]}", status=422)

    def _compared(self, name: str, comparison: str, value: Any) -> Mask:
        require(name in self.schema, f"attribute '{name}' is not in the schema")
        attribute = self.schema[name]
        require(attribute.filterable, f"attribute '{name}' is not filterable: set filterable to true in the schema")
        one = attribute.type.removeprefix("[]")
        is_many = comparison in _OF_MANY
        is_right = attribute.is_list == (comparison in _OF_LISTS) and fits(value, "[]" * is_many + one)
        require(is_right, f"{comparison} does not go with '{name}', which is {attribute.type}, and this value")
        values = value if is_many else [value]
        is_long = any(isinstance(each, str) and len(each.encode()) > limits.FILTERABLE_VALUE_BYTES for each in values)
        require(not is_long, f"a value of the filter on '{name}' is larger than 4 KiB")
        known: Iterable[Any] = self.row_of if name == "id" else self._indexes[name].rows
        if comparison in ORDER:
            values = [each for each in known if ORDER[comparison](each, value)]
        if name == "id":
            return self.mask([self.row_of[each] for each in values if each in self.row_of])
        return self.mask(np.concatenate([np.empty(0, np.int_), *map(self._indexes[name].of, values)]))


def _characters(expression: Any) -> int:
    """Returns the number of characters that an expression searches for."""
    match expression:
        case [_, "BM25", query]:
            return sum(map(len, query if isinstance(query, list) else [query]))
        case ["Sum" | "Max", [*clauses]]:
            return sum(map(_characters, clauses))
    return 0


def _unit(vector: Floats) -> Floats:
    norm = float(np.linalg.norm(vector))
    return vector / norm if norm else vector
