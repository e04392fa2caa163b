"""The materials in Postgres, for people and for reconciliation."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sakuin.knowledge.model import (
    MaterialPage,
    RecordedObject,
    UploadResult,
)
from sakuin.knowledge.postgres import material_state
from sakuin.knowledge.validation import IndexedChunk, IndexedMaterial
from sakuin.platform.supabase.client import Client, answer, call
from sakuin.retrieval.index_version import ANALYZER


@dataclass(frozen=True, slots=True)
class MaterialRecords:
    """What is indexed and what became of uploads, for people."""

    client: Client

    def materials(self, *, prefix: str = "", after: str | None = None, limit: int = 200) -> MaterialPage:
        """Materials by name, deleted ones left out."""
        request = self.client.table("material").select("*").neq("status", "deleted").order("material")
        if after is not None:
            request = request.gt("material", after)
        if prefix:
            # The last code point there is closes the range of everything that begins with the prefix.
            request = request.gte("material", prefix).lt("material", prefix + "\U0010ffff")
        states = [material_state(row) for row in answer(request.limit(limit + 1))]
        more = len(states) > limit
        return MaterialPage(states[:limit], states[limit - 1].material if more else None)

    def counts(self) -> Mapping[str, int]:
        """How many materials of each status, and `chunks`."""
        counts: Mapping[str, int] = call(self.client, "material_counts", {})
        return counts

    def upload_results(self, versions: Collection[tuple[str, str]]) -> Sequence[UploadResult]:
        """What became of `(key, version id)` pairs; those not worked on yet are left out."""
        wanted = [{"key": key, "version_id": version_id} for key, version_id in versions]
        return [UploadResult(**row) for row in call(self.client, "receipts_of", {"p_versions": wanted})]

    def competing_keys(self) -> Sequence[tuple[str, str, str]]:
        """`(material, key, owner's key)` of the keys that wait for a material which another key owns."""
        return [(row["material"], row["key"], row["owner"]) for row in call(self.client, "waiting_sources", {})]

    def indexed_materials(self, materials: Collection[str]) -> Mapping[str, IndexedMaterial]:
        """What the index says of these materials' anchors; those without a row are left out."""
        found = call(self.client, "indexed_anchors", {"p_materials": sorted(materials)})
        return {material: IndexedMaterial(tuple(map(_indexed, chunks))) for material, chunks in found.items()}

    def objects(self, after: str, *, limit: int, settling: float = 0) -> Sequence[RecordedObject]:
        """What is known of the keys after `after`, in the order of their bytes, deleted ones among them.

        Young is what changed in the last `settling` seconds.
        """
        arguments = {"p_after": after, "p_limit": limit, "p_analyzer": ANALYZER, "p_settling": settling}
        rows = call(self.client, "recorded_objects", arguments)
        return [RecordedObject(**row) for row in rows]

    def page_count(self) -> int:
        """How many keys of pages are known that were not deleted."""
        return int(call(self.client, "recorded_pages", {}))

    def broken_materials(self, after: str, *, limit: int) -> tuple[Sequence[tuple[str, str]], str | None]:
        """`(material, why)` of those, among `limit` after `after`, whose chunks and words do not fit; and the next."""
        said = call(self.client, "broken_materials", {"p_after": after, "p_limit": limit})
        return [(row["material"], row["why"]) for row in said["broken"]], said["next"]

    def provisional_materials(self, after: str, *, limit: int) -> tuple[Sequence[str], str | None]:
        """Those, among `limit` after `after`, whose `learns` wait for a language model and that nobody works on; and
        the next."""
        said = call(self.client, "provisional_materials", {"p_after": after, "p_limit": limit})
        return said["materials"], said["next"]

    def repair(self, material: str) -> None:
        """Finds a page by all its words again, as far as they are recorded; the rest is done by applying it again."""
        call(self.client, "mend_material", {"p_material": material})

    def delete_unused_readings(self, after: str, *, limit: int, dry_run: bool) -> tuple[int, str | None]:
        """Forgets those of `limit` readings after `after` that no page has any more; how many, and the next."""
        said = call(self.client, "sweep_readings", {"p_after": after, "p_limit": limit, "p_dry_run": dry_run})
        return said["unused"], said["next"]


def _indexed(row: Mapping[str, list[str] | str | None]) -> IndexedChunk:
    given = row["learns_given"]
    return IndexedChunk(
        anchor=str(row["anchor"]),
        learns=tuple(row["learns"] or ()),
        learns_given=None if given is None else tuple(given),
    )
