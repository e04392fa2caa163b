"""The indexes that a deployment keeps, in Supabase."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from postgrest import SyncPostgrestClient as Client

from sakuin.adapters.supabase_client import call
from sakuin.adapters.supabase_index import fingerprint_row
from sakuin.domain.index_settings import IndexSettings, KeptIndex
from sakuin.domain.index_state import BuiltPart, IndexState


@dataclass(frozen=True, slots=True)
class SupabaseIndexes:
    """`Indexes`."""

    client: Client

    def kept(self) -> Sequence[KeptIndex]:
        return [
            KeptIndex(
                settings=IndexSettings.of(row["parts"]),
                live=row["live"],
                answered=row["answered"],
                tables=row["tables"],
                suffix=row["suffix"],
            )
            for row in call(self.client, "kept_indexes", {})
        ]

    def keep(self, settings: IndexSettings) -> None:
        # Not every function that reads what is kept has the chunker's layer.
        from sakuin.domain.table_index import tables_of

        tables = tables_of(settings)
        row = {
            "fingerprint": settings.id,
            "parts": settings.as_json(),
            "knowledge": fingerprint_row(settings.knowledge),
            "tables": tables.id,
            "table_space": tables.space,
        }
        call(self.client, "keep_index", {"p_index": row})

    def states(self) -> Sequence[IndexState]:
        return [_state(row) for row in call(self.client, "index_states", {})]

    def flip(self, fingerprint: str, *, force: bool = False) -> IndexState:
        return _state(call(self.client, "flip_index", {"p_fingerprint": fingerprint, "p_force": force}))

    def drop(self, fingerprint: str, *, seconds: int) -> None:
        call(self.client, "drop_index", {"p_fingerprint": fingerprint, "p_seconds": seconds})

    def pages_to_build(self, recipe: str, *, seconds: int, limit: int) -> Sequence[str]:
        asked = {"p_recipe": recipe, "p_seconds": seconds, "p_limit": limit}
        return list(call(self.client, "pages_to_build", asked))

    def tables_to_build(self, tables: str, *, seconds: int, limit: int) -> Sequence[tuple[str, str]]:
        asked = {"p_fingerprint": tables, "p_seconds": seconds, "p_limit": limit}
        return [(row["project_id"], row["table_id"]) for row in call(self.client, "tables_to_build", asked)]

    def refresh(self, *, seconds: int) -> int:
        return int(call(self.client, "refresh_tools", {"p_seconds": seconds}))

    def sweep(self, *, limit: int) -> int:
        return int(call(self.client, "sweep_vectors", {"p_limit": limit}))


def _state(row: Mapping[str, Any]) -> IndexState:
    pages, tables = row["pages"], row["tables"]
    return IndexState(
        settings=IndexSettings.of(row["parts"]),
        live=row["live"],
        created_at=row["created_at"],
        live_since=row["live_since"],
        retired_at=row["retired_at"],
        pages=BuiltPart(pages["total"], pages["missing"], tuple((name, "is not built yet") for name in pages["named"])),
        tables=BuiltPart(
            tables["total"], tables["missing"], tuple((each["table_id"], each["reason"]) for each in tables["named"])
        ),
    )
