"""The bodies that Tables left behind, in Supabase."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from postgrest import SyncPostgrestClient as Client

from sakuin.adapters.supabase_client import call
from sakuin.ports.projects import LeftFolder


@dataclass(frozen=True, slots=True)
class SupabaseLeftBodies:
    """`LeftBodies`."""

    client: Client

    def due(self, *, of_the_gone: timedelta, left: timedelta, limit: int) -> Sequence[LeftFolder]:
        seconds = {"p_gone": int(of_the_gone.total_seconds()), "p_left": int(left.total_seconds())}
        rows = call(self.client, "left_bodies", {**seconds, "p_limit": limit})
        return [LeftFolder(**row) for row in rows]

    def removed(self, folder: LeftFolder, *, again: bool) -> None:
        said = {"p_folder": folder.folder, "p_keep": folder.keep, "p_again": again}
        call(self.client, "bodies_removed", said)
