"""The chunks of Tables in turbopuffer."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turbopuffer.types import AttributeSchemaParam

from sakuin.errors import NotFound
from sakuin.language.model import Slot
from sakuin.platform.embedding import Vector
from sakuin.platform.turbopuffer.documents import (
    PASSAGES_A_ROW,
    TERM_BYTES,
    Row,
    SearchedRow,
    cosine,
    cosines,
    leg,
    ranks,
    rows_named,
    sent_term,
    sent_vector,
    terms_schema,
    words_leg,
)
from sakuin.platform.turbopuffer.rows import TurbopufferRows, parts
from sakuin.tables.nodes import Found, FoundChunk, PublishedNode, StoredChunkRow

# A batch has fewer nodes, and each write takes a second of its namespace.
_MAX_SWEPT_NODES = 256

_ATTRIBUTES: dict[str, AttributeSchemaParam] = {
    "content": {"type": "string", "full_text_search": True},
    "terms": terms_schema(TERM_BYTES),
    # The same terms for the ranking: one string is returned and read faster than a list.
    "term_counts": {"type": "string", "filterable": False},
    # A filterable value has at most 4 KiB, and a pointer may be longer, so filters use hashes.
    "json_pointer": {"type": "string", "filterable": False},
    "pointer_hash": {"type": "string", "filterable": True},
    "ancestors": {"type": "[]string", "filterable": True},
    "content_hash": {"type": "string", "filterable": True},
    "chunk_index": {"type": "int", "filterable": True},
}


@dataclass(frozen=True, slots=True)
class ChunkStore(TurbopufferRows):
    """Chunks as searched rows with their place in the Table."""

    def upsert(self, namespace: str, rows: Sequence[StoredChunkRow]) -> None:
        """Stores rows by id, except where a row of a greater generation exists. Idempotent; no rows is not an error.

        The rows are durable on return. Each request is atomic, but many rows take several requests. Ids over 64 bytes,
        vectors of other dimensions than the stored ones, and text that is not Unicode raise `Invalid`.
        """
        self.write(namespace, [_searched(row) for row in rows], _ATTRIBUTES)

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
        """Returns the `depth` nearest and the `depth` matching rows below `scope` (a pointer hash), the nearest first.

        The rank of a matching row is by the sum over `slots` of the best term of each slot by BM25. Without
        slots it is by the BM25 of the engine's own words in `text`. A text that is too long is cut. Without `vector`
        there are no nearest rows and no cosines. `sample` are doc ids, in any scope; unknown ones are left out. A
        namespace that does not exist has no rows.
        """
        sent = None if vector is None else sent_vector(vector)
        meaning = sent and ("vector", "ANN", sent)
        words = words_leg([slot.terms for slot in slots], text)
        below = ("ancestors", "Contains", scope)
        legs = {
            "nearest": meaning and leg(meaning, below, PASSAGES_A_ROW * depth),
            "matching": words and leg(words, below, depth),
        }
        try:
            rankings = self.answers(namespace, legs)
            by_vector, by_words = (ranks(rankings[name], depth) for name in legs)
            ids = list({**by_vector, **by_words})
            near = cosines(rankings["nearest"])
            far = [] if sent is None else [id for id in ids if id not in near]
            # Terms are much to send, so each chunk sends them once.
            chunks = {
                "rows": ids and rows_named(ids, None, include_attributes=["term_counts"]),
                "far": far and rows_named(far, sent, of="chunk"),
                "sample": ids and sample and sent and rows_named(sample, sent),
            }
            found = self.answers(namespace, chunks)
        except NotFound:
            return Found()
        terms = {sent_term(term): term for slot in slots for term in slot.terms}
        nearness = cosines(found["far"], rankings["nearest"])
        evidence = {str(row["id"]): row for row in found["rows"]}
        return Found(
            tuple(
                FoundChunk(id, by_vector.get(id), by_words.get(id), nearness.get(id), *term_counts(evidence[id], terms))
                for id in ids
                # Others were deleted just now.
                if id in evidence
            ),
            tuple(map(cosine, found["sample"])),
        )

    def sweep(self, namespace: str, nodes: Collection[PublishedNode]) -> int:
        """Deletes the rows of nodes up to their generations, except those of their contents. Returns the number."""
        return sum(
            self.delete_matching(namespace, ("Or", [_obsolete(node) for node in part]))
            for part in parts(nodes, _MAX_SWEPT_NODES)
        )


def _searched(row: StoredChunkRow) -> SearchedRow:
    terms = [sent_term(term) for term in row.terms]
    return SearchedRow(
        id=row.doc_id,
        generation=row.generation,
        vectors=row.vectors,
        filters={
            "pointer_hash": row.ancestors[-1],
            "ancestors": list(row.ancestors),
            "content_hash": row.content_hash,
            "chunk_index": row.chunk_index,
        },
        texts={
            "content": row.content,
            "terms": terms,
            "term_counts": _columns(terms),
            "json_pointer": row.json_pointer,
        },
    )


def _columns(terms: Sequence[str]) -> str:
    """Returns a line with the number of terms and the count of each different one, then these, a line each."""
    counts = Counter(terms)
    return "\n".join([" ".join(map(str, (len(terms), *counts.values()))), *counts])


def term_counts(row: Row, asked: Mapping[str, str]) -> tuple[dict[str, int], int]:
    """Returns how often a row has each of the terms `asked` (by their stored form), and how many terms it has."""
    numbers, *terms = str(row["term_counts"]).split("\n")
    total, *counts = numbers.split(" ")
    return {asked[term]: int(counts[terms.index(term)]) for term in asked.keys() & terms}, int(total)


def _obsolete(node: PublishedNode) -> tuple[Any, ...]:
    """Returns the filter for the older rows of a node."""
    rows: list[Any] = [("pointer_hash", "Eq", node.pointer_hash), ("generation", "Lte", node.generation)]
    if node.content_hash is not None:
        rows.append(("content_hash", "NotEq", node.content_hash))
    return ("And", rows)
