"""The rows that a filter lets through, and the order of a query."""

import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sakuin_local.turbopuffer import limits
from sakuin_local.turbopuffer.contents import Contents, Mask
from sakuin_local.turbopuffer.limits import Refused
from sakuin_local.turbopuffer.schema import fits, vector_of

_OF_A_REQUEST = {"consistency", "vector_encoding"}
_MEMBERS = {"rank_by", "limit", "filters", "include_attributes", *_OF_A_REQUEST}
_ORDER: dict[str, Callable[[Any, Any], bool]] = {"Lte": operator.le, "Gt": operator.gt}
# BM25 as in Robertson and Zaragoza 2009, idf as in Lucene; k1 and b are of the attribute.
_K3 = 8.0


@dataclass(frozen=True, slots=True)
class Ranked:
    """Rows, best first, with their `$dist` (a distance or a score; none if they are in the order of ids)."""

    rows: Sequence[int]
    dists: Sequence[float] | None
    attributes: frozenset[str]


def queries_of(body: Any) -> list[Any]:
    """Returns the queries of a request."""
    if not isinstance(body, dict):
        raise Refused("a query is an object", status=422)
    if "queries" not in body:
        return [body]
    queries = body["queries"]
    if unknown := set(body) - {"queries", *_OF_A_REQUEST}:
        raise Refused(f"unknown in a multi-query: {sorted(unknown)}", status=422)
    if not isinstance(queries, list) or not 1 <= len(queries) <= limits.QUERIES_A_REQUEST:
        raise Refused(f"a multi-query has 1 to {limits.QUERIES_A_REQUEST} queries")
    return queries


def ranked(query: Any, contents: Contents, visible: Mask) -> Ranked:
    """Returns the first rows of a query; ties are in the order of writing."""
    if not isinstance(query, dict) or query.keys() - _MEMBERS:
        raise Refused(f"this stand-in does not support the query {str(query)[:200]}", status=422)
    limit, filters, rank_by = query.get("limit"), query.get("filters"), query.get("rank_by")
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= limits.ROWS_AN_ANSWER:
        raise Refused(f"limit is 1 to {limits.ROWS_AN_ANSWER}")
    included = query.get("include_attributes") or []
    if unknown := set(included) - contents.schema.keys() | {"vector"} & set(included):
        raise Refused(f"attributes are not in the schema, or vectors: {', '.join(sorted(unknown))}")
    if not isinstance(rank_by, list) or len(rank_by) < 2:
        raise Refused("rank_by is a list", status=422)
    mask = visible if filters is None else visible & passing(filters, contents)
    if rank_by == ["id", "asc"]:
        rows = sorted(np.flatnonzero(mask).tolist(), key=lambda row: contents.ids[row])
        return Ranked(rows[:limit], None, frozenset(included))
    if rank_by[1] in ("ANN", "kNN") and len(rank_by) == 3:
        if rank_by[1] == "kNN" and filters is None:
            raise Refused("kNN compares all rows of a filter: filters is required")
        return Ranked(*_nearest(rank_by[0], rank_by[2], contents, mask, limit), frozenset(included))
    # The documentation does not say whether the limit is per clause or for all together: the latter is safe.
    if _characters(rank_by) > limits.FULL_TEXT_QUERY_CHARACTERS:
        raise Refused(f"a full-text query has at most {limits.FULL_TEXT_QUERY_CHARACTERS} characters")
    scores = _scores(rank_by, contents)
    rows, keys = _first(np.flatnonzero(mask & (scores > 0)), lambda rows: -scores[rows], limit)
    return Ranked(rows, [-key for key in keys], frozenset(included))


def answer_of(ranked: Ranked, contents: Contents, attributes: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the rows as JSON; `attributes` are by the number of a row in storage."""
    rows: list[dict[str, Any]] = []
    for place, row in enumerate(ranked.rows):
        dist = {} if ranked.dists is None else {"$dist": ranked.dists[place]}
        values = attributes.get(contents.numbers[row], {})
        rows.append({"id": contents.ids[row], **dist, **{k: v for k, v in values.items() if k in ranked.attributes}})
    return {"rows": rows}


def _nearest(name: str, value: Any, contents: Contents, mask: Mask, limit: int) -> tuple[list[int], list[float]]:
    if name not in contents.schema or not contents.schema[name].dimensions:
        raise Refused(f"ANN needs a vector attribute, '{name}' is none")
    vector = vector_of(value, contents.schema[name].dimensions)
    return _first(np.flatnonzero(mask), lambda rows: contents.vectors.distances(vector, rows), limit)


def _first(
    rows: NDArray[np.int_], keys_of: Callable[[Any], NDArray[np.float32]], limit: int
) -> tuple[list[int], list[float]]:
    keys = keys_of(rows)
    if len(rows) > limit:
        # Keeps all ties of the last row, so that the result is deterministic.
        near = keys <= np.partition(keys, limit - 1)[limit - 1]
        rows, keys = rows[near], keys[near]
    order = np.argsort(keys, kind="stable")[:limit]
    return rows[order].tolist(), keys[order].tolist()


# ---------------------------------------------------------------- words


def _scores(expression: Any, contents: Contents) -> NDArray[np.float32]:
    match expression:
        case ["Sum" | "Max" as together, [*clauses]]:
            parts = [np.zeros(contents.size, np.float32), *(_scores(clause, contents) for clause in clauses)]
            return np.asarray((np.add if together == "Sum" else np.maximum).reduce(parts), np.float32)
        case [str() as name, "BM25", query]:
            return _bm25(name, query, contents)
    raise Refused("this stand-in orders by id, by distance, or by Sum and Max of BM25", status=422)


def _bm25(name: str, query: Any, contents: Contents) -> NDArray[np.float32]:
    full_text = contents.schema[name].full_text if name in contents.schema else None
    if full_text is None:
        raise Refused(f"BM25 needs full_text_search on '{name}'")
    if not fits(query, "[]string" if full_text.is_pre_tokenized else "string"):
        raise Refused(f"BM25 on '{name}', whose tokenizer is {full_text.tokenizer}, takes no {type(query).__name__}")
    index, alive = contents.index(name), contents.alive
    lengths = np.array(index.lengths, np.float32)
    documents = int((alive & (lengths > 0)).sum())
    k1, b = full_text.k1, full_text.b
    norms = k1 * (1 - b + b * lengths / max(lengths[alive].sum() / max(documents, 1), 1e-9))
    scores = np.zeros(contents.size, np.float32)
    for token, times in Counter(full_text.tokens(query)).items():
        rows = index.of(token)
        rows = rows[alive[rows]]
        # They are ascending, so that each occurrence of a token in a row stands beside the others.
        firsts = np.flatnonzero(np.diff(rows, prepend=-1))
        rows, counts = rows[firsts], np.diff(firsts, append=len(rows))
        rarity = np.log1p((documents - len(rows) + 0.5) / (len(rows) + 0.5))
        scores[rows] += rarity * (_K3 + 1) * times / (_K3 + times) * (k1 + 1) * counts / (counts + norms[rows])
    return scores


def _characters(expression: Any) -> int:
    """Returns the number of characters that an expression searches for."""
    if not isinstance(expression, list):
        return 0
    if len(expression) > 2 and expression[1] == "BM25":
        query = expression[2] if isinstance(expression[2], list) else [expression[2]]
        return sum(len(text) for text in query if isinstance(text, str))
    return sum(map(_characters, expression))


# ---------------------------------------------------------------- filters


def passing(filter: Any, contents: Contents) -> Mask:
    """Returns the rows that match, removed ones too; raises `Refused` for a filter that turbopuffer would reject."""
    match filter:
        case ["And" | "Or" as together, [*filters]]:
            masks = [np.full(contents.size, together == "And"), *(passing(part, contents) for part in filters)]
            return np.asarray((np.logical_and if together == "And" else np.logical_or).reduce(masks), np.bool_)
        case [str() as name, "NotEq" | "NotContains" as negated, value]:
            return ~passing([name, negated.removeprefix("Not"), value], contents)
        case [str() as name, str() as comparison, value]:
            return _compared(name, comparison, value, contents)
    raise Refused("a filter is a list: [attribute, operator, value] or [And | Or, […]]", status=422)


def _compared(name: str, comparison: str, value: Any, contents: Contents) -> Mask:
    attribute = contents.schema.get(name)
    if attribute is None:
        raise Refused(f"attribute '{name}' is not in the schema")
    if not attribute.filterable:
        raise Refused(f"attribute '{name}' is not filterable: set filterable to true in the schema")
    if comparison not in {"Eq", "In", "Contains", *_ORDER}:
        raise Refused(f"this stand-in has no filter operator '{comparison}'", status=422)
    one = attribute.type.removeprefix("[]")
    if attribute.is_list != (comparison == "Contains") or not fits(value, f"[]{one}" if comparison == "In" else one):
        raise Refused(f"{comparison} does not go with '{name}', which is {attribute.type}, and this value")
    values = value if comparison == "In" else [value]
    if any(isinstance(each, str) and len(each.encode()) > limits.FILTERABLE_VALUE_BYTES for each in values):
        raise Refused(f"a value of the filter on '{name}' is larger than 4 KiB")
    index = None if name == "id" else contents.index(name)
    if comparison in _ORDER:
        values = [
            each for each in (contents.row_of if index is None else index.rows) if _ORDER[comparison](each, value)
        ]
    if index is None:
        return contents.mask([contents.row_of[each] for each in values if each in contents.row_of])
    return contents.mask(np.concatenate([np.empty(0, np.int_), *map(index.of, values)]))
