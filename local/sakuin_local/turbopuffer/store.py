"""All namespaces; one request at a time, but writes wait for their commits together."""

import base64
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from sakuin_local.turbopuffer import limits
from sakuin_local.turbopuffer.contents import Contents
from sakuin_local.turbopuffer.limits import Refused, missing
from sakuin_local.turbopuffer.pace import Pace, QuerySlots, WriteAheadLog, slots_of
from sakuin_local.turbopuffer.queries import Found, answered, projected
from sakuin_local.turbopuffer.storage import Description, Parts, Storage
from sakuin_local.turbopuffer.writing import Outcome, Write, outcome

Json = dict[str, Any]


class Store:
    """The namespaces of one file. Those that were searched stay in memory.

    By default it is as slow as turbopuffer. After a restart all rows are indexed.
    """

    def __init__(self, file: Path, pace: Pace | None = None) -> None:
        self._pace = pace or Pace()
        self._storage = Storage(file)
        self._logs: defaultdict[str, WriteAheadLog] = defaultdict(lambda: WriteAheadLog(self._pace))
        self.slots = QuerySlots(self._pace.patience)
        self._contents: dict[str, Contents] = {}
        self._lock = threading.Lock()

    def warm(self) -> None:
        """Loads all namespaces into memory, so that the first search is fast."""
        with self._lock:
            namespaces = self._storage.names()
        for namespace in namespaces:
            with self._lock:
                if description := self._storage.description(namespace):
                    self._opened(namespace, description)

    def write(self, namespace: str, body: Any) -> Json:
        """Applies a write, all or nothing."""
        _check(namespace)
        log = self._log(namespace)
        if not (isinstance(body, dict) and body.get("disable_backpressure")):
            log.check_backlog()
        log.wait_for_commit()
        with self._lock:
            before = self._storage.description(namespace)
            write = Write.of(body, namespace, before)
            contents = self._opened(namespace, before) if before else Contents(self._storage, namespace, {})
            contents.hide(log.hidden())
            contents.schema, kept = write.schema, contents.schema
            try:
                done = self._apply(namespace, write, contents)
            except Refused:
                contents.schema = kept
                raise
            except BaseException:
                # Memory and storage may differ.
                self._contents.pop(namespace, None)
                raise
            if contents.is_mostly_gone or not before:
                self._contents.pop(namespace, None)
            log.add([each.id for each in done.stored], done.size)
            return _write_answer(write.body, done)

    def add_backlog(self, namespace: str, size: int) -> None:
        """Acts as if so many more bytes had just been written, for tests."""
        self._log(namespace).add((), size)

    def query(self, namespace: str, body: Any) -> Json:
        """Answers a query or a multi-query."""
        _check(namespace)
        started = time.perf_counter()
        with self.slots.taken(namespace, slots_of(body)), self._lock:
            contents = self._opened(namespace, self._described(namespace))
            contents.hide(self._logs[namespace].hidden())
            results = [self._sent(result, contents) for result in answered(body, contents)]
            size = int(contents.alive.sum())
        milliseconds = round((time.perf_counter() - started) * 1000)
        answer: Json = {"results": results} if "queries" in body else results[0]
        return answer | {
            "billing": {"billable_logical_bytes_queried": 0, "billable_logical_bytes_returned": 0},
            "performance": {
                "approx_namespace_size": size,
                "cache_hit_ratio": 1.0,
                "cache_temperature": "hot",
                "exhaustive_search_count": size,
                "query_execution_ms": milliseconds,
                "server_total_ms": milliseconds,
            },
        }

    def delete(self, namespace: str) -> Json:
        """Removes a namespace with its documents."""
        _check(namespace)
        with self._lock, self._storage.transaction():
            self._described(namespace)
            self._storage.drop(namespace)
            self._contents.pop(namespace, None)
            self._logs.pop(namespace, None)
        return {"status": "OK"}

    def schema(self, namespace: str) -> Json:
        """Returns each attribute with its type and its indexes."""
        _check(namespace)
        with self._lock:
            known = self._described(namespace)
        return {name: attribute.described(known.metric) for name, attribute in known.schema.items()}

    def metadata(self, namespace: str) -> Json:
        """Returns the schema and the number of rows."""
        schema = self.schema(namespace)
        with self._lock:
            known, rows = self._described(namespace), self._storage.count(namespace)
        return {
            "schema": schema,
            "approx_row_count": rows,
            "approx_logical_bytes": 0,
            "created_at": known.created_at,
            "updated_at": known.updated_at,
            "encryption": {"mode": "default"},
            "index": self._log(namespace).unindexed(),
        }

    def listed(self, prefix: str, after: str, page_size: int) -> Json:
        """Returns a page of the names that begin with `prefix`, and the cursor of the next page."""
        if not 1 <= page_size <= limits.NAMESPACES_A_PAGE:
            raise Refused(f"page_size is 1 to {limits.NAMESPACES_A_PAGE}")
        with self._lock:
            names = [name for name in self._storage.names() if name.startswith(prefix) and name > _place(after)]
        page = names[:page_size]
        cursor = base64.b64encode(page[-1].encode()).decode() if len(names) > len(page) else None
        return {"namespaces": [{"id": name} for name in page], "next_cursor": cursor}

    def _apply(self, namespace: str, write: Write, contents: Contents) -> Outcome:
        done = outcome(write, contents)
        with self._storage.transaction():
            self._storage.describe(namespace, write.schema, write.metric)
            self._storage.remove(contents.numbers(done.removed_rows))
            texts = {name for name, attribute in write.schema.items() if attribute.full_text}
            stored = self._storage.put(namespace, done.stored, texts)
        contents.remove(done.removed_rows)
        contents.add(stored)
        return done

    def _log(self, namespace: str) -> WriteAheadLog:
        with self._lock:
            return self._logs[namespace]

    def _described(self, namespace: str) -> Description:
        description = self._storage.description(namespace)
        if description is None:
            raise missing(namespace)
        return description

    def _opened(self, namespace: str, description: Description) -> Contents:
        if namespace not in self._contents:
            self._contents[namespace] = Contents(self._storage, namespace, description.schema)
        return self._contents[namespace]

    def _sent(self, result: Found | Json, contents: Contents) -> Json:
        if not isinstance(result, Found):
            return result
        numbers = contents.numbers(each.row for each in result.rows) if result.attributes else []
        documents = self._storage.numbered(numbers, parts=_parts(result, contents))
        return {"rows": projected(result, documents, contents)}


def _check(namespace: str) -> None:
    if not limits.NAMESPACE.fullmatch(namespace):
        raise Refused(f"'{namespace}' is not a valid name of a namespace: it must match [A-Za-z0-9-_.]{{1,128}}")


def _parts(found: Found, contents: Contents) -> Parts:
    """Returns the parts of documents that an answer needs."""
    if isinstance(found.attributes, bool):
        return Parts()
    texts = any(contents.schema[name].full_text for name in found.attributes if name in contents.schema)
    return Parts(texts=texts, vectors="vector" in found.attributes)


def _place(cursor: str) -> str:
    try:
        return base64.b64decode(cursor, validate=True).decode()
    except ValueError as error:
        raise Refused("invalid cursor") from error


def _write_answer(body: Mapping[str, Any], done: Outcome) -> Json:
    counts = {"upserted": done.upserted, "deleted": done.deleted}
    answer: Json = {
        "status": "OK",
        "message": "ok",
        "rows_affected": sum(map(len, counts.values())),
        "billing": {"billable_logical_bytes_written": len(orjson.dumps(body.get("schema")))},
        "performance": {"server_total_ms": 0},
    }
    for kind, ids in counts.items():
        if ids:
            answer[f"rows_{kind}"] = len(ids)
            if body.get("return_affected_ids"):
                answer[f"{kind}_ids"] = list(ids)
    return answer
