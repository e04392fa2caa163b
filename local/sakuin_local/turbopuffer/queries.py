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

_OF_A_REQUEST = {"consistency", "vector_encoding"}
_KNOWN = {"rank_by", "limit", "filters", "include_attributes", "aggregate_by", *_OF_A_REQUEST}


@dataclass(frozen=True, slots=True)
class Found:
    """The rows of an answer and the attributes to return."""

    rows: Sequence[Ranked]
    attributes: frozenset[str]


def answered(body: Any, contents: Contents) -> list[Found | dict[str, Any]]:
    """Returns a result for each query: rows, or aggregations."""
    if not isinstance(body, dict):
        raise Refused("a query is an object", status=422)
    if "queries" not in body:
        return [_answer(body, contents)]
    queries = body["queries"]
    if unknown := set(body) - {"queries", *_OF_A_REQUEST}:
        raise Refused(f"unknown in a multi-query: {sorted(unknown)}", status=422)
    if not isinstance(queries, list) or not 1 <= len(queries) <= limits.QUERIES_A_REQUEST:
        raise Refused(f"a multi-query has 1 to {limits.QUERIES_A_REQUEST} queries")
    return [_answer(query, contents) for query in queries]


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
    filters = query.get("filters")
    wanted = contents.shown if filters is None else contents.shown & passing(filters, contents)
    if "aggregate_by" in query:
        if "rank_by" in query:
            raise Refused("aggregate_by and rank_by exclude each other")
        return {"aggregations": _aggregated(query["aggregate_by"], wanted)}
    limit = _limit(query)
    if "rank_by" in query:
        if "kNN" in query["rank_by"] and filters is None:
            raise Refused("kNN compares all rows of a filter: filters is required")
        rows = ranked(query["rank_by"], contents, wanted, limit)
    else:
        rows = [Ranked(int(row), None) for row in np.flatnonzero(wanted)[:limit]]
    return Found(rows, _wanted_attributes(query, contents))


def _limit(query: Mapping[str, Any]) -> int:
    limit = query.get("limit")
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= limits.ROWS_AN_ANSWER:
        raise Refused(f"limit is 1 to {limits.ROWS_AN_ANSWER}")
    return limit


def _wanted_attributes(query: Mapping[str, Any], contents: Contents) -> frozenset[str]:
    included = query.get("include_attributes")
    if included is None or isinstance(included, bool):
        return frozenset(contents.schema if included else ())
    unknown = set(included) - contents.schema.keys() - {"id"}
    if unknown:
        raise Refused(f"attributes are not in the schema: {', '.join(sorted(unknown))}")
    return frozenset(included)


def _attributes(wanted: frozenset[str], document: Document, contents: Contents) -> dict[str, Any]:
    shown = {name: value for name, value in document.attributes.items() if name in wanted}
    if document.vector is not None and "vector" in wanted:
        full = np.zeros(contents.schema["vector"].dimensions, np.float32)
        full[: len(document.vector)] = document.vector
        shown["vector"] = full.tolist()
    return shown


def _aggregated(asked: Any, wanted: Mask) -> dict[str, int]:
    if not isinstance(asked, dict) or not asked or any(function != ["Count"] for function in asked.values()):
        raise Refused('aggregate_by is an object of labels; this stand-in supports ["Count"] only', status=422)
    return dict.fromkeys(asked, int(wanted.sum()))
