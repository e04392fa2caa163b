"""The `ChunkStore` on turbopuffer."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from turbopuffer import Turbopuffer
from turbopuffer.types import Row

from sakuin.errors import NotFound
from sakuin.language.model import Slot
from sakuin.platform.calls import Ask, background, interactive
from sakuin.platform.embedding import Vector
from sakuin.tables.chunk_store import Found, FoundChunk, StoredChunkRow
from sakuin.tables.nodes import PublishedNode
from sakuin.tables.turbopuffer.client import quick, translate_errors, understood
from sakuin.tables.turbopuffer.documents import (
    DISTANCE,
    chunk_of,
    cosine,
    documents,
    requests,
    schema,
    sent_term,
    term_counts,
    words_leg,
)

# The limit of turbopuffer is 512 MB, but a function has the request and its rows in memory.
_MAX_REQUEST_BYTES = 64_000_000
# turbopuffer documents no limit of a filter. A batch has fewer nodes, and each write takes a second of its namespace.
_MAX_DELETED_CHUNKS = 1_000
_MAX_SWEPT_NODES = 256
_MAX_ROWS_AN_ANSWER = 10_000
# Of the nearest passages so many are of one chunk, or fewer chunks are found.
_PASSAGES_A_CHUNK = 2

_NOT_NEWER = ("generation", "Lte", {"$ref_new": "generation"})

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TurbopufferChunkStore:
    """A `ChunkStore`. `ask` makes the background calls of workers, `ask_now` the interactive calls of searches."""

    client: Turbopuffer
    max_request_bytes: int = _MAX_REQUEST_BYTES
    rows_an_answer: int = _MAX_ROWS_AN_ANSWER
    ask: Ask = field(default_factory=background)
    ask_now: Ask = field(default_factory=interactive)

    def upsert(self, namespace: str, rows: Sequence[StoredChunkRow]) -> None:
        for request in requests(rows, self.max_request_bytes):
            self._write(
                namespace,
                upsert_rows=[each for row in request for each in documents(row)],
                upsert_condition=_NOT_NEWER,
                schema=schema(len(request[0].vectors[0])),
                distance_metric=DISTANCE,
            )

    def search(
        self,
        namespace: str,
        *,
        vector: Vector | None,
        slots: Sequence[Slot],
        text: str,
        scope: str,
        depth: int,
        sample: Sequence[str] = (),
    ) -> Found:
        meaning = None if vector is None else ("vector", "ANN", list(vector))
        words = words_leg(slots, text)
        legs = {
            "nearest": meaning and _leg(meaning, scope, _PASSAGES_A_CHUNK * depth),
            "matching": words and _leg(words, scope, depth),
        }
        try:
            rankings = self._answers(namespace, legs)
            by_vector, by_words = (_ranks(rankings[leg], depth) for leg in legs)
            ids = list({**by_vector, **by_words})
            cosines = {chunk_of(row): cosine(row) for row in reversed(rankings["nearest"])}
            far = [] if vector is None else [id for id in ids if id not in cosines]
            # Terms are much to send, so each chunk sends them once.
            chunks = {
                "rows": ids and _rows(ids, None, include_attributes=["term_counts"]),
                "far": far and _rows(far, vector, of="chunk"),
                "sample": ids and sample and vector is not None and _rows(sample, vector),
            }
            found = self._answers(namespace, chunks)
        except NotFound:
            return Found()
        terms = {sent_term(each.term): each.term for slot in slots for each in slot.terms}
        cosines |= {chunk_of(row): cosine(row) for row in reversed(found["far"])}
        evidence = {str(row.id): row for row in found["rows"]}
        return Found(
            tuple(
                FoundChunk(id, by_vector.get(id), by_words.get(id), cosines.get(id), *term_counts(evidence[id], terms))
                for id in ids
                # Others were deleted just now.
                if id in evidence
            ),
            tuple(map(cosine, found["sample"])),
        )

    def sweep(self, namespace: str, nodes: Collection[PublishedNode]) -> int:
        deleted = 0
        with suppress(NotFound):
            for part in _parts(nodes, _MAX_SWEPT_NODES):
                answer = self._write(namespace, delete_by_filter=("Or", [_obsolete(node) for node in part]))
                deleted += int(answer.rows_deleted or 0)
        return deleted

    def delete(self, namespace: str, doc_ids: Collection[str], *, generation: int | None = None) -> None:
        not_newer = [] if generation is None else [("generation", "Lte", generation)]
        with suppress(NotFound):
            for ids in _parts(doc_ids, _MAX_DELETED_CHUNKS):
                self._write(namespace, delete_by_filter=("And", [("chunk", "In", ids), *not_newer]))

    def delete_namespace(self, namespace: str) -> None:
        with suppress(NotFound):
            self._asked(namespace, lambda: self.client.namespace(namespace).delete_all(), "status")

    def is_indexed(self, namespace: str) -> bool:
        try:
            index = self._asked(namespace, lambda: self.client.namespace(namespace).metadata().index, "status")
        except NotFound:
            return True
        return bool(index.status == "up-to-date")

    def ids(self, namespace: str) -> Mapping[str, int]:
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
        def names() -> list[str]:
            with translate_errors(""):
                return sorted(each.id for each in understood(self.client.namespaces(prefix=prefix), "namespaces"))

        return self.ask(names)

    def _answers(self, namespace: str, queries: Mapping[str, Any]) -> Mapping[str, Sequence[Row]]:
        """Returns the rows by the names of the queries; none for a query that is empty."""
        asked = {name: query for name, query in queries.items() if query}
        answers = (
            self.ask_now(lambda: self._results(namespace, list(asked.values())), namespace=namespace) if asked else []
        )
        return dict.fromkeys(queries, ()) | dict(zip(asked, answers, strict=True))

    def _results(self, namespace: str, queries: list[Any]) -> list[Sequence[Row]]:
        with translate_errors(namespace):
            answer = quick(self.client).namespace(namespace).multi_query(queries=queries)
            results = understood(answer, "results").results
            if len(results) != len(queries):
                raise ValueError("each query has a result")
            return [understood(result, "rows").rows or () for result in results]

    def _page_of_ids(self, namespace: str, filters: list[Any]) -> Sequence[Row]:
        def page() -> Any:
            return self.client.namespace(namespace).query(
                rank_by=("id", "asc"),
                limit=self.rows_an_answer,
                include_attributes=["generation"],
                filters=("And", filters),
            )

        rows: Sequence[Row] = self._asked(namespace, page, "rows").rows
        return rows

    def _write(self, namespace: str, **operation: Any) -> Any:
        return self._asked(namespace, lambda: self.client.namespace(namespace).write(**operation), "rows_affected")

    def _asked(self, namespace: str, call: Callable[[], T], *members: str) -> T:
        def answer() -> T:
            with translate_errors(namespace):
                return understood(call(), *members)

        return self.ask(answer, namespace=namespace)


def _ranks(rows: Sequence[Row], depth: int) -> dict[str, int]:
    """Returns the ranks of the first `depth` chunks by their ids."""
    chunks = dict.fromkeys(map(chunk_of, rows))
    return {chunk: rank for rank, chunk in zip(range(1, depth + 1), chunks, strict=False)}


def _leg(rank_by: tuple[Any, ...], scope: str, limit: int) -> dict[str, Any]:
    return {"rank_by": rank_by, "filters": ("ancestors", "Contains", scope), "limit": limit}


def _rows(ids: Sequence[str], vector: Vector | None, *, of: str = "id", **asked: Any) -> dict[str, Any]:
    """Returns the query for rows by an attribute, with their distances from `vector`, nearest first: kNN is exact."""
    rank_by = ("id", "asc") if vector is None else ("vector", "kNN", list(vector))
    return {"rank_by": rank_by, "filters": (of, "In", list(ids)), "limit": _MAX_ROWS_AN_ANSWER, **asked}


def _obsolete(node: PublishedNode) -> tuple[Any, ...]:
    """Returns the filter for the older rows of a node."""
    rows: list[Any] = [("pointer_hash", "Eq", node.pointer_hash), ("generation", "Lte", node.generation)]
    if node.content_hash is not None:
        rows.append(("content_hash", "NotEq", node.content_hash))
    return ("And", rows)


def _parts(items: Collection[T], size: int) -> Iterator[list[T]]:
    different = list(dict.fromkeys(items))
    for start in range(0, len(different), size):
        yield different[start : start + size]
