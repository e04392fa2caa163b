"""Queries of a namespace, one or several in a request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sakuin_local.turbopuffer import limits
from sakuin_local.turbopuffer.contents import Contents, Mask
from sakuin_local.turbopuffer.documents import Document
from sakuin_local.turbopuffer.filters import passing
from sakuin_local.turbopuffer.limits import Refused
from sakuin_local.turbopuffer.ranking import Ranked, ranked

_KNOWN = {
    "rank_by",
    "limit",
    "top_k",
    "offset",
    "filters",
    "include_attributes",
    "exclude_attributes",
    "aggregate_by",
    "distance_metric",
    "consistency",
    "vector_encoding",
}
_KNOWN_OF_MANY = {"queries", "rerank_by", "limit", "offset", "consistency", "vector_encoding"}


@dataclass(frozen=True, slots=True)
class Found:
    """The rows of an answer and the attributes to return; True is all."""

    rows: Sequence[Ranked]
    attributes: frozenset[str] | bool


def answered(body: Any, contents: Contents) -> list[Found | dict[str, Any]]:
    """Returns a result for each query: rows, or aggregations; with `rerank_by` one for all."""
    if not isinstance(body, dict):
        raise Refused("a query is an object", status=422)
    if "queries" not in body:
        return [_answer(body, contents)]
    queries = body["queries"]
    if set(body) - _KNOWN_OF_MANY:
        raise Refused(f"unknown in a multi-query: {sorted(set(body) - _KNOWN_OF_MANY)}", status=422)
    if not isinstance(queries, list) or not 1 <= len(queries) <= limits.QUERIES_A_REQUEST:
        raise Refused(f"a multi-query has 1 to {limits.QUERIES_A_REQUEST} queries")
    results = [_answer(query, contents) for query in queries]
    return [_fused(body, results)] if body.get("rerank_by") else results


def projected(found: Found, documents: Mapping[int, Document], contents: Contents) -> list[dict[str, Any]]:
    """Returns the rows as JSON; `documents` are by number."""
    rows = []
    for each, number in zip(found.rows, contents.numbers(each.row for each in found.rows), strict=True):
        row: dict[str, Any] = {"id": contents.ids[each.row]}
        if each.dist is not None:
            row["$dist"] = each.dist
        rows.append(row | (_attributes(found.attributes, documents[number], contents) if found.attributes else {}))
    return rows


def _answer(query: Any, contents: Contents) -> Found | dict[str, Any]:
    if not isinstance(query, dict) or set(query) - _KNOWN:
        raise Refused(f"unknown in a query: {sorted(set(query) - _KNOWN)}", status=422)
    if query.get("distance_metric") not in (None, contents.metric):
        raise Refused(f"the distance_metric of this namespace is {contents.metric}")
    filters = query.get("filters")
    wanted = contents.shown if filters is None else contents.shown & passing(filters, contents)
    if "aggregate_by" in query:
        if "rank_by" in query:
            raise Refused("aggregate_by and rank_by exclude each other")
        return {"aggregations": _aggregated(query["aggregate_by"], contents, wanted)}
    limit, offset = _limit(query), int(query.get("offset") or 0)
    if limit + offset > limits.ROWS_AN_ANSWER:
        raise Refused(f"limit and offset are together at most {limits.ROWS_AN_ANSWER}")
    if "rank_by" in query:
        if "kNN" in query["rank_by"] and filters is None:
            raise Refused("kNN compares all rows of a filter: filters is required")
        rows = ranked(query["rank_by"], contents, wanted, limit + offset)[offset:]
    else:
        rows = [Ranked(int(row), None) for row in np.flatnonzero(wanted)[offset : offset + limit]]
    return Found(rows, _wanted_attributes(query, contents))


def _limit(query: Mapping[str, Any]) -> int:
    given = query.get("limit", query.get("top_k"))
    limit = given.get("total") if isinstance(given, dict) and set(given) == {"total"} else given
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= limits.ROWS_AN_ANSWER:
        raise Refused(f"limit is 1 to {limits.ROWS_AN_ANSWER}")
    return limit


def _wanted_attributes(query: Mapping[str, Any], contents: Contents) -> frozenset[str] | bool:
    included, excluded = query.get("include_attributes"), query.get("exclude_attributes")
    if excluded is not None:
        return frozenset(contents.schema) - frozenset(excluded)
    if included is None or isinstance(included, bool):
        return bool(included)
    unknown = set(included) - contents.schema.keys() - {"id"}
    if unknown:
        raise Refused(f"attributes are not in the schema: {', '.join(sorted(unknown))}")
    return frozenset(included)


def _attributes(wanted: frozenset[str] | bool, document: Document, contents: Contents) -> dict[str, Any]:
    shown = {name: value for name, value in document.attributes.items() if wanted is True or name in wanted}  # type: ignore[operator]
    if document.vector is not None and (wanted is True or "vector" in wanted):  # type: ignore[operator]
        full = np.zeros(contents.schema["vector"].dimensions, np.float32)
        full[: len(document.vector)] = document.vector
        shown["vector"] = full.tolist()
    return shown


def _aggregated(asked: Any, contents: Contents, wanted: Mask) -> dict[str, Any]:
    if not isinstance(asked, dict) or not asked:
        raise Refused("aggregate_by is an object of labels", status=422)
    results: dict[str, Any] = {}
    for label, function in asked.items():
        if not isinstance(function, list) or function[0] not in ("Count", "Sum"):
            raise Refused(f"unknown aggregation: {function}", status=422)
        if function[0] == "Count":
            results[label] = int(wanted.sum())
        else:
            results[label] = sum(contents.values(function[1], np.flatnonzero(wanted).tolist()).values())
    return results


def _fused(body: Mapping[str, Any], results: Sequence[Found | dict[str, Any]]) -> Found:
    """Reciprocal rank fusion (Cormack, Clarke and Büttcher 2009), weighted."""
    rerank = body["rerank_by"]
    if not isinstance(rerank, list) or rerank[0] != "RRF":
        raise Refused("this stand-in supports rerank_by RRF only")
    options = rerank[1] if len(rerank) > 1 else {}
    constant, weights = options.get("rank_constant", 60), options.get("weights") or [1.0] * len(results)
    if constant <= 0 or len(weights) != len(results) or min(weights) <= 0:
        raise Refused("RRF needs a positive rank_constant and one positive weight a query")
    scores: dict[int, float] = {}
    attributes: frozenset[str] | bool = False
    for result, weight in zip(results, weights, strict=True):
        if not isinstance(result, Found):
            raise Refused("aggregations cannot be reranked")
        attributes = attributes or result.attributes
        for rank, each in enumerate(result.rows, start=1):
            scores[each.row] = scores.get(each.row, 0.0) + weight / (constant + rank)
    order = sorted(scores, key=lambda row: (-scores[row], row))
    offset = int(body.get("offset") or 0)
    return Found([Ranked(row, scores[row]) for row in order[offset : offset + _limit(body)]], attributes)
