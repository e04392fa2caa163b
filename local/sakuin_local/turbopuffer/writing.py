"""A write to a namespace: parsed, and its effect."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sakuin_local.turbopuffer import limits
from sakuin_local.turbopuffer.contents import Contents
from sakuin_local.turbopuffer.documents import Document, Id, document_of, floats_of, id_of
from sakuin_local.turbopuffer.filters import passing
from sakuin_local.turbopuffer.limits import Refused, missing
from sakuin_local.turbopuffer.schema import Attribute, check_number, inferred, merged
from sakuin_local.turbopuffer.storage import Description

_METRIC = "cosine_distance"
_OPERATIONS = ("upsert_rows", "deletes", "delete_by_filter", "schema")
_KNOWN = {
    *_OPERATIONS,
    "upsert_condition",
    "delete_condition",
    "distance_metric",
    "return_affected_ids",
    "disable_backpressure",
}


@dataclass(frozen=True, slots=True)
class Write:
    """A valid write, with the schema of the namespace after it."""

    schema: Mapping[str, Attribute]
    metric: str | None
    upserts: Sequence[Document]
    deletes: Sequence[Id]
    body: Mapping[str, Any]

    @classmethod
    def of(cls, body: Any, namespace: str, before: Description | None) -> "Write":
        """Parses the JSON body; raises `Refused` as turbopuffer would, or for what this stand-in does not support."""
        if not isinstance(body, dict) or body.keys() - _KNOWN:
            raise Refused(f"a write is an object with some of {', '.join(sorted(_KNOWN))}", status=422)
        if not any(body.get(each) for each in _OPERATIONS):
            raise Refused("no writes provided")
        upserts = _rows(body.get("upsert_rows"))
        if before is None and not upserts:
            raise missing(namespace)
        schema = _schema(body, before, upserts)
        write = cls(
            schema,
            _metric(body, before, has_vectors="vector" in schema),
            [document_of(row, schema) for row in upserts],
            [id_of(each) for each in body.get("deletes") or []],
            body,
        )
        _check_ids(write)
        return write


@dataclass(frozen=True, slots=True)
class Outcome:
    """The changes of a write."""

    stored: Sequence[Document]
    removed_rows: Sequence[int]
    upserted: Sequence[Id]
    deleted: Sequence[Id]

    @property
    def size(self) -> int:
        """Returns the bytes that are written."""
        return sum(each.size for each in self.stored) + sum(len(str(id)) for id in self.deleted)


def outcome(write: Write, contents: Contents) -> Outcome:
    """Returns the changes of `write` to `contents`."""
    filtered = _filtered(write.body.get("delete_by_filter"), contents)
    gone = set(filtered)
    upserts = _allowed(write.upserts, write.body.get("upsert_condition"), contents, gone, new_passes=True)
    to_delete = [Document(id, {}) for id in write.deletes]
    deletes = _allowed(to_delete, write.body.get("delete_condition"), contents, gone, new_passes=False)
    replaced = [contents.row(each.id) for each in (*upserts, *deletes)]
    return Outcome(
        stored=upserts,
        removed_rows=sorted(gone | {row for row in replaced if row is not None}),
        upserted=[each.id for each in upserts],
        deleted=[*(contents.ids[row] for row in filtered), *(each.id for each in deletes)],
    )


def _filtered(filter: Any, contents: Contents) -> list[int]:
    if filter is None:
        return []
    # As in a query: what is hidden is not found.
    rows: list[int] = (contents.shown & passing(filter, contents)).nonzero()[0].tolist()
    if len(rows) > limits.DELETED_BY_FILTER:
        raise Refused(f"the filter matches {len(rows)} documents, the maximum is {limits.DELETED_BY_FILTER}")
    return rows


def _allowed(
    documents: Sequence[Document], condition: Any, contents: Contents, gone: set[int], *, new_passes: bool
) -> list[Document]:
    """Returns the documents whose stored version meets the condition; new ones only if `new_passes`."""
    matches: dict[str, Any] = {}
    allowed = []
    for document in documents:
        row = contents.row(document.id)
        if row is None or row in gone:
            if new_passes:
                allowed.append(document)
            continue
        if condition is not None:
            filter = _with_new(condition, document)
            key = json.dumps(filter)
            if key not in matches:
                matches[key] = passing(filter, contents)
            if not matches[key][row]:
                continue
        allowed.append(document)
    return allowed


def _with_new(condition: Any, document: Document) -> Any:
    """Returns the condition with the new document's value in place of each `{"$ref_new": attribute}`."""
    if isinstance(condition, dict):
        if set(condition) != {"$ref_new"}:
            raise Refused(f"a condition refers to a new value as {{'$ref_new': attribute}}, not as {condition}")
        name = condition["$ref_new"]
        return document.id if name == "id" else document.attributes.get(name)
    return [_with_new(part, document) for part in condition] if isinstance(condition, list) else condition


def _rows(given: Any) -> list[dict[str, Any]]:
    rows = given or []
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "id" in row for row in rows):
        raise Refused("rows are objects with an id", status=422)
    return rows


def _schema(
    body: Mapping[str, Any], before: Description | None, rows: Sequence[dict[str, Any]]
) -> dict[str, Attribute]:
    known = before.schema if before else {}
    schema = merged(known, body.get("schema") or {})
    for row in rows:
        for name in row.keys() - schema.keys() - {"id"}:
            attribute = _vector(row[name]) if name == "vector" else inferred(name, row[name])
            if attribute:
                schema[name] = attribute
    if "id" not in schema and rows:
        schema["id"] = Attribute("string" if isinstance(rows[0]["id"], str) else "uint")
    check_number(schema)
    if before and "vector" in schema and "vector" not in known:
        raise Refused("a namespace gets its vectors with its first write, not later")
    return schema


def _vector(value: Any) -> Attribute:
    return Attribute(f"[{len(floats_of(value))}]f32", filterable=False)


def _metric(body: Mapping[str, Any], before: Description | None, *, has_vectors: bool) -> str | None:
    given = body.get("distance_metric")
    known = before.metric if before else None
    if given not in (None, _METRIC):
        raise Refused(f"this stand-in supports the distance_metric {_METRIC} only")
    if has_vectors and not (given or known):
        raise Refused("distance_metric is required for a namespace with vectors")
    return known or given


def _check_ids(write: Write) -> None:
    ids = [*(each.id for each in write.upserts), *write.deletes]
    if len(set(ids)) != len(ids):
        raise Refused("a write names a document at most once: an id is in it twice")
    kind = int if write.schema["id"].type == "uint" else str
    if not all(isinstance(id, kind) for id in ids):
        raise Refused("the ids of a namespace are of one type")
