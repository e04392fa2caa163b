"""Explanations in turbopuffer: their rows, and the search for candidates among them.

Postgres keeps the texts and says which rows are current:
docs/decisions/0484-turbopuffer-for-tables-and-large-libraries.md.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from turbopuffer.types import AttributeSchemaParam, Row

from sakuin.errors import Invalid, NotFound
from sakuin.knowledge.model import Filters, KnowledgeChunk, PageChange, stored_impact
from sakuin.knowledge.postgres_search import DEPTH, PostgresChunks, Question
from sakuin.language.impacts import frequency_of
from sakuin.platform.embedding import unpacked
from sakuin.platform.run_all import in_portions
from sakuin.platform.supabase.client import Client, answer, call
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
    passage_id,
    ranks,
    sent_term,
    stored_forms,
    terms_schema,
    words_leg,
)
from sakuin.retrieval.filters import store_filters, value_tokens
from sakuin.retrieval.vectors import text_hash

_EXACT = ("type", "category", "level", "language", "material")
_FILTERED: AttributeSchemaParam = {"type": "string", "filterable": True}
ATTRIBUTES: dict[str, AttributeSchemaParam] = {
    # As often as in the whole text, weighted and normalized: BM25 without another normalization is then the sum of the
    # weights that Postgres has for the same words.
    "terms": terms_schema(TERM_BYTES, k1=1.0, b=0.0),
    # The weights of the same terms, as `columns` has them.
    "impacts": {"type": "string", "filterable": False},
    **dict.fromkeys(_EXACT, _FILTERED),
    "folders": {"type": "[]string", "filterable": True},
    "values": {"type": "[]string", "filterable": True},
}
# Vectors of one answer of Postgres: 4 MB.
_PASSAGES_A_REQUEST = 1_000
# Of a filter in an address.
_IDS_A_REQUEST = 100
# Longer than a worker takes from its first row to the transaction that makes it current.
_STAGED = timedelta(seconds=900)


def namespace(library: str, space: str) -> str:
    """Returns the namespace of a space of vectors. `library` is the bucket of the pages: no other deployment has it."""
    return f"pages_{library}_{space}"


@dataclass(frozen=True, slots=True)
class StoredPages:
    """The rows of explanations in the namespaces of a library."""

    client: Client
    rows: TurbopufferRows
    library: str

    def store(self, change: PageChange, chunks: Sequence[KnowledgeChunk]) -> list[dict[str, Any]]:
        """Stores the rows of a change before it is applied, where a namespace may lack them. Idempotent.

        Returns what its chunks are applied with. Another change of the material meanwhile makes it a conflict.
        """
        ids = [row_id(chunk) for chunk in chunks]
        source, generation = asdict(change.source) if change.source else None, None
        named = zip(ids, chunks, strict=True)
        for portion in in_portions(named, _passages, lambda _count, passages: passages > _PASSAGES_A_REQUEST):
            texts = [{"row_id": id, "text_hashes": chunk.text_hashes} for id, chunk in portion]
            arguments = {"p_material": change.material, "p_source": source, "p_fingerprint": change.fingerprint}
            staged = call(self.client, "stage_rows", arguments | {"p_rows": texts})
            # A page of several portions is applied only if no other change came between them.
            generation = staged["generation"] if generation is None else generation
            for space, vectors in staged["spaces"].items():
                rows = [searched_row(id, chunk, vectors[id], generation + 1) for id, chunk in portion if id in vectors]
                self.rows.write(namespace(self.library, space), rows, ATTRIBUTES)
        return [{"row_id": id, "staged_at": generation} for id in ids]

    def sweep(self) -> int:
        """Deletes a portion of the rows that no explanation has, and namespaces of deleted index versions."""
        for space in self._abandoned():
            self.rows.delete_namespace(namespace(self.library, space))
        before = (datetime.now(UTC) - _STAGED).isoformat()
        staged = self.client.table("stored_row").select("*").is_("id", "null").lt("changed_at", before)
        portion = answer(staged.order("changed_at").limit(MAX_DELETED_ROWS))
        together: dict[tuple[str, int], list[str]] = {}
        for row in portion:
            together.setdefault((row["space"], row["generation"]), []).append(row["row_id"])
        for (space, generation), ids in together.items():
            self.rows.delete(namespace(self.library, space), ids, generation=generation)
            call(self.client, "forget_rows", {"p_space": space, "p_generation": generation, "p_rows": ids})
        return len(portion)

    def lacking(self, after: str, *, limit: int, dry_run: bool) -> tuple[list[str], str | None]:
        """Returns which of `limit` materials after `after` lack rows, and where the next begin.

        Unless `dry_run`, it records the lost rows: reindexing the materials stores them again.
        """
        recorded = call(self.client, "current_rows", {"p_after": after, "p_limit": limit})
        lacking = set(recorded["lacking"])
        for space, material_of in recorded["rows"].items():
            name = namespace(self.library, space)
            # What is not indexed yet is not visible, and not lost.
            if not self.rows.is_indexed(name):
                continue
            table = self.client.table("stored_row")
            for part in parts(list(material_of), _IDS_A_REQUEST):
                lost = sorted(set(part) - self.rows.present(name, part))
                lacking |= {material_of[row] for row in lost}
                if lost and not dry_run:
                    answer(table.update({"id": None, "changed_at": "now"}).eq("space", space).in_("row_id", lost))
        return sorted(lacking), recorded["next"]

    def _abandoned(self) -> list[str]:
        """Returns the spaces that no index version has, while their vectors are being deleted in Postgres."""
        versions = self.client.table("page_index_version").select("space,index_version(live)")
        recorded = answer(versions.like("space", "turbopuffer-%"))
        recorded_spaces = {row["space"] for row in recorded if row["index_version"]}
        # Before the first index version is added, all of them are written to.
        if not answer(self.client.table("index_version").select("live").limit(1)):
            return []
        return [
            space
            for space in sorted({row["space"] for row in recorded} - recorded_spaces)
            if answer(self.client.table("knowledge_vector").select("text_hash").eq("space", space).limit(1))
        ]


@dataclass(frozen=True, slots=True)
class TurbopufferChunks:
    """The `CandidateStore` in turbopuffer. `library` is as in `namespace`."""

    postgres: PostgresChunks
    rows: TurbopufferRows
    library: str

    def candidates(self, question: Question) -> dict[str, Any]:
        vector = None if question.vector is None else list(question.vector)
        filters = _filters(question.filters)
        queries: dict[str, Any] = {"nearest": nearest_leg(vector, _all(filters), DEPTH)}
        folders = ("", *question.folder_slots)
        for folder in folders:
            words = words_leg([slot.terms for slot in question.slots_of(folder)], "")
            queries[f"/{folder}"] = words and leg(words, _all([*filters, *_of_folder(folder, folders)]), DEPTH)
        answers = partial(self._answers, question)
        legs = answers(queries)
        nearest = ranks(legs["nearest"], DEPTH)
        scored = [row for name, rows in legs.items() if name != "nearest" for row in rows]
        matching = ranks(sorted(scored, key=lambda row: (-float(row["$dist"]), str(row["id"]))), DEPTH)
        candidates = self.postgres.stored_candidates(question, [*{**nearest, **matching}])

        ids = [row["row"] for row in candidates["candidates"] if row["row"]]
        sample = {passage_id(row, number): language for row, number, language in candidates["sample"]}
        hits = evidence(answers, ids, vector, legs["nearest"], attribute="impacts", sample=[*sample], with_heads=True)
        slots = [slot for folder in folders for slot in question.slots_of(folder)]
        forms = stored_forms(term for slot in slots for term in slot.terms)
        return candidates | {
            "cosines": [(sample[str(each["id"])], cosine(each)) for each in hits.sample],
            "candidates": [
                row
                | {
                    "cosine": hits.cosines.get(row["row"]),
                    "head": hits.heads.get(row["row"]),
                    "nearest_rank": nearest.get(row["row"]),
                    "matching_rank": matching.get(row["row"]),
                    "impacts": numbers_of(hits.rows[row["row"]]["impacts"], forms)[1]
                    if row["row"] in hits.rows
                    else {},
                }
                for row in candidates["candidates"]
            ],
        }

    def texts(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        return self.postgres.texts(ids)

    def has_terms(self, terms: Sequence[Sequence[str]], filters: Filters) -> list[bool]:
        return self.postgres.has_terms(terms, filters)

    def _answers(self, question: Question, queries: Mapping[str, Any]) -> Mapping[str, Sequence[Row]]:
        stored = question.filters.stored or {}
        # No row has the attributes yet that came after 1.0.0.
        with suppress(NotFound, *([Invalid] if {"language", "fields"} & stored.keys() else ())):
            return self.rows.answers(namespace(self.library, question.version.space), queries)
        return dict.fromkeys(queries, ())


def row_id(chunk: KnowledgeChunk) -> str:
    """Returns the name of an explanation's row: a hash of all that is searched of it, but for the model.

    Language and fields are its end, so that rows of equal rank keep their order.
    """
    searched = [chunk.id, chunk.type, chunk.category, chunk.level, chunk.text_hashes, chunk.words.impacts]
    values = (searched, [chunk.language, chunk.fields])
    name, end = (text_hash(json.dumps(value, ensure_ascii=False, sort_keys=True)) for value in values)
    return f"{name[:24]}{end[:8]}"


def searched_row(id: str, chunk: KnowledgeChunk, vectors: Sequence[str], generation: int) -> SearchedRow:
    impacts = {sent_term(term): impact for term, impact in sorted(chunk.words.impacts.items())}
    segments = chunk.material.split("/")
    filters = {name: getattr(chunk, name) for name in _EXACT} | {"values": value_tokens(chunk.fields)}
    return SearchedRow(
        id,
        generation,
        [unpacked(vector, header=4) for vector in vectors],
        filters | {"folders": ["/".join(segments[:depth]) for depth in range(1, len(segments))]},
        {
            "terms": [term for term, impact in impacts.items() for _ in range(max(1, round(frequency_of(impact))))],
            "impacts": columns(map(stored_impact, impacts.values()), impacts),
        },
    )


def _passages(row: tuple[str, KnowledgeChunk]) -> int:
    return len(row[1].text_hashes)


def _filters(filters: Filters) -> list[tuple[Any, ...]]:
    exact = {name: getattr(filters, name) for name in _EXACT}
    folder = [("folders", "Contains", filters.folder)] if filters.folder else []
    lists = [*folder, *store_filters(filters.own), *(_filters(filters.fixed) if filters.fixed else ())]
    return [*((name, "Eq", value) for name, value in exact.items() if value is not None), *lists]


def _of_folder(folder: str, folders: Sequence[str]) -> list[tuple[Any, ...]]:
    """Returns the filters for the pages of a folder that are in no deeper one of `folders`; they end with a slash."""
    deeper = [("folders", "NotContains", each[:-1]) for each in folders if each != folder and each.startswith(folder)]
    return [*([("folders", "Contains", folder[:-1])] if folder else []), *deeper]


def _all(filters: Sequence[tuple[Any, ...]]) -> tuple[Any, ...] | None:
    return ("And", list(filters)) if filters else None
