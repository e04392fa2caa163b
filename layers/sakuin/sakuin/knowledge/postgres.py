"""The materials in Postgres, as they are indexed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sakuin.knowledge.model import ChangeResult, KnowledgeChunk, MaterialState, Outcome, PageChange, Source
from sakuin.language.indexed_words import IndexedWords
from sakuin.language.notation import canonical
from sakuin.platform.embedding import Vector
from sakuin.platform.supabase.client import Client, answer, call, vector_text
from sakuin.retrieval.index_version import ANALYZER, PageIndexVersion

_VECTORS_A_REQUEST = 100

_WHOLE = 32767

_AS_THEY_ARE = (
    *("id", "anchor", "title", "content", "type", "category", "level", "prerequisites", "position"),
    *("content_hash", "text_hash", "illustrates"),
)


@dataclass(frozen=True, slots=True)
class KnowledgeIndex:
    """The materials, as the indexer changes them. Each change is one transaction."""

    client: Client

    def record_index_version(self, fingerprint: PageIndexVersion) -> None:
        """Records what an index of this fingerprint is built with. Twice is once."""
        call(self.client, "remember_fingerprint", {"p_fingerprint": fingerprint_row(fingerprint)})

    def state(self, material: str) -> MaterialState | None:
        """What is held of a material; None when it was never heard of."""
        rows = answer(self.client.table("material").select("*").eq("material", material))
        return material_state(rows[0]) if rows else None

    def missing_vectors(self, text_hashes: Collection[str], fingerprint: PageIndexVersion) -> set[str]:
        """Those of `text_hashes` that have no vector of this model and recipe; the analyzer changes no vector."""
        wanted = sorted(set(text_hashes))
        return set(call(self.client, "missing_vectors", {"p_space": fingerprint.space, "p_text_hashes": wanted}))

    def store_vectors(self, vectors: Mapping[str, Vector], fingerprint: PageIndexVersion) -> None:
        """Stores vectors by the hash of their text. Twice is once."""
        rows = [
            {"space": fingerprint.space, "text_hash": text_hash, "embedding": vector_text(vector)}
            for text_hash, vector in vectors.items()
        ]
        for start in range(0, len(rows), _VECTORS_A_REQUEST):
            batch = rows[start : start + _VECTORS_A_REQUEST]
            answer(self.client.table("embedding_cache").upsert(batch, ignore_duplicates=True))

    def apply(
        self, change: PageChange, *, expected_generation: int | None = None, current: bool = False
    ) -> ChangeResult:
        """Makes one change of a material in one transaction: new chunks in, gone ones out, unchanged ones untouched.

        A version older than what is indexed is `superseded`. The same version again, or a change without a source,
        is made only if the row still has `expected_generation`, else it is a `conflict`. All vectors must have been
        stored before.

        With `current` the bucket was seen to hold the version now, or nothing for a deletion: the change is made
        whatever its sequencer says (empty: none is known), if the row still has `expected_generation` (None: there was
        no row), else it is a `conflict`. From then on every event of the key is `superseded` and needs the same; no
        receipt is left for those.
        """
        arguments: dict[str, Any] = {
            "p_material": change.material,
            "p_source": asdict(change.source) if change.source else None,
            "p_deleted": change.deleted,
            "p_error": change.error,
            "p_chunks": None if change.chunks is None else [_row(chunk) for chunk in change.chunks],
            "p_fingerprint": change.fingerprint,
            "p_expected_generation": expected_generation,
        }
        done = answer(self.client.rpc("apply_current" if current else "apply_material", arguments))
        next_owner = done.get("next_owner")
        return ChangeResult(
            outcome=done["outcome"],
            generation=done["generation"],
            next_owner=Source(**next_owner) if next_owner else None,
        )

    def record_upload_result(self, source: Source, outcome: Outcome, reason: str | None = None) -> None:
        """Says what became of a version that changed no material by itself."""
        call(self.client, "write_receipt", {"p_source": asdict(source), "p_outcome": outcome, "p_reason": reason})

    def store_synonyms(
        self,
        source: Source,
        groups: Sequence[Sequence[str]],
        *,
        expected_generation: int | None = None,
        current: bool = False,
    ) -> Outcome:
        """Makes the site's list of synonyms say what this version of its file says; a removed file says nothing.

        A version older than the one that was kept is `superseded`, else it is `applied`; `current` as in `apply`.
        """
        rows = [{"phrases": list(group), "plain": [canonical(phrase) for phrase in group]} for group in groups]
        arguments = {
            "p_source": asdict(source),
            "p_groups": rows,
            "p_analyzer": ANALYZER,
            "p_current": current,
            "p_expected_generation": expected_generation,
        }
        outcome: Outcome = call(self.client, "store_synonyms", arguments)
        return outcome

    def synonyms_generation(self, key: str) -> int | None:
        """How often the list of this file was kept; None for a file never heard of."""
        rows = answer(self.client.table("site_synonyms").select("generation").eq("key", key))
        return int(rows[0]["generation"]) if rows else None

    def record_learns_file(self, key: str, version_id: str | None) -> None:
        """Remembers that the pages were asked again for this version of a `learns.yml`; None: for its removal."""
        answer(self.client.table("followed_file").upsert({"key": key, "version_id": version_id, "at": "now"}))

    def cached_learns(self, cache_key: str) -> Mapping[str, tuple[str, ...]] | None:
        """What a model answered before to the same question; None if it was never asked."""
        rows = answer(self.client.table("learns_cache").select("learns").eq("cache_key", cache_key))
        return {anchor: tuple(items) for anchor, items in rows[0]["learns"].items()} if rows else None

    def store_learns(self, cache_key: str, learns: Mapping[str, tuple[str, ...]]) -> None:
        """Stores a model's answer. Twice is once."""
        row = {"cache_key": cache_key, "learns": {anchor: list(items) for anchor, items in learns.items()}}
        answer(self.client.table("learns_cache").upsert(row, ignore_duplicates=True))

    def materials_named_in(self, folder: str, names: Collection[str]) -> Sequence[str]:
        """The searchable materials below `folder` whose `learns` an author's file there has to do with.

        Those that go by one of `names` (in full, or by their last segment), and those with an author's `learns`.
        """
        return list(call(self.client, "materials_named_in", {"p_folder": folder, "p_names": sorted(names)}))

    def outdated_materials(self, fingerprint: str) -> Sequence[str]:
        """The searchable materials that were built with another fingerprint."""
        return list(call(self.client, "outdated_materials", {"p_fingerprint": fingerprint}))


def fingerprint_row(fingerprint: PageIndexVersion) -> dict[str, Any]:
    """A fingerprint as a row of `index_fingerprint`."""
    model = fingerprint.model
    return {
        "fingerprint": fingerprint.id,
        "model": model.name,
        "dimensions": model.dimensions,
        "query_prefix": model.query_prefix,
        "passage_prefix": model.passage_prefix,
        "recipe": fingerprint.recipe,
        "analyzer": fingerprint.analyzer,
    }


def material_state(row: Mapping[str, Any]) -> MaterialState:
    """A row of `material` as the services know it."""
    return MaterialState(
        material=row["material"],
        source=Source(row["bucket"], row["key"], row["version_id"], row["sequencer"]),
        status=row["status"],
        error=row["error"],
        generation=row["generation"],
        indexed_version_id=row["indexed_version_id"],
        fingerprint=row["fingerprint"],
        chunks_count=row["chunks_count"],
        indexed_at=row["indexed_at"],
    )


def _row(chunk: KnowledgeChunk) -> dict[str, Any]:
    row = {name: getattr(chunk, name) for name in _AS_THEY_ARE}
    impacts = written_words(chunk.words)
    return row | {
        "learns": chunk.learns.items,
        "learns_source": chunk.learns.source,
        "learns_given": chunk.learns.given,
        "terms": list(impacts),
        "impacts": list(impacts.values()),
    }


def written_words(words: IndexedWords) -> dict[str, int]:
    """Terms and their impacts as `posting` has them: 1 to 32767 for (0, 1], readings with a tab before the word."""
    impacts = {term: max(1, round(impact * _WHOLE)) for term, impact in words.impacts.items()}
    impacts |= {f"{reading}\t{form}": _WHOLE for reading, form in words.readings}
    return dict(sorted(impacts.items()))
