"""The chunks of Tables in turbopuffer."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from turbopuffer.types import AttributeSchemaParam

from sakuin.errors import NotFound
from sakuin.language.model import Slot
from sakuin.platform.embedding import Vector
from sakuin.platform.turbopuffer.client import MAX_DELETED_ROWS, TurbopufferRows, parts
from sakuin.platform.turbopuffer.documents import (
    TERM_BYTES,
    SearchedRow,
    columns,
    cosine,
    evidence,
    leg,
    nearest_leg,
    numbers_of,
    ranks,
    sent_term,
    stored_forms,
    terms_schema,
    words_leg,
)
from sakuin.retrieval.filters import Condition, store_filters, value_numbers, value_tokens
from sakuin.tables.nodes import Found, FoundChunk, PublishedNode, StoredChunkRow

# A batch has fewer nodes, and each write takes a second of its namespace.
_MAX_SWEPT_NODES = 256

ATTRIBUTES: dict[str, AttributeSchemaParam] = {
    "content": {"type": "string", "full_text_search": True},
    "terms": terms_schema(TERM_BYTES),
    # The same terms for the ranking, as `columns` has them after the number of all.
    "term_counts": {"type": "string", "filterable": False},
    # A filterable value has at most 4 KiB, and a pointer may be longer, so filters use hashes.
    "json_pointer": {"type": "string", "filterable": False},
    "pointer_hash": {"type": "string", "filterable": True},
    "ancestors": {"type": "[]string", "filterable": True},
    "content_hash": {"type": "string", "filterable": True},
    "chunk_index": {"type": "int", "filterable": True},
    # Texts and truth values of filters; a number has an attribute of its own.
    "values": {"type": "[]string", "filterable": True},
}


@dataclass(frozen=True, slots=True)
class ChunkStore(TurbopufferRows):
    """Chunks as searched rows with their place in the Table."""

    def upsert(self, namespace: str, rows: Sequence[StoredChunkRow]) -> None:
        """Stores rows by id, except where a row of a greater generation exists. Idempotent; no rows is not an error.

        The rows are durable on return. Each request is atomic, but many rows take several requests. Ids over 64 bytes,
        vectors of other dimensions than the stored ones, and text that is not Unicode raise `Invalid`.
        """
        numbers: dict[str, AttributeSchemaParam] = {
            name: {"type": "float", "filterable": True} for row in rows for name in value_numbers(row.attributes)
        }
        self.write(namespace, [searched_row(row) for row in rows], {**ATTRIBUTES, **numbers})

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
        needed: Sequence[Condition] = (),
    ) -> Found:
        """Returns the `depth` nearest and the `depth` matching rows below `scope` (a pointer hash), the nearest first.

        The rank of a matching row is by the sum over `slots` of the best term of each slot by BM25. Without
        slots it is by the BM25 of the engine's own words in `text`. A text that is too long is cut. Without `vector`
        there are no nearest rows and no cosines. `sample` are doc ids, in any scope; unknown ones are left out. A
        namespace that does not exist has no rows. Both legs have only rows that pass the conditions `needed`.
        """
        sent = None if vector is None else list(vector)
        words = words_leg([slot.terms for slot in slots], text)
        below = _below(scope, needed)
        legs = {"nearest": nearest_leg(sent, below, depth), "matching": words and leg(words, below, depth)}
        try:
            rankings = self.answers(namespace, legs)
            by_vector, by_words = (ranks(rankings[name], depth) for name in legs)
            ids = list({**by_vector, **by_words})
            query = partial(self.answers, namespace)
            ranked = evidence(query, ids, sent, rankings["nearest"], attribute="term_counts", sample=sample)
        except NotFound:
            return Found()
        chunks, forms = [], stored_forms(term for slot in slots for term in slot.terms)
        # Others were deleted just now.
        for id in (id for id in ids if id in ranked.rows):
            (total,), counts = numbers_of(ranked.rows[id]["term_counts"], forms, of_row=1)
            chunks.append(FoundChunk(id, by_vector.get(id), by_words.get(id), ranked.cosines.get(id), counts, total))
        return Found(tuple(chunks), tuple(map(cosine, ranked.sample)))

    def texts_with(
        self,
        namespace: str,
        terms: Sequence[Sequence[str]],
        *,
        scope: str,
        limit: int,
        needed: Sequence[Condition] = (),
    ) -> list[list[str]]:
        """Returns for each list of terms the texts below `scope` that have all, among the best `limit` for these.

        A text that has all would be among them.
        """
        below = _below(scope, needed)
        words = {str(place): words_leg([(term,) for term in each], "") for place, each in enumerate(terms)}
        legs = {
            name: rank_by and leg(rank_by, below, limit) | {"include_attributes": ["term_counts", "content"]}
            for name, rank_by in words.items()
        }
        try:
            rows_by_list = self.answers(namespace, legs)
        except NotFound:
            return [[] for _ in terms]
        return [
            [
                str(row["content"])
                for row in rows_by_list[name]
                if set(str(row["term_counts"]).split("\n")[1:]).issuperset(map(sent_term, each))
            ]
            for name, each in zip(words, terms, strict=True)
        ]

    def sweep(self, namespace: str, nodes: Collection[PublishedNode]) -> int:
        """Deletes the rows of nodes up to their generations, except those of their contents. Returns the number."""
        filters: list[tuple[Any, ...]] = []
        for generation in {node.generation for node in nodes if node.content_hash is None}:
            removed = [n.pointer_hash for n in nodes if (n.content_hash, n.generation) == (None, generation)]
            for part in parts(removed, MAX_DELETED_ROWS):
                filters.append(("And", [("pointer_hash", "In", part), ("generation", "Lte", generation)]))
        published = [node for node in nodes if node.content_hash is not None]
        filters += [("Or", [_obsolete(node) for node in part]) for part in parts(published, _MAX_SWEPT_NODES)]
        return sum(self.delete_matching(namespace, each) for each in filters)


def searched_row(row: StoredChunkRow) -> SearchedRow:
    terms = [sent_term(term) for term in row.terms]
    counts = Counter(terms)
    return SearchedRow(
        id=row.doc_id,
        generation=row.generation,
        vectors=row.vectors,
        filters={
            "pointer_hash": row.ancestors[-1],
            "ancestors": list(row.ancestors),
            "content_hash": row.content_hash,
            "chunk_index": row.chunk_index,
            "values": value_tokens(row.attributes),
            **value_numbers(row.attributes),
        },
        texts={
            "content": row.content,
            "terms": terms,
            "term_counts": columns((len(terms), *counts.values()), counts),
            "json_pointer": row.json_pointer,
        },
    )


def _below(scope: str, needed: Sequence[Condition]) -> tuple[Any, ...]:
    """Returns the filter for the rows below a node that pass the conditions."""
    below = ("ancestors", "Contains", scope)
    return ("And", [below, *store_filters(needed)]) if needed else below


def _obsolete(node: PublishedNode) -> tuple[Any, ...]:
    """Returns the filter for the older rows of a node."""
    older = ("generation", "Lte", node.generation), ("content_hash", "NotEq", node.content_hash)
    return ("And", [("pointer_hash", "Eq", node.pointer_hash), *older])
