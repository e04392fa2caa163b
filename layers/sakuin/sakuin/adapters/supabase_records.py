"""The records of materials in Supabase, as people read them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from postgrest import SyncPostgrestClient as Client

from sakuin.adapters.supabase_client import answer, call
from sakuin.adapters.supabase_index import material_state
from sakuin.domain.material_version import Receipt
from sakuin.domain.validation import IndexedChunk, IndexedMaterial
from sakuin.ports.materials import MaterialPage


@dataclass(frozen=True, slots=True)
class SupabaseRecords:
    """A `MaterialRecords`."""

    client: Client

    def materials(self, *, prefix: str = "", after: str | None = None, limit: int = 200) -> MaterialPage:
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
        counts: Mapping[str, int] = call(self.client, "material_counts", {})
        return counts

    def receipts(self, versions: Collection[tuple[str, str]]) -> Sequence[Receipt]:
        wanted = [{"key": key, "version_id": version_id} for key, version_id in versions]
        return [Receipt(**row) for row in call(self.client, "receipts_of", {"p_versions": wanted})]

    def waiting(self) -> Sequence[tuple[str, str, str]]:
        return [(row["material"], row["key"], row["owner"]) for row in call(self.client, "waiting_sources", {})]

    def indexed(self, materials: Collection[str]) -> Mapping[str, IndexedMaterial]:
        found = call(self.client, "indexed_anchors", {"p_materials": sorted(materials)})
        return {material: IndexedMaterial(tuple(map(_indexed, chunks))) for material, chunks in found.items()}


def _indexed(row: Mapping[str, list[str] | str | None]) -> IndexedChunk:
    given = row["learns_given"]
    return IndexedChunk(
        anchor=str(row["anchor"]),
        learns=tuple(row["learns"] or ()),
        learns_given=None if given is None else tuple(given),
    )
