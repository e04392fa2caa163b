"""What is held against bucket and store, in Supabase."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from postgrest import SyncPostgrestClient as Client

from sakuin.adapters.supabase_client import answer, call
from sakuin.domain.recipe import ANALYZER
from sakuin.domain.reconciliation import RecordedObject
from sakuin.ports.reconciliation import ClaimedTable, Turn


@dataclass(frozen=True, slots=True)
class SupabaseWalks:
    """`Walks`."""

    client: Client

    def take(self, name: str, *, seconds: int, begin: bool = False) -> Turn | None:
        row = call(self.client, "take_walk", {"p_walk": name, "p_seconds": seconds, "p_begin": begin})
        return Turn(row["after"]) if row else None

    def keep(self, name: str, after: str | None) -> None:
        call(self.client, "keep_walk", {"p_walk": name, "p_after": after})

    def leave(self, name: str, after: str | None) -> None:
        call(self.client, "leave_walk", {"p_walk": name, "p_after": after})


@dataclass(frozen=True, slots=True)
class SupabaseLibraryRecords:
    """`LibraryRecords`."""

    client: Client

    def objects(self, after: str, *, limit: int, settling: float = 0) -> Sequence[RecordedObject]:
        arguments = {"p_after": after, "p_limit": limit, "p_analyzer": ANALYZER, "p_settling": settling}
        rows = call(self.client, "recorded_objects", arguments)
        return [RecordedObject(**row) for row in rows]

    def pages(self) -> int:
        return int(call(self.client, "recorded_pages", {}))

    def broken(self, after: str, *, limit: int) -> tuple[Sequence[tuple[str, str]], str | None]:
        said = call(self.client, "broken_materials", {"p_after": after, "p_limit": limit})
        return [(row["material"], row["why"]) for row in said["broken"]], said["next"]

    def provisional(self, after: str, *, limit: int) -> tuple[Sequence[str], str | None]:
        said = call(self.client, "provisional_materials", {"p_after": after, "p_limit": limit})
        return said["materials"], said["next"]

    def mend(self, material: str) -> None:
        call(self.client, "mend_material", {"p_material": material})

    def sweep_words(self, after: str, *, limit: int, dry_run: bool) -> tuple[int, str | None]:
        said = call(self.client, "sweep_readings", {"p_after": after, "p_limit": limit, "p_dry_run": dry_run})
        return said["unused"], said["next"]


@dataclass(frozen=True, slots=True)
class SupabaseTableClaims:
    """`TableClaims` of one fingerprint."""

    client: Client
    fingerprint: str

    def after(self, table_id: str | None, *, limit: int) -> Sequence[str]:
        query = self.client.table("context_table").select("id").order("id").limit(limit)
        rows = answer(query if table_id is None else query.gt("id", table_id))
        return [row["id"] for row in rows]

    def claimed(self, table_ids: Collection[str]) -> Sequence[ClaimedTable]:
        rows = self._call("tables_claimed", p_fingerprint=self.fingerprint, p_tables=sorted(table_ids))
        return [ClaimedTable(**row) for row in rows]

    def catch_up(self, table_id: str, generation: int) -> None:
        self._call("catch_up_table", p_table=table_id, p_generation=generation)

    def _call(self, function: str, **arguments: Any) -> Any:
        return call(self.client, function, arguments)
