"""The order of the rows that match a filter."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sakuin_local.turbopuffer import limits
from sakuin_local.turbopuffer.contents import Contents, Mask
from sakuin_local.turbopuffer.documents import vector_of
from sakuin_local.turbopuffer.limits import Refused
from sakuin_local.turbopuffer.postings import tokens


@dataclass(frozen=True, slots=True)
class Ranked:
    """A row and its `$dist`: a distance or a score; None if the order is by id."""

    row: int
    dist: float | None


def ranked(rank_by: Any, contents: Contents, wanted: Mask, limit: int) -> list[Ranked]:
    """Returns the first `limit` rows of those wanted; ties are in the order of writing."""
    if not isinstance(rank_by, list) or len(rank_by) < 2:
        raise Refused("rank_by is a list", status=422)
    if rank_by[1] in ("ANN", "kNN") and len(rank_by) == 3:
        return _nearest(rank_by[0], rank_by[2], contents, wanted, limit)
    if rank_by[0] == "id" and rank_by[1] in ("asc", "desc"):
        ids: Any = contents.ids
        rows = sorted(np.flatnonzero(wanted).tolist(), key=lambda row: ids[row], reverse=rank_by[1] == "desc")
        return [Ranked(row, None) for row in rows[:limit]]
    # The documentation does not say whether the limit is per clause or for all together: the latter is safe.
    if _characters(rank_by) > limits.FULL_TEXT_QUERY_CHARACTERS:
        raise Refused(f"a full-text query has at most {limits.FULL_TEXT_QUERY_CHARACTERS} characters")
    scores = _scores(rank_by, contents)
    return _first(-scores, wanted & (scores > 0), limit, sign=-1)


def _nearest(name: str, value: Any, contents: Contents, wanted: Mask, limit: int) -> list[Ranked]:
    if name not in contents.schema or not contents.schema[name].dimensions:
        raise Refused(f"ANN needs a vector attribute, '{name}' is none")
    query = vector_of(value, contents.schema[name].dimensions)
    return _first(contents.vectors.distances(query, wanted), wanted, limit, sign=1)


def _first(keys: NDArray[np.float32], wanted: Mask, limit: int, *, sign: int) -> list[Ranked]:
    rows = np.flatnonzero(wanted)
    if len(rows) > limit:
        # Keeps all ties of the last row, so that the result is deterministic.
        worst = np.partition(keys[rows], limit - 1)[limit - 1]
        rows = rows[keys[rows] <= worst]
    order = rows[np.argsort(keys[rows], kind="stable")][:limit]
    return [Ranked(int(row), sign * float(keys[row])) for row in order]


def _scores(expression: Any, contents: Contents) -> NDArray[np.float32]:
    if not isinstance(expression, list) or len(expression) < 2:
        raise Refused("rank_by is not valid", status=422)
    if expression[0] in ("Sum", "Max") and isinstance(expression[1], list):
        parts = [_scores(part, contents) for part in expression[1]]
        together = np.add if expression[0] == "Sum" else np.maximum
        return np.asarray(together.reduce([np.zeros(contents.size, np.float32), *parts]), np.float32)
    if expression[0] == "Product":
        numbers = [each for each in expression[1:] if isinstance(each, int | float)]
        parts = [_scores(each, contents) for each in expression[1:] if isinstance(each, list)]
        if len(numbers) != 1 or len(parts) != 1 or numbers[0] < 0:
            raise Refused("Product takes a number that is not negative and a clause")
        return np.asarray(parts[0] * np.float32(numbers[0]), np.float32)
    if expression[1] != "BM25" or len(expression) != 3:
        raise Refused("this stand-in orders by id, by distance, or by Sum, Max and Product of BM25", status=422)
    return _bm25(expression[0], expression[2], contents)


def _bm25(name: str, query: Any, contents: Contents) -> NDArray[np.float32]:
    full_text = contents.schema[name].full_text if name in contents.schema else None
    if full_text is None:
        raise Refused(f"BM25 needs full_text_search on '{name}'")
    is_list = isinstance(query, list) and all(isinstance(each, str) for each in query)
    if is_list != full_text.is_pre_tokenized or not (is_list or isinstance(query, str)):
        wanted = "a list of tokens" if full_text.is_pre_tokenized else "a string"
        raise Refused(f"BM25 on '{name}', whose tokenizer is {full_text.tokenizer}, takes {wanted}")
    return contents.postings(name).scores(tokens(query, full_text), contents.size)


def _characters(expression: Any) -> int:
    """Of all the texts that are searched for in it."""
    if not isinstance(expression, list):
        return 0
    if len(expression) > 2 and expression[1] == "BM25":
        query = expression[2] if isinstance(expression[2], list) else [expression[2]]
        return sum(len(each) for each in query if isinstance(each, str))
    return sum(map(_characters, expression))
