"""Documents and schemas in one SQLite file; each write is one transaction."""

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from sakuin_local.turbopuffer.documents import Document, Id
from sakuin_local.turbopuffer.schema import Attribute, FullText
from sakuin_local.turbopuffer.vectors import Floats

_TABLES = """
create table if not exists namespace (
    name text primary key, schema text not null, metric text, created_at text not null, updated_at text not null
);
create table if not exists document (
    number integer primary key autoincrement,
    namespace text not null, id text not null, attributes blob not null, texts blob not null, vector blob,
    unique (namespace, id)
);
"""


@dataclass(frozen=True, slots=True)
class Description:
    """A namespace without its documents."""

    schema: Mapping[str, Attribute]
    metric: str | None
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class Stored:
    """A document with its number, which is the order of writing."""

    number: int
    document: Document


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of documents to read, in addition to their short attributes."""

    texts: bool = True
    vectors: bool = True

    @property
    def columns(self) -> str:
        texts, vector = "texts" if self.texts else "null", "vector" if self.vectors else "null"
        return f"number, id, attributes, {texts}, {vector}"


WHOLE = Parts()


class Storage:
    """The file; use it from one thread at a time."""

    def __init__(self, file: Path) -> None:
        self._connection = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        self._connection.execute("pragma journal_mode = wal")
        # An acknowledged write is on disk.
        self._connection.execute("pragma synchronous = full")
        self._connection.executescript(_TABLES)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Runs the block in a transaction."""
        self._connection.execute("begin immediate")
        try:
            yield
        except BaseException:
            self._connection.execute("rollback")
            raise
        self._connection.execute("commit")

    def names(self) -> list[str]:
        return [row[0] for row in self._connection.execute("select name from namespace order by name")]

    def description(self, namespace: str) -> Description | None:
        found = self._connection.execute(
            "select schema, metric, created_at, updated_at from namespace where name = ?", (namespace,)
        ).fetchone()
        if not found:
            return None
        schema = {name: _attribute(fields) for name, fields in json.loads(found[0]).items()}
        return Description(schema, *found[1:])

    def describe(self, namespace: str, schema: Mapping[str, Attribute], metric: str | None) -> None:
        schema_text = json.dumps({name: asdict(attribute) for name, attribute in schema.items()})
        now = datetime.now(UTC).isoformat()
        self._connection.execute(
            "insert into namespace values (?, ?, ?, ?, ?) on conflict (name) do update set"
            " schema = excluded.schema, metric = excluded.metric, updated_at = excluded.updated_at",
            (namespace, schema_text, metric, now, now),
        )

    def documents(self, namespace: str, *, parts: Parts = WHOLE) -> Iterator[Stored]:
        """Yields all documents, in the order of writing."""
        query = f"select {parts.columns} from document where namespace = ? order by number"  # noqa: S608 - constants
        rows = self._connection.execute(query, (namespace,))
        return map(_stored, rows)

    def count(self, namespace: str) -> int:
        found = self._connection.execute("select count(*) from document where namespace = ?", (namespace,)).fetchone()
        return int(found[0])

    def numbered(self, numbers: Sequence[int], *, parts: Parts = WHOLE) -> dict[int, Document]:
        """Returns documents by number."""
        found = {}
        for start in range(0, len(numbers), 500):
            part = numbers[start : start + 500]
            marks = ",".join("?" * len(part))
            query = f"select {parts.columns} from document where number in ({marks})"  # noqa: S608 - constants and question marks
            for row in self._connection.execute(query, part):
                stored = _stored(row)
                found[stored.number] = stored.document
        return found

    def put(self, namespace: str, documents: Iterable[Document], texts: Collection[str]) -> list[Stored]:
        """Stores new documents with new numbers; `texts` are the names of long attributes."""
        stored = []
        for document in documents:
            vector = None if document.vector is None else document.vector.tobytes()
            short = {name: value for name, value in document.attributes.items() if name not in texts}
            long = {name: value for name, value in document.attributes.items() if name in texts}
            cursor = self._connection.execute(
                "insert into document (namespace, id, attributes, texts, vector) values (?, ?, ?, ?, ?)",
                (namespace, json.dumps(document.id), orjson.dumps(short), orjson.dumps(long), vector),
            )
            stored.append(Stored(int(cursor.lastrowid or 0), document))
        return stored

    def remove(self, numbers: Iterable[int]) -> None:
        self._connection.executemany("delete from document where number = ?", ((number,) for number in numbers))

    def drop(self, namespace: str) -> None:
        """Removes the namespace with its documents."""
        self._connection.execute("delete from document where namespace = ?", (namespace,))
        self._connection.execute("delete from namespace where name = ?", (namespace,))


def _stored(row: tuple[int, str, bytes, bytes | None, bytes | None]) -> Stored:
    number, key, short, long, vector = row
    attributes = orjson.loads(short) | (orjson.loads(long) if long else {})
    id: Id = json.loads(key)
    floats: Floats | None = None if vector is None else np.frombuffer(vector, np.float32)
    return Stored(number, Document(id, attributes, floats))


def _attribute(fields: dict[str, Any]) -> Attribute:
    full_text = fields["full_text"]
    # A file of an older version has more members.
    return Attribute(fields["type"], fields["filterable"], FullText(**full_text) if full_text else None)
