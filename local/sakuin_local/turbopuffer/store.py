"""All namespaces, in one SQLite file and in memory; one request at a time."""

import base64
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from sakuin_local.turbopuffer import limits
from sakuin_local.turbopuffer.limits import Refused, require
from sakuin_local.turbopuffer.rows import ORDER, Mask, NamespaceRows
from sakuin_local.turbopuffer.schema import Document, Schema, attribute_of, document_of, merged

Json = dict[str, Any]

_METRIC = "cosine_distance"
_OPERATIONS = ("upsert_rows", "delete_by_filter", "schema")
_TABLES = """
create table if not exists namespace (name text primary key, schema text not null);
create table if not exists stored_row (
    number integer primary key autoincrement,
    namespace text, id text, attributes blob not null, vector blob, unique (namespace, id)
);
"""


class Store:
    """The namespaces of one file. Those that were used stay in memory.

    Rows are indexed when they are written. A test may let them wait for `index`, and hide them until then, as
    turbopuffer does beyond 128 MiB.
    """

    def __init__(self, file: Path) -> None:
        self.waits, self.hides = False, False
        self._unindexed: defaultdict[str, set[str]] = defaultdict(set)
        self._hidden: defaultdict[str, set[str]] = defaultdict(set)
        self._sql = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        self._sql.execute("pragma journal_mode = wal")
        # An acknowledged write is on disk.
        self._sql.execute("pragma synchronous = full")
        self._sql.executescript(_TABLES)
        self._opened: dict[str, NamespaceRows] = {}
        self._lock = threading.Lock()

    def write(self, namespace: str, body: Any) -> Json:
        """Applies a write, all or nothing."""
        is_name = limits.NAMESPACE.fullmatch(namespace)
        require(is_name, f"'{namespace}' is not a valid name of a namespace: it must match [A-Za-z0-9-_.]{{1,128}}")
        with self._lock:
            before = self._schema(namespace)
            schema, upserts = _parsed(body, namespace, before)
            rows = self._rows(namespace, schema)
            by_filter = _deleted_by_filter(body.get("delete_by_filter"), rows, rows.visible(self._hidden[namespace]))
            gone, condition = set(by_filter), body.get("upsert_condition")
            upserts = [each for each in upserts if _is_allowed(each, condition, rows, gone)]
            self._save(namespace, schema, upserts, [rows.ids[row] for row in gone])
            rows.remove(gone | {rows.row_of[each.id] for each in upserts if each.id in rows.row_of})
            rows.add(upserts)
            self._opened[namespace] = rows
            if rows.is_mostly_gone:
                del self._opened[namespace]
            written = {each.id for each in upserts}
            self._unindexed[namespace] |= written if self.waits else set()
            self._hidden[namespace] |= written if self.hides else set()
        counts = {"rows_upserted": len(upserts), "rows_deleted": len(by_filter)}
        return {"status": "OK", "message": "ok", "rows_affected": sum(counts.values()), **counts}

    def query(self, namespace: str, body: Any) -> Json:
        """Answers a query or a multi-query."""
        queries = body.get("queries", [body])
        is_count = 1 <= len(queries) <= limits.QUERIES_A_REQUEST
        require(is_count, f"a multi-query has 1 to {limits.QUERIES_A_REQUEST} queries")
        with self._lock:
            rows = self._rows(namespace, self._existing(namespace))
            visible = rows.visible(self._hidden[namespace])
            answers = [{"rows": rows.query(query, visible)} for query in queries]
        return {"results": answers} if "queries" in body else answers[0]

    def delete(self, namespace: str) -> Json:
        """Removes a namespace with its documents."""
        with self._lock, self._sql:
            self._existing(namespace)
            self._sql.execute("begin immediate")
            self._sql.execute("delete from stored_row where namespace = ?", (namespace,))
            self._sql.execute("delete from namespace where name = ?", (namespace,))
            for known in (self._opened, self._unindexed, self._hidden):
                known.pop(namespace, None)
        return {"status": "OK"}

    def metadata(self, namespace: str) -> Json:
        """Returns the schema, the state of the index and the number of rows."""
        with self._lock:
            rows = self._rows(namespace, self._existing(namespace))
            count = len(self._unindexed[namespace])
        state = {"status": "updating", "unindexed_bytes": count, "unindexed_rows": count}
        return {
            "schema": {name: attribute.described() for name, attribute in rows.schema.items()},
            "approx_row_count": len(rows.row_of),
            "index": state if count else {"status": "up-to-date"},
        }

    def listed(self, prefix: str, after: str, page_size: int) -> Json:
        """Returns a page of the names that begin with `prefix`, and the cursor of the next page."""
        require(1 <= page_size <= limits.NAMESPACES_A_PAGE, f"page_size is 1 to {limits.NAMESPACES_A_PAGE}")
        place = base64.b64decode(after, validate=True).decode()
        names = [name for name in self._names() if name.startswith(prefix) and name > place]
        page = names[:page_size]
        cursor = base64.b64encode(page[-1].encode()).decode() if len(names) > len(page) else None
        return {"namespaces": [{"id": name} for name in page], "next_cursor": cursor}

    def index(self) -> None:
        """Indexes all rows that wait for it."""
        with self._lock:
            self._unindexed.clear()
            self._hidden.clear()

    # ---------------------------------------------------------------- the file

    def _names(self) -> list[str]:
        with self._lock:
            return [row[0] for row in self._sql.execute("select name from namespace order by name")]

    def _schema(self, namespace: str) -> Schema | None:
        row = self._sql.execute("select schema from namespace where name = ?", (namespace,)).fetchone()
        return {name: attribute_of(name, fields) for name, fields in orjson.loads(row[0]).items()} if row else None

    def _existing(self, namespace: str) -> Schema:
        if (schema := self._schema(namespace)) is None:
            raise _missing(namespace)
        return schema

    def _rows(self, namespace: str, schema: Schema) -> NamespaceRows:
        """Returns the rows in memory, loaded if they are not there or a write extends the schema."""
        rows = self._opened.get(namespace)
        if rows is None or rows.schema != schema:
            rows = NamespaceRows(schema, self._documents(namespace))
            if self._schema(namespace) == schema:
                self._opened[namespace] = rows
        return rows

    def _documents(self, namespace: str) -> Iterator[Document]:
        query = "select id, attributes, vector from stored_row where namespace = ? order by number"
        with closing(self._sql.execute(query, (namespace,))) as rows:
            for id, attributes, vector in rows:
                yield Document(
                    id, orjson.loads(attributes), None if vector is None else np.frombuffer(vector, np.float32)
                )

    def _save(self, namespace: str, schema: Schema, upserts: Sequence[Document], removed: Sequence[str]) -> None:
        """Writes the rows of a write in one transaction."""
        described = orjson.dumps({name: attribute.described() for name, attribute in schema.items()})
        values = [
            (namespace, each.id, orjson.dumps(each.attributes), None if each.vector is None else each.vector.tobytes())
            for each in upserts
        ]
        with self._sql:
            self._sql.execute("begin immediate")
            self._sql.execute("insert or replace into namespace values (?, ?)", (namespace, described))
            delete = "delete from stored_row where namespace = ? and id = ?"
            self._sql.executemany(delete, ((namespace, id) for id in removed))
            insert = "insert or replace into stored_row (namespace, id, attributes, vector) values (?, ?, ?, ?)"
            self._sql.executemany(insert, values)


def _missing(namespace: str) -> Refused:
    return Refused(f"namespace '{namespace}' was not found", status=404)


# ---------------------------------------------------------------- a write


def _parsed(body: Json, namespace: str, before: Schema | None) -> tuple[Schema, list[Document]]:
    """Returns the schema after a write, and the documents to upsert."""
    unknown = body.keys() - {*_OPERATIONS, "upsert_condition", "distance_metric"}
    require(not unknown, f"this stand-in does not support {', '.join(sorted(unknown))} in a write", status=422)
    require(any(body.get(each) for each in _OPERATIONS), "no writes provided")
    rows = body.get("upsert_rows") or []
    if before is None and not rows:
        raise _missing(namespace)
    schema = merged(before, body.get("schema") or {})
    metrics = {_METRIC} if "vector" in schema and before is None else {_METRIC, None}
    is_metric = body.get("distance_metric") in metrics
    require(is_metric, f"a namespace with vectors has the distance_metric {_METRIC}: this stand-in has no other")
    upserts = [document_of(row, schema) for row in rows]
    is_once = len({each.id for each in upserts}) == len(upserts)
    require(is_once, "a write names a document at most once: an id is in it twice")
    return schema, upserts


def _deleted_by_filter(filter: Any, rows: NamespaceRows, visible: Mask) -> list[int]:
    # As in a query: what is hidden is not found.
    deleted: list[int] = [] if filter is None else (visible & rows.passing(filter)).nonzero()[0].tolist()
    most = limits.DELETED_BY_FILTER
    require(len(deleted) <= most, f"the filter matches {len(deleted)} documents, the maximum is {most}")
    return deleted


def _is_allowed(document: Document, condition: Any, rows: NamespaceRows, gone: set[int]) -> bool:
    """Returns whether the stored version meets the condition `[name, comparison, {"$ref_new": name}]`, or is none."""
    row = rows.row_of.get(document.id)
    if row is None or row in gone or condition is None:
        return True
    name, comparison, new = condition
    require(new == {"$ref_new": name}, f"this stand-in does not support the condition {condition}", status=422)
    return ORDER[comparison](rows.attributes[row][name], document.attributes[name])
