"""A write to a namespace: parsed, and its effect."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sakuin_local.turbopuffer import limits
from sakuin_local.turbopuffer.contents import Contents
from sakuin_local.turbopuffer.documents import Document, Id, document_of, floats_of, id_of, patch_of
from sakuin_local.turbopuffer.filters import passing
from sakuin_local.turbopuffer.limits import Refused, missing
from sakuin_local.turbopuffer.schema import Attribute, check_number, inferred, merged
from sakuin_local.turbopuffer.storage import Description

_METRICS = ("cosine_distance", "euclidean_squared")
_KNOWN = {
    "upsert_rows",
    "upsert_columns",
    "upsert_condition",
    "patch_rows",
    "patch_columns",
    "patch_condition",
    "patch_by_filter",
    "patch_by_filter_allow_partial",
    "deletes",
    "delete_condition",
    "delete_by_filter",
    "delete_by_filter_allow_partial",
    "schema",
    "distance_metric",
    "return_affected_ids",
    "create_namespace",
    "disable_backpressure",
}
_OPERATIONS = ("upsert_rows", "upsert_columns", "patch_rows", "patch_columns", "deletes")


@dataclass(frozen=True, slots=True)
class Write:
    """A valid write, with the schema of the namespace after it."""

    schema: Mapping[str, Attribute]
    metric: str | None
    upserts: Sequence[Document]
    patches: Sequence[Document]
    deletes: Sequence[Id]
    body: Mapping[str, Any]

    @classmethod
    def of(cls, body: Any, namespace: str, before: Description | None) -> "Write":
        """Parses the JSON body; raises `Refused` as turbopuffer would."""
        if not isinstance(body, dict) or body.keys() - _KNOWN:
            raise Refused(f"a write is an object with some of {', '.join(sorted(_KNOWN))}", status=422)
        asked = [*_OPERATIONS, "delete_by_filter", "patch_by_filter", "schema"]
        if not any(body.get(each) for each in asked):
            raise Refused("no writes provided")
        upserts = [*_rows(body.get("upsert_rows")), *_columns(body.get("upsert_columns"))]
        patches = [*_rows(body.get("patch_rows")), *_columns(body.get("patch_columns"))]
        if before is None and (not upserts or body.get("create_namespace") is False):
            raise missing(namespace)
        deletes = [id_of(each) for each in body.get("deletes") or []]
        schema = _schema(body, before, [*upserts, *patches])
        write = cls(
            schema,
            _metric(body, before, has_vectors="vector" in schema),
            [document_of(row, schema) for row in upserts],
            [patch_of(row, schema) for row in patches],
            deletes,
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
    patched: Sequence[Id]
    deleted: Sequence[Id]

    @property
    def size(self) -> int:
        """Returns the bytes that are written."""
        return sum(each.size for each in self.stored) + sum(len(str(id)) for id in self.deleted)


def outcome(write: Write, contents: Contents, documents: Mapping[int, Document]) -> Outcome:
    """Returns the changes of `write` to `contents`; `documents` are those to patch, by row."""
    filtered = _filtered(write.body.get("delete_by_filter"), contents, limits.DELETED_BY_FILTER)
    gone = set(filtered)
    upserts = _allowed(write.upserts, write.body.get("upsert_condition"), contents, gone, new_passes=True)
    patches = _allowed(write.patches, write.body.get("patch_condition"), contents, gone, new_passes=False)
    patches += _patches_by_filter(write, contents, gone)
    to_delete = [Document(id, {}) for id in write.deletes]
    deletes = _allowed(to_delete, write.body.get("delete_condition"), contents, gone, new_passes=False)
    patched = [_patched(documents[_row(contents, each.id)], each.attributes) for each in patches]
    replaced = [contents.row(each.id) for each in (*upserts, *patched, *deletes)]
    return Outcome(
        stored=[*upserts, *patched],
        removed_rows=sorted(gone | {row for row in replaced if row is not None}),
        upserted=[each.id for each in upserts],
        patched=[each.id for each in patched],
        deleted=[*(contents.ids[row] for row in filtered), *(each.id for each in deletes)],
    )


def rows_to_patch(write: Write, contents: Contents) -> list[int]:
    """Returns the rows whose documents `outcome` needs."""
    rows = [row for each in write.patches if (row := contents.row(each.id)) is not None]
    by_filter = write.body.get("patch_by_filter") or {}
    return rows + _filtered(by_filter.get("filters"), contents, limits.PATCHED_BY_FILTER)


def _filtered(filter: Any, contents: Contents, at_most: int) -> list[int]:
    if filter is None:
        return []
    # As in a query: what is hidden is not found.
    rows: list[int] = (contents.shown & passing(filter, contents)).nonzero()[0].tolist()
    if len(rows) > at_most:
        raise Refused(f"the filter matches {len(rows)} documents, the maximum is {at_most}")
    return rows


def _patches_by_filter(write: Write, contents: Contents, gone: set[int]) -> list[Document]:
    asked = write.body.get("patch_by_filter")
    if not asked:
        return []
    rows = [row for row in _filtered(asked["filters"], contents, limits.PATCHED_BY_FILTER) if row not in gone]
    return [patch_of({**asked["patch"], "id": contents.ids[row]}, write.schema) for row in rows]


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


def _patched(document: Document, changes: Mapping[str, Any]) -> Document:
    attributes = {name: value for name, value in {**document.attributes, **changes}.items() if value is not None}
    return Document(document.id, attributes, document.vector)


def _row(contents: Contents, id: Id) -> int:
    row = contents.row(id)
    assert row is not None  # noqa: S101 - only stored documents are patched
    return row


def _rows(given: Any) -> list[dict[str, Any]]:
    rows = given or []
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "id" in row for row in rows):
        raise Refused("rows are objects with an id", status=422)
    return rows


def _columns(given: Any) -> list[dict[str, Any]]:
    if not given:
        return []
    if not isinstance(given, dict) or "id" not in given or len({len(column) for column in given.values()}) != 1:
        raise Refused("columns are lists of the same length, one of them id", status=422)
    return [dict(zip(given, values, strict=True)) for values in zip(*given.values(), strict=True)]


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
    if given is not None and given not in _METRICS:
        raise Refused(f"distance_metric is one of {', '.join(_METRICS)}", status=422)
    if known and given and given != known:
        raise Refused(f"cannot change the distance_metric from {known} to {given}")
    if has_vectors and not (given or known):
        raise Refused("distance_metric is required for a namespace with vectors")
    return known or given


def _check_ids(write: Write) -> None:
    ids = [each.id for each in (*write.upserts, *write.patches)] + list(write.deletes)
    if len(set(ids)) != len(ids):
        raise Refused("a write names a document at most once: an id is in it twice")
    kind = int if write.schema["id"].type == "uint" else str
    if not all(isinstance(id, kind) for id in ids):
        raise Refused("the ids of a namespace are of one type")
