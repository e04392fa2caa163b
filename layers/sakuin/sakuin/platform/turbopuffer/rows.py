"""Searched rows in turbopuffer, for Tables and for pages."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import orjson
from turbopuffer import Turbopuffer
from turbopuffer.types import AttributeSchemaParam

from sakuin.errors import NotFound
from sakuin.platform.calls import Ask, background, interactive
from sakuin.platform.turbopuffer.client import SEARCH_TIMEOUT, translate_errors, understood
from sakuin.platform.turbopuffer.documents import (
    DISTANCE,
    ROWS_AN_ANSWER,
    Row,
    SearchedRow,
    documents,
    requests,
    rows_named,
    schema,
)

# The limit of turbopuffer is 512 MB, but a function has the request and its rows in memory.
_MAX_REQUEST_BYTES = 64_000_000
# Of one multi-query.
_MAX_QUERIES = 16
# turbopuffer documents no limit of a filter.
MAX_DELETED_ROWS = 1_000

_NOT_NEWER = ("generation", "Lte", {"$ref_new": "generation"})

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TurbopufferRows:
    """Searched rows in namespaces. There are no transactions.

    Rows have a generation, and no write replaces a row of a greater generation. `ask` makes the background calls of
    workers, `ask_now` the interactive calls of searches.
    """

    client: Turbopuffer
    max_request_bytes: int = _MAX_REQUEST_BYTES
    rows_an_answer: int = ROWS_AN_ANSWER
    ask: Ask = field(default_factory=background)
    ask_now: Ask = field(default_factory=interactive)

    def write(
        self, namespace: str, rows: Sequence[SearchedRow], attributes: Mapping[str, AttributeSchemaParam]
    ) -> None:
        """Stores rows by id, except where a row of a greater generation exists. Idempotent; they are durable then."""
        for request in requests(rows, self.max_request_bytes):
            self._write(
                namespace,
                upsert_rows=[each for row in request for each in documents(row)],
                upsert_condition=_NOT_NEWER,
                schema=schema(len(request[0].vectors[0]), attributes),
                distance_metric=DISTANCE,
            )

    def answers(self, namespace: str, queries: Mapping[str, Any]) -> Mapping[str, Sequence[Row]]:
        """Returns the documents by the names of the queries, in a round trip for sixteen; none for an empty query.

        Raises `NotFound` if there is no such namespace.
        """
        asked = [(name, query) for name, query in queries.items() if query]
        answers: dict[str, Sequence[Row]] = dict.fromkeys(queries, ())
        for start in range(0, len(asked), _MAX_QUERIES):
            names, those = zip(*asked[start : start + _MAX_QUERIES], strict=True)
            results = self.ask_now(partial(self._results, namespace, list(those)), namespace=namespace)
            answers |= dict(zip(names, results, strict=True))
        return answers

    def _results(self, namespace: str, queries: list[Any]) -> list[Sequence[Row]]:
        with translate_errors(namespace):
            raw = self.client.namespace(namespace).with_raw_response
            # The SDK would look at each number of a vector, and make a model of each row.
            answer = raw.multi_query(queries=(), extra_body={"queries": queries}, timeout=SEARCH_TIMEOUT)
            results = orjson.loads(answer.read())["results"]
            if len(results) != len(queries):
                raise ValueError("each query has a result")
            return [list(result["rows"]) for result in results]

    def delete_matching(self, namespace: str, filters: tuple[Any, ...]) -> int:
        """Deletes the documents that pass the filters. Returns their number."""
        with suppress(NotFound):
            return int(self._write(namespace, delete_by_filter=filters).rows_deleted or 0)
        return 0

    def delete(self, namespace: str, doc_ids: Collection[str], *, generation: int | None = None) -> None:
        """Deletes rows by id, with `generation` only those up to it. An unknown id is not an error."""
        not_newer = [] if generation is None else [("generation", "Lte", generation)]
        for ids in parts(doc_ids, MAX_DELETED_ROWS):
            self.delete_matching(namespace, ("And", [("chunk", "In", ids), *not_newer]))

    def delete_namespace(self, namespace: str) -> None:
        """Deletes a namespace with its rows. An unknown namespace is not an error."""
        with suppress(NotFound):
            self._asked(namespace, lambda: self.client.namespace(namespace).delete_all(), "status")

    def is_indexed(self, namespace: str) -> bool:
        """Returns whether searches see all rows that were stored before; true without such a namespace."""
        try:
            index = self._asked(namespace, lambda: self.client.namespace(namespace).metadata().index, "status")
        except NotFound:
            return True
        return bool(index.status == "up-to-date")

    def present(self, namespace: str, ids: Sequence[str]) -> set[str]:
        """Returns which of some rows there are; none without such a namespace."""
        with suppress(NotFound):
            return {str(row["id"]) for row in self.answers(namespace, {"rows": rows_named(ids, None)})["rows"]}
        return set()

    def ids(self, namespace: str) -> Mapping[str, int]:
        """Returns the generation of every row by id, without those that are not visible yet: see `is_indexed`."""
        generations: dict[str, int] = {}
        after: list[Any] = [("passage", "Eq", 0)]
        with suppress(NotFound):
            while page := self._page_of_ids(namespace, after):
                generations |= {str(row.id): int(str(row["generation"])) for row in page}
                if len(page) < self.rows_an_answer:
                    break
                after = [*after[:1], ("id", "Gt", page[-1].id)]
        return generations

    def namespaces(self, prefix: str) -> list[str]:
        """Returns all namespaces whose names begin with `prefix`, in order."""

        def names() -> list[str]:
            with translate_errors(""):
                return sorted(each.id for each in understood(self.client.namespaces(prefix=prefix), "namespaces"))

        return self.ask(names)

    def _page_of_ids(self, namespace: str, filters: list[Any]) -> Sequence[Any]:
        def page() -> Any:
            return self.client.namespace(namespace).query(
                rank_by=("id", "asc"),
                limit=self.rows_an_answer,
                include_attributes=["generation"],
                filters=("And", filters),
            )

        rows: Sequence[Any] = self._asked(namespace, page, "rows").rows
        return rows

    def _write(self, namespace: str, **operation: Any) -> Any:
        return self._asked(namespace, lambda: self.client.namespace(namespace).write(**operation), "rows_affected")

    def _asked(self, namespace: str, call: Callable[[], T], *members: str) -> T:
        def answer() -> T:
            with translate_errors(namespace):
                return understood(call(), *members)

        return self.ask(answer, namespace=namespace)


def parts(items: Collection[T], size: int) -> Iterator[list[T]]:
    """Yields the different items in parts of a size."""
    different = list(dict.fromkeys(items))
    for start in range(0, len(different), size):
        yield different[start : start + size]
