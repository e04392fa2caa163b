"""All namespaces, in one SQLite file and in memory; one request at a time, but writes wait for commits together."""

import base64
import json
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from sakuin_local.turbopuffer import limits
from sakuin_local.turbopuffer.contents import Contents, Mask
from sakuin_local.turbopuffer.limits import Refused, missing
from sakuin_local.turbopuffer.pace import Pace, QuerySlots, WriteAheadLog, slots_of
from sakuin_local.turbopuffer.queries import Ranked, answer_of, passing, queries_of, ranked
from sakuin_local.turbopuffer.schema import Attribute, Document, FullText, Schema, document_of, merged

Json = dict[str, Any]

_METRIC = "cosine_distance"
_OPERATIONS = ("upsert_rows", "delete_by_filter", "schema")
_MEMBERS = {*_OPERATIONS, "upsert_condition", "distance_metric"}
_TABLES = """
create table if not exists namespace (name text primary key, schema text not null);
create table if not exists document (
    number integer primary key autoincrement,
    namespace text not null, id text not null, attributes blob not null, texts blob not null, vector blob,
    unique (namespace, id)
);
"""


class Store:
    """The namespaces of one file. Those that were used stay in memory.

    By default it is as slow as turbopuffer. After a restart all rows are indexed.
    """

    def __init__(self, file: Path, pace: Pace | None = None) -> None:
        self._pace = pace or Pace()
        self._sql = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        self._sql.execute("pragma journal_mode = wal")
        # An acknowledged write is on disk.
        self._sql.execute("pragma synchronous = full")
        self._sql.executescript(_TABLES)
        self._logs: defaultdict[str, WriteAheadLog] = defaultdict(lambda: WriteAheadLog(self._pace))
        self.slots = QuerySlots(self._pace.patience)
        self._contents: dict[str, Contents] = {}
        self._lock = threading.Lock()

    def warm(self) -> None:
        """Loads all namespaces into memory, so that the first search is fast."""
        for name in self._names():
            with self._lock:
                if schema := self._schema(name):
                    self._opened(name, schema)

    def write(self, namespace: str, body: Any) -> Json:
        """Applies a write, all or nothing."""
        _check_name(namespace)
        log = self._log(namespace)
        log.check_backlog()
        log.wait_for_commit()
        with self._lock:
            before = self._schema(namespace)
            schema, upserts = _parsed(body, namespace, before)
            contents = self._opened(namespace, schema)
            visible = contents.visible(log.hidden())
            by_filter = _deleted_by_filter(body.get("delete_by_filter"), contents, visible)
            upserts = _allowed(upserts, body.get("upsert_condition"), contents, set(by_filter))
            replaced = [contents.row_of[each.id] for each in upserts if each.id in contents.row_of]
            removed = sorted({*by_filter, *replaced})
            numbers = self._stored(namespace, schema, upserts, [contents.numbers[row] for row in removed])
            contents.remove(removed)
            contents.add(zip(numbers, upserts, strict=True))
            self._contents[namespace] = contents
            if contents.is_mostly_gone:
                del self._contents[namespace]
            log.add([each.id for each in upserts], sum(each.size for each in upserts))
        counts = {"upserted": len(upserts), "deleted": len(by_filter)}
        rows = {f"rows_{kind}": count for kind, count in counts.items() if count}
        return {"status": "OK", "message": "ok", "rows_affected": sum(counts.values()), **rows}

    def query(self, namespace: str, body: Any) -> Json:
        """Answers a query or a multi-query."""
        _check_name(namespace)
        with self.slots.taken(namespace, slots_of(body)), self._lock:
            contents = self._opened(namespace, self._existing(namespace))
            visible = contents.visible(self._logs[namespace].hidden())
            answers = [self._answer(ranked(query, contents, visible), contents) for query in queries_of(body)]
        return {"results": answers} if "queries" in body else answers[0]

    def delete(self, namespace: str) -> Json:
        """Removes a namespace with its documents."""
        _check_name(namespace)
        with self._lock, self._sql:
            self._existing(namespace)
            self._sql.execute("begin immediate")
            self._sql.execute("delete from document where namespace = ?", (namespace,))
            self._sql.execute("delete from namespace where name = ?", (namespace,))
            self._contents.pop(namespace, None)
            self._logs.pop(namespace, None)
        return {"status": "OK"}

    def metadata(self, namespace: str) -> Json:
        """Returns the schema, the state of the index and the number of rows."""
        _check_name(namespace)
        with self._lock:
            contents = self._opened(namespace, self._existing(namespace))
        return {
            "schema": {name: attribute.described() for name, attribute in contents.schema.items()},
            "approx_row_count": len(contents.row_of),
            "index": self._log(namespace).unindexed(),
        }

    def listed(self, prefix: str, after: str, page_size: int) -> Json:
        """Returns a page of the names that begin with `prefix`, and the cursor of the next page."""
        if not 1 <= page_size <= limits.NAMESPACES_A_PAGE:
            raise Refused(f"page_size is 1 to {limits.NAMESPACES_A_PAGE}")
        try:
            place = base64.b64decode(after, validate=True).decode()
        except ValueError as error:
            raise Refused("invalid cursor") from error
        names = [name for name in self._names() if name.startswith(prefix) and name > place]
        page = names[:page_size]
        cursor = base64.b64encode(page[-1].encode()).decode() if len(names) > len(page) else None
        return {"namespaces": [{"id": name} for name in page], "next_cursor": cursor}

    def add_backlog(self, namespace: str, size: int) -> None:
        """Acts as if so many more bytes had just been written, for tests."""
        self._log(namespace).add((), size)

    # ---------------------------------------------------------------- the file

    def _log(self, namespace: str) -> WriteAheadLog:
        with self._lock:
            return self._logs[namespace]

    def _names(self) -> list[str]:
        with self._lock:
            return [row[0] for row in self._sql.execute("select name from namespace order by name")]

    def _schema(self, namespace: str) -> Schema | None:
        row = self._sql.execute("select schema from namespace where name = ?", (namespace,)).fetchone()
        return {name: _attribute(fields) for name, fields in json.loads(row[0]).items()} if row else None

    def _existing(self, namespace: str) -> Schema:
        schema = self._schema(namespace)
        if schema is None:
            raise missing(namespace)
        return schema

    def _opened(self, namespace: str, schema: Schema) -> Contents:
        """Returns the rows in memory, loaded if they are not there or a write extends the schema."""
        contents = self._contents.get(namespace)
        if contents is None or contents.schema != schema:
            contents = Contents(schema, lambda: self._documents(namespace))
            if self._schema(namespace) == schema:
                self._contents[namespace] = contents
        return contents

    def _documents(self, namespace: str) -> Iterator[tuple[int, Document]]:
        query = "select number, id, attributes, texts, vector from document where namespace = ? order by number"
        with closing(self._sql.execute(query, (namespace,))) as rows:
            for number, id, short, long, vector in rows:
                floats = None if vector is None else np.frombuffer(vector, np.float32)
                yield number, Document(json.loads(id), orjson.loads(short) | orjson.loads(long), floats)

    def _stored(
        self, namespace: str, schema: Schema, documents: Sequence[Document], removed: Sequence[int]
    ) -> list[int]:
        """Writes the rows of a write in one transaction; returns their numbers, in the order of writing."""
        numbers: list[int] = []
        fields = json.dumps({name: asdict(attribute) for name, attribute in schema.items()})
        with self._sql:
            self._sql.execute("begin immediate")
            self._sql.execute(
                "insert into namespace values (?, ?) on conflict (name) do update set schema = excluded.schema",
                (namespace, fields),
            )
            self._sql.executemany("delete from document where number = ?", ((number,) for number in removed))
            for document in documents:
                parts: list[Json] = [{}, {}]
                for name, value in document.attributes.items():
                    parts[schema[name].full_text is not None][name] = value
                vector = None if document.vector is None else document.vector.tobytes()
                values = (namespace, json.dumps(document.id), *map(orjson.dumps, parts), vector)
                cursor = self._sql.execute(
                    "insert into document (namespace, id, attributes, texts, vector) values (?, ?, ?, ?, ?)", values
                )
                numbers.append(int(cursor.lastrowid or 0))
        return numbers

    def _answer(self, ranked: Ranked, contents: Contents) -> Json:
        """Returns the answer to a query, with the attributes from the file."""
        attributes: dict[int, Json] = {}
        numbers = [contents.numbers[row] for row in ranked.rows] if ranked.attributes else []
        # Texts are long: they are read only if they are returned.
        texts = "texts" if any(contents.schema[name].full_text for name in ranked.attributes) else "'{}'"
        for start in range(0, len(numbers), 500):
            part = numbers[start : start + 500]
            marks = ",".join("?" * len(part))
            query = f"select number, attributes, {texts} from document where number in ({marks})"  # noqa: S608 - constants and question marks
            for number, short, long in self._sql.execute(query, part):
                attributes[number] = orjson.loads(short) | orjson.loads(long)
        return answer_of(ranked, contents, attributes)


# ---------------------------------------------------------------- a write


def _parsed(body: Any, namespace: str, before: Schema | None) -> tuple[Schema, list[Document]]:
    """Returns the schema after a write, and the documents to upsert."""
    if not isinstance(body, dict) or body.keys() - _MEMBERS:
        raise Refused(f"a write is an object with some of {', '.join(sorted(_MEMBERS))}", status=422)
    if not any(body.get(each) for each in _OPERATIONS):
        raise Refused("no writes provided")
    rows = body.get("upsert_rows") or []
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "id" in row for row in rows):
        raise Refused("rows are objects with an id", status=422)
    if before is None and not rows:
        raise missing(namespace)
    metric = body.get("distance_metric")
    schema = merged(before, body.get("schema") or {})
    if metric not in (None, _METRIC) or ("vector" in schema and before is None and metric is None):
        raise Refused(f"a namespace with vectors has the distance_metric {_METRIC}: this stand-in has no other")
    upserts = [document_of(row, schema) for row in rows]
    if len({each.id for each in upserts}) != len(upserts):
        raise Refused("a write names a document at most once: an id is in it twice")
    return schema, upserts


def _deleted_by_filter(filter: Any, contents: Contents, visible: Mask) -> list[int]:
    if filter is None:
        return []
    # As in a query: what is hidden is not found.
    rows: list[int] = (visible & passing(filter, contents)).nonzero()[0].tolist()
    if len(rows) > limits.DELETED_BY_FILTER:
        raise Refused(f"the filter matches {len(rows)} documents, the maximum is {limits.DELETED_BY_FILTER}")
    return rows


def _allowed(documents: Sequence[Document], condition: Any, contents: Contents, gone: set[int]) -> list[Document]:
    """Returns the documents whose stored version meets the condition, and new ones."""
    masks: dict[str, Mask] = {}
    allowed = []
    for document in documents:
        row = contents.row_of.get(document.id)
        if row is not None and row not in gone and condition is not None:
            filter = _with_new(condition, document.attributes)
            key = json.dumps(filter)
            masks[key] = masks[key] if key in masks else passing(filter, contents)
            if not masks[key][row]:
                continue
        allowed.append(document)
    return allowed


def _with_new(condition: Any, attributes: Mapping[str, Any]) -> Any:
    """Returns the condition with the new document's value in place of `{"$ref_new": attribute}`."""
    if isinstance(condition, list) and condition and condition[-1] == {"$ref_new": condition[0]}:
        return [*condition[:-1], attributes.get(condition[0])]
    return condition


def _attribute(fields: Mapping[str, Any]) -> Attribute:
    full_text = fields["full_text"]
    return Attribute(fields["type"], fields["filterable"], FullText(**full_text) if full_text else None)


def _check_name(namespace: str) -> None:
    if not limits.NAMESPACE.fullmatch(namespace):
        raise Refused(f"'{namespace}' is not a valid name of a namespace: it must match [A-Za-z0-9-_.]{{1,128}}")
