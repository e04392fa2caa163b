"""The functions in Postgres that change materials, and the records of materials and of `learns`."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sakuin.knowledge.model import (
    HIGHEST_IMPACT,
    AuthoredFile,
    BucketVersion,
    ChangeResult,
    Collapse,
    KnowledgeChunk,
    LibraryCounts,
    MaterialState,
    Outcome,
    PageChange,
    PageRecord,
    RecordedObject,
    Source,
    Status,
    UploadResult,
    stored_impact,
)
from sakuin.knowledge.page import Finding, IndexedChunk, Severity, Words
from sakuin.language.model import IndexedWords
from sakuin.language.synonyms import stored_groups
from sakuin.platform.embedding import Vector, unpacked
from sakuin.platform.retry import Waiting
from sakuin.platform.run_all import in_portions
from sakuin.platform.supabase.client import Client, add_vectors, answer, call, vector_text
from sakuin.platform.waiting import note_requests, waiting_of
from sakuin.retrieval.index_version import ANALYZER, PageIndexVersion
from sakuin.texts.catalogue import code_of, restored, stored

if TYPE_CHECKING:
    # Only deployments with pages there load its SDK.
    from sakuin.knowledge.turbopuffer import StoredPages

_COPIED = (
    *("id", "anchor", "title", "content", "type", "category", "level", "prerequisites", "position"),
    *("page_title", "section", "language", "content_hash", "text_hashes", "illustrates", "fields"),
)
# Longer than a worker takes from its first staged words to the transaction that applies their page.
_STAGED_SECONDS = 900

Items = tuple[str, ...]

# Pages that are worked on at once. The other workers of the queue are free for changed pages.
PAGES_AT_ONCE = 2
# Longer than one model call plus indexing. After that the message counts as lost.
_CLAIM_SECONDS = 180
# How long S3 keeps a version that is not current (template.yaml; SQL function collapse_of).
_VERSIONS_KEPT = timedelta(days=90)
# Materials of one kind that are counted.
_COUNTED = 1_000
# The last code point ends the range of all names with a prefix.
_LAST = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class FindingCount:
    """The number of recorded findings of a rule, and of their pages."""

    rule: str
    severity: Severity
    findings: int
    pages: int


@dataclass(frozen=True, slots=True)
class KnowledgeIndex:
    """Changes materials. Each change is one transaction.

    The words of a page with more than `terms_per_request` are staged before it, in portions of about so many.
    `stored_pages` gives the rows in turbopuffer.
    """

    client: Client
    terms_per_request: int = 30_000
    stored_pages: "Callable[[], StoredPages] | None" = None

    def state(self, material: str) -> MaterialState | None:
        """Returns the record of a material, None if there is none."""
        rows = answer(self.client.table("material").select("*").eq("material", material))
        return material_state(rows[0]) if rows else None

    def record(self, material: str) -> PageRecord:
        """Returns what a worker has to know of a material before it changes it."""
        return PageRecord.of(call(self.client, "page_record", {"p_material": material}))

    def missing_vectors(self, text_hashes: Collection[str], version: PageIndexVersion) -> set[str]:
        """Returns those of `text_hashes` that have no vector of the version's `space`."""
        hashes = sorted(set(text_hashes))
        return set(call(self.client, "missing_vectors", {"p_space": version.space, "p_text_hashes": hashes}))

    def vectors(self, text_hashes: Collection[str], version: PageIndexVersion) -> dict[str, Vector]:
        """Returns the vectors of the version's `space` by their names; a name without a vector is left out."""
        arguments = {"p_space": version.space, "p_text_hashes": sorted(set(text_hashes))}
        stored: dict[str, str] = call(self.client, "vectors_by_name", arguments)
        return {name: unpacked(text, header=4) for name, text in stored.items()}

    def store_vectors(self, vectors: Mapping[str, Vector], version: PageIndexVersion) -> None:
        """Stores vectors by the hash of their text. Idempotent."""
        add_vectors(self.client, "knowledge_vector", vectors, space=version.space)

    def apply(
        self, change: PageChange, *, expected_generation: int | None = None, bucket: BucketVersion | None = None
    ) -> ChangeResult:
        """Applies one change: writes new and changed chunks, deletes missing ones. Stores its vectors in any case.

        A version older than the indexed one is `superseded`. The same version again, or a change without a source, is
        applied only if the row still has `expected_generation`, else it is a `conflict`. The same page is applied only
        if it is the searchable one.

        `bucket` is the version that the bucket had after the row was read. The change is then applied whatever its
        sequencer is (empty: unknown), if it is about this version, or a deletion where there is no object, and the row
        does not have it; else it is `superseded`, and its upload result says so. If the row has another generation than
        `expected_generation` (None: there was no row), it is a `conflict`. Later events of the key are `superseded`
        without an upload result, until they too are compared with the bucket. A change with rows in turbopuffer is a
        `conflict` if the material changed meanwhile.
        """
        vectors = {name: vector_text(vector) for name, vector in change.vectors.items()}
        row = {
            "material": change.material,
            "source": asdict(change.source) if change.source else None,
            "deleted": change.deleted,
            "error": stored(change.error),
            "chunks": None if change.chunks is None else self._chunks(change, change.chunks),
            "fingerprint": change.fingerprint,
            "learns_files": dict(change.learns_files),
            "page_hash": change.page_hash,
            "findings": list(change.findings),
            "words": change.words.counts if change.words else None,
        }
        arguments: dict[str, Any] = {
            "p_change": row,
            "p_expected_generation": expected_generation,
            "p_vectors": {"space": change.space, "vectors": vectors} if vectors else None,
            "p_bucket": asdict(bucket) if bucket else None,
        }
        result = answer(self.client.rpc("apply_material", arguments))
        next_owner = result.pop("next_owner", None)
        return ChangeResult(**result, next_owner=Source(**next_owner) if next_owner else None)

    def _chunks(self, change: PageChange, chunks: Sequence[KnowledgeChunk]) -> list[dict[str, Any]]:
        """Returns the rows of chunks with their words, or the numbers of staged ones. Stores rows in turbopuffer."""
        stored = (
            self.stored_pages().store(change, chunks) if self.stored_pages and change.has_rows else [{}] * len(chunks)
        )
        rows = [_row(chunk) | each for chunk, each in zip(chunks, stored, strict=True)]
        portions = list(in_portions(chunks, _terms, lambda _count, terms: terms > self.terms_per_request))
        if len(portions) <= 1:
            return [row | _words(chunk) for row, chunk in zip(rows, chunks, strict=True)]
        staged: dict[str, int] = {}
        for portion in portions:
            arguments = {"p_material": change.material, "p_source": asdict(change.source) if change.source else None}
            words = [{"id": chunk.id, **_words(chunk)} for chunk in portion]
            staged |= call(self.client, "stage_words", arguments | {"p_chunks": words})
        return [row | {"words": staged[row["id"]]} for row in rows]

    def sweep_words(self) -> int:
        """Deletes a portion of the words that no search sees: replaced ones, and those of versions never applied.

        Returns the number of rows; 0 when nothing is left.
        """
        arguments = {"p_seconds": _STAGED_SECONDS, "p_terms": self.terms_per_request}
        return int(call(self.client, "sweep_words", arguments))

    def record_upload_result(self, source: Source, outcome: Outcome, reason: str | None = None) -> None:
        """Records the result of a version that changed no material."""
        arguments = {"p_source": asdict(source), "p_outcome": outcome, "p_reason": stored(reason)}
        call(self.client, "record_upload_result", arguments)

    def store_synonyms(
        self, key: str, version: str | None, folder: str, groups: Sequence[Sequence[str]], *, expected_generation: int
    ) -> bool:
        """Replaces the synonyms for the pages of a folder, empty for all pages, and records the version that has them.

        A removed file has no version and no groups. Returns False, and changes nothing, if `synonyms_generation` of the
        file is another than expected.
        """
        arguments = {
            "p_key": key,
            "p_version": version,
            "p_folder": folder,
            "p_groups": stored_groups(groups),
            "p_analyzer": ANALYZER,
            "p_expected_generation": expected_generation,
        }
        return bool(call(self.client, "store_synonyms", arguments))

    def synonyms_generation(self, key: str) -> int:
        """Returns how often the synonyms of this file were stored."""
        rows = answer(self.client.table("site_synonyms").select("generation").eq("key", key))
        return int(rows[0]["generation"]) if rows else 0

    def note_requests(self, materials: Collection[str], reason: str) -> None:
        """Records that messages about these materials are sent, before they are."""
        note_requests(self.client, materials, reason)

    def record_authored_file(self, file: AuthoredFile) -> None:
        """Records that this version of a file was applied, and its pages requested."""
        row = asdict(file) | {"names": None if file.names is None else sorted(file.names)}
        answer(self.client.table("authored_file").upsert(row | {"applied_at": "now", "work": None}))

    def materials_named_in(self, file: AuthoredFile) -> Sequence[str]:
        """Returns the searchable materials below the folder of a `learns.yml` that this version of it may change.

        They have one of its names (as full name or last segment), or have `learns` of an author. Those that were
        written with this version are omitted.
        """
        arguments = {"p_key": file.key, "p_version": file.version_id, "p_folder": file.folder}
        return list(call(self.client, "materials_named_in", arguments | {"p_names": sorted(file.names or ())}))


@dataclass(frozen=True, slots=True)
class MaterialRecords:
    """Reads the records of materials, uploads and keys, for operators, authors and reconciliation."""

    client: Client

    def materials(
        self,
        *,
        prefix: str = "",
        status: Status | None = None,
        after: str | None = None,
        limit: int = 200,
        with_new: bool = False,
    ) -> tuple[Sequence[MaterialState], str | None]:
        """Returns materials by name, all of a status, or all but deleted ones.

        `with_new`: also those that wait and were never indexed, whose status is `deleted`. With them it returns the
        `after` of the next `limit`, None at the end.
        """
        request = self.client.table("material").select("*").order("material")
        if with_new:
            request = request.eq("is_shown", "true")
        else:
            request = request.neq("status", "deleted") if status is None else request.eq("status", status)
        if after is not None:
            request = request.gt("material", after)
        if prefix:
            request = request.gte("material", prefix).lt("material", prefix + _LAST)
        states = [material_state(row) for row in answer(request.limit(limit + 1))]
        return states[:limit], states[limit - 1].material if len(states) > limit else None

    def latest(self, limit: int) -> Sequence[MaterialState]:
        """Returns the materials that were indexed last, the last one first."""
        request = self.client.table("material").select("*").eq("status", "ready").order("indexed_at", desc=True)
        return [material_state(row) for row in answer(request.limit(limit))]

    def finding_counts(self, prefix: str = "") -> Sequence[FindingCount]:
        """Returns the numbers of recorded findings about pages whose names begin with `prefix`, errors first."""
        return [FindingCount(**row) for row in call(self.client, "finding_counts", {"p_prefix": prefix})]

    def findings(
        self, *, material: str = "", prefix: str = "", rule: str = "", after: str | None = None, limit: int
    ) -> tuple[Sequence[Finding], str | None]:
        """Returns the recorded findings of all rules or of one, and the `after` of the next `limit` pages."""
        request = self.client.table("material").select("material,findings").neq("findings", "[]").order("material")
        request = request.gte("material", prefix).lt("material", prefix + _LAST)
        if material:
            request = request.eq("material", material)
        if rule:
            request = request.contains("findings", json.dumps([{"rule": rule}]))
        if after is not None:
            request = request.gt("material", after)
        rows = answer(request.limit(limit + 1))
        findings = [
            Finding(material=row["material"], **restored(one)) for row in rows[:limit] for one in row["findings"]
        ]
        following = rows[limit - 1]["material"] if len(rows) > limit else None
        return [one for one in findings if one.rule == (rule or one.rule)], following

    def broken_files(self) -> Sequence[tuple[str, str]]:
        """Returns `(key, reason)` of each `learns.yml` and `synonyms.yml` whose current version cannot be read."""
        return [(row["key"], restored(row["reason"])) for row in call(self.client, "broken_files", {})]

    def counts(self) -> LibraryCounts:
        """Returns the numbers of materials, chunks and words."""
        counts = call(self.client, "material_counts", {})
        return LibraryCounts(counts["materials"], counts["chunks"], _books(counts["words"]))

    def last_indexed(self) -> str | None:
        """Returns when a page last became searchable, None if there is none."""
        request = self.client.table("material").select("indexed_at").order("indexed_at", desc=True, nullsfirst=False)
        return next((row["indexed_at"] for row in answer(request.limit(1))), None)

    def descriptions(self) -> Mapping[str, str]:
        """Returns what the owner says of the library ("") and of folders."""
        request = self.client.table("library_description").select("folder,description").order("folder")
        return {row["folder"]: row["description"] for row in answer(request)}

    def describe(self, folder: str, description: str) -> None:
        """Replaces the description of the library ("") or of a folder; an empty one deletes it."""
        table = self.client.table("library_description")
        answer(
            table.upsert({"folder": folder, "description": description})
            if description
            else table.delete().eq("folder", folder)
        )

    def upload_results(self, versions: Collection[tuple[str, str]]) -> Sequence[UploadResult]:
        """Returns the results of `(key, version id)` pairs, without those that are not processed yet."""
        uploads = [{"key": key, "version_id": version_id} for key, version_id in versions]
        rows = restored(call(self.client, "upload_results", {"p_versions": uploads}))
        return [UploadResult(**row, reason_code=code_of(row["reason"])) for row in rows]

    def waiting_files(self, keys: Collection[str]) -> Sequence[Waiting]:
        """Returns since when and why files wait; those that do not wait are left out."""
        return [waiting_of(row) for row in call(self.client, "waiting_files", {"p_keys": sorted(keys)})]

    def competing_keys(self) -> Sequence[tuple[str, str, str]]:
        """Returns `(material, key, owner's key)` of the first keys that wait for a material of another key."""
        waiting = self.client.table("competing_key").select("material,key,owner:material(key)").eq("deleted", False)
        return [
            (row["material"], row["key"], row["owner"]["key"]) for row in answer(waiting.order("key").limit(_COUNTED))
        ]

    def indexed_materials(self, materials: Collection[str]) -> Mapping[str, Sequence[IndexedChunk]]:
        """Returns the indexed chunks of these materials, without unknown materials."""
        rows = call(self.client, "indexed_anchors", {"p_materials": sorted(materials)})
        return {material: list(map(_indexed, chunks)) for material, chunks in rows.items()}

    def objects(self, after: str, *, limit: int, young_seconds: float = 0) -> Sequence[RecordedObject]:
        """Returns the known keys after `after`, deleted ones included, in the order of their bytes.

        A key that changed in the last `young_seconds` is `young`.
        """
        arguments = {"p_after": after, "p_limit": limit, "p_analyzer": ANALYZER, "p_settling": young_seconds}
        rows = call(self.client, "recorded_objects", arguments)
        return [RecordedObject(**row) for row in rows]

    def page_count(self) -> int:
        """Returns the number of known pages, without deleted ones, with those that wait for a material of another."""
        return sum(self.counts().materials.values()) + len(self.competing_keys())

    def delete_unused_readings(self, after: str, *, limit: int) -> tuple[int, str | None]:
        """Deletes those of `limit` readings after `after` that no page has. Returns their number, and the cursor."""
        page = call(self.client, "delete_unused_readings", {"p_after": after, "p_limit": limit})
        return page["deleted"], page["next"]

    def delete_unused_texts(self, *, seconds: float, limit: int) -> int:
        """Deletes vectors, and answers of a language model, of texts that nothing has had for `seconds`.

        Changes at most `limit` of each kind, and returns how many; 0 when nothing is left to do.
        """
        return int(call(self.client, "delete_unused_texts", {"p_seconds": round(seconds), "p_limit": limit}))


@dataclass(frozen=True, slots=True)
class Group:
    """The texts to ask a language model about, by key, and whether more of the page are due."""

    keys: Sequence[str]
    more: bool


@dataclass(frozen=True, slots=True)
class LearnsRecords:
    """Answers of a language model by the key of their text, and pages with provisional `learns`."""

    client: Client

    def answers(self, keys: Collection[str]) -> Mapping[str, Items]:
        """Returns the known answers; empty ones too, also for texts whose calls are used up."""
        rows = call(self.client, "cached_learns", {"p_keys": sorted(keys)}) if keys else {}
        return {key: tuple(items) for key, items in rows.items()}

    def store(self, answers: Mapping[str, Items]) -> None:
        """Stores answers. Idempotent."""
        # In one order, so that two workers cannot deadlock.
        rows = [{"cache_key": key, "learns": list(items)} for key, items in sorted(answers.items())]
        answer(self.client.table("learns_cache").upsert(rows))

    def send_due(self, send: Callable[[Sequence[str]], None]) -> int:
        """Claims pages that are due, so that at most `PAGES_AT_ONCE` are worked on, and sends messages for them.

        Returns their number. A message that is lost is sent again when its claim ends.
        """
        arguments = {"p_slots": PAGES_AT_ONCE, "p_seconds": _CLAIM_SECONDS}
        materials: list[str] = call(self.client, "claim_learns", arguments)
        send(materials)
        return len(materials)

    def begin(self, material: str, keys: Sequence[str]) -> Group | None:
        """Records a call about up to six texts of a page that have no answer; None if the page does not wait.

        `keys` are those of all its texts. A repeated or concurrent call gets other texts, or none.
        """
        arguments = {"p_material": material, "p_keys": list(keys), "p_seconds": _CLAIM_SECONDS}
        row = call(self.client, "begin_learns", arguments)
        return Group(tuple(row["ask"]), row["more"]) if row else None

    def release(self, material: str, *, not_asked: Collection[str] = (), seconds: float = 0) -> None:
        """Ends the work on a page, until its texts are due or, if given, for `seconds`.

        `not_asked` are texts whose recorded call was not made.
        """
        arguments = {"p_material": material, "p_not_asked": sorted(not_asked), "p_seconds": round(seconds)}
        call(self.client, "release_learns", arguments)

    def drop(self, material: str, *, generation: int) -> None:
        """Ends the work on a page for good, unless it has changed since `generation`: its next version begins again."""
        call(self.client, "drop_learns", {"p_material": material, "p_generation": generation})


def material_state(row: Mapping[str, Any]) -> MaterialState:
    return MaterialState(
        material=row["material"],
        source=Source(row["bucket"], row["key"], row["version_id"], row["sequencer"]),
        status=row["status"],
        error=restored(row["error"]),
        generation=row["generation"],
        indexed_version_id=row["indexed_version_id"],
        fingerprint=row["fingerprint"],
        chunks_count=row["chunks_count"],
        indexed_at=row["indexed_at"],
        collapse=_collapse(row["collapse"]),
        page_hash=row["page_hash"],
        waiting=_waiting(row["material"], row["work"]),
        findings_count=len(row["findings"]),
        words=_books(row["words"]),
    )


def _books(counts: Mapping[str, int] | None) -> Words | None:
    return Words.of(counts) if counts else None


def _waiting(material: str, work: Mapping[str, Any] | None) -> Waiting | None:
    if not work or "since" not in work:
        return None
    row = {name: work[name] for name in ("since", "reason", "vendor", "until")}
    return waiting_of({"kind": "page", "subject": material, **row})


def _collapse(row: Mapping[str, Any] | None) -> Collapse | None:
    """Returns what an upload lost, while S3 keeps the version before it."""
    if row is None or row["at"] < _oldest_version():
        return None
    return Collapse(row["key"], row["version_id"], row["count"], tuple(row["lost"]))


def _oldest_version() -> str:
    """Returns the time before which S3 no longer keeps what an upload replaced, as the database writes times."""
    return (datetime.now(UTC) - _VERSIONS_KEPT).isoformat()


def _row(chunk: KnowledgeChunk) -> dict[str, Any]:
    return {name: getattr(chunk, name) for name in _COPIED} | {
        "learns": chunk.learns.items,
        "learns_source": chunk.learns.source,
        "learns_given": chunk.learns.given,
        "learns_key": chunk.learns.key,
    }


def _words(chunk: KnowledgeChunk) -> dict[str, Any]:
    if chunk.words_row is not None:
        return {"words": chunk.words_row}
    impacts = written_words(chunk.words)
    return {"terms": list(impacts), "impacts": list(impacts.values()), "spelled": dict(chunk.words.spelled)}


def _terms(chunk: KnowledgeChunk) -> int:
    return len(chunk.words.impacts) + len(chunk.words.readings)


def written_words(words: IndexedWords) -> dict[str, int]:
    """Returns terms and impacts as in `posting`: 1 to 32767 for (0, 1]; a reading is followed by a tab and its word."""
    impacts = {term: stored_impact(impact) for term, impact in words.impacts.items()}
    impacts |= {f"{reading}\t{form}": HIGHEST_IMPACT for reading, form in words.readings}
    return dict(sorted(impacts.items()))


def _indexed(row: Mapping[str, list[str] | str | None]) -> IndexedChunk:
    authored = row["learns_given"]
    return IndexedChunk(
        anchor=str(row["anchor"]),
        learns=tuple(row["learns"] or ()),
        learns_given=None if authored is None else tuple(authored),
    )
