"""The functions in Postgres that read and compare the records of materials."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sakuin.knowledge.model import (
    FailedMaterial,
    MaterialPage,
    RecordedObject,
    Status,
    UploadResult,
)
from sakuin.knowledge.postgres import material_state
from sakuin.knowledge.validation import IndexedChunk, IndexedMaterial
from sakuin.platform.supabase.client import Client, answer, call
from sakuin.retrieval.index_version import ANALYZER


@dataclass(frozen=True, slots=True)
class MaterialRecords:
    """Reads the records of materials, uploads and keys, for operators, authors and reconciliation."""

    client: Client

    def materials(
        self, *, prefix: str = "", status: Status | None = None, after: str | None = None, limit: int = 200
    ) -> MaterialPage:
        """Returns materials by name, all of a status, or all but deleted ones."""
        request = self.client.table("material").select("*").order("material")
        request = request.neq("status", "deleted") if status is None else request.eq("status", status)
        if after is not None:
            request = request.gt("material", after)
        if prefix:
            # The last code point ends the range of all names with this prefix.
            request = request.gte("material", prefix).lt("material", prefix + "\U0010ffff")
        states = [material_state(row) for row in answer(request.limit(limit + 1))]
        more = len(states) > limit
        return MaterialPage(states[:limit], states[limit - 1].material if more else None)

    def failed(self, *, limit: int) -> Sequence[FailedMaterial]:
        """Returns the materials whose newest version could not be read, the last failure first."""
        columns = "material,error,updated_at"
        request = self.client.table("material").select(columns).eq("status", "failed").order("updated_at", desc=True)
        return [
            FailedMaterial(row["material"], row["error"], row["updated_at"]) for row in answer(request.limit(limit))
        ]

    def counts(self) -> Mapping[str, int]:
        """Returns the number of materials of each status, and of `chunks`."""
        counts: Mapping[str, int] = call(self.client, "material_counts", {})
        return counts

    def upload_results(self, versions: Collection[tuple[str, str]]) -> Sequence[UploadResult]:
        """Returns the results of `(key, version id)` pairs, without those that are not processed yet."""
        wanted = [{"key": key, "version_id": version_id} for key, version_id in versions]
        return [UploadResult(**row) for row in call(self.client, "upload_results", {"p_versions": wanted})]

    def competing_keys(self) -> Sequence[tuple[str, str, str]]:
        """Returns `(material, key, owner's key)` of each key that waits for a material of another key."""
        return [(row["material"], row["key"], row["owner"]) for row in call(self.client, "competing_keys", {})]

    def indexed_materials(self, materials: Collection[str]) -> Mapping[str, IndexedMaterial]:
        """Returns the indexed chunks of these materials, without unknown materials."""
        found = call(self.client, "indexed_anchors", {"p_materials": sorted(materials)})
        return {material: IndexedMaterial(tuple(map(_indexed, chunks))) for material, chunks in found.items()}

    def objects(self, after: str, *, limit: int, young_seconds: float = 0) -> Sequence[RecordedObject]:
        """Returns the known keys after `after`, deleted ones included, in the order of their bytes.

        A key that changed in the last `young_seconds` is `young`.
        """
        arguments = {"p_after": after, "p_limit": limit, "p_analyzer": ANALYZER, "p_settling": young_seconds}
        rows = call(self.client, "recorded_objects", arguments)
        return [RecordedObject(**row) for row in rows]

    def page_count(self) -> int:
        """Returns the number of known pages, without deleted ones."""
        return int(call(self.client, "recorded_pages", {}))

    def broken_materials(self, after: str, *, limit: int) -> tuple[Sequence[tuple[str, str]], str | None]:
        """Checks `limit` materials after `after`. Returns `(material, problem)` of broken ones, and the cursor."""
        page = call(self.client, "broken_materials", {"p_after": after, "p_limit": limit})
        return [(row["material"], row["why"]) for row in page["broken"]], page["next"]

    def repair(self, material: str) -> None:
        """Restores the postings of a material from its recorded words. Its reindexing restores the rest."""
        call(self.client, "repair_material", {"p_material": material})

    def delete_unused_readings(self, after: str, *, limit: int, dry_run: bool) -> tuple[int, str | None]:
        """Deletes those of `limit` readings after `after` that no page has. Returns their number, and the cursor."""
        page = call(self.client, "delete_unused_readings", {"p_after": after, "p_limit": limit, "p_dry_run": dry_run})
        return page["unused"], page["next"]

    def delete_unused_texts(self, after: str, *, limit: int, seconds: float, dry_run: bool) -> tuple[int, str | None]:
        """Deletes vectors, and answers of a language model, of texts that nothing has had for `seconds`.

        Looks at `limit` of them after `after`. Returns the number of deleted ones, and the cursor.
        """
        arguments = {"p_after": after, "p_limit": limit, "p_seconds": round(seconds), "p_dry_run": dry_run}
        page = call(self.client, "delete_unused_texts", arguments)
        return page["deleted"], page["next"]


def _indexed(row: Mapping[str, list[str] | str | None]) -> IndexedChunk:
    given = row["learns_given"]
    return IndexedChunk(
        anchor=str(row["anchor"]),
        learns=tuple(row["learns"] or ()),
        learns_given=None if given is None else tuple(given),
    )
