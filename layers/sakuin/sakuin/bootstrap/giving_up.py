"""How a worker gives a Table up in the indexes that it works on."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from sakuin.bootstrap.indexes import Kept, live_last

if TYPE_CHECKING:
    from postgrest import SyncPostgrestClient as Client


def giving_up_tables(client: "Client", kept: Kept) -> Callable[[str, str, str | None], None]:
    """Records why a Table is given up: in one index by its fingerprint, or in all of them."""
    from sakuin.adapters.supabase_tables import SupabaseTableIndex
    from sakuin.domain.table_index import tables_of
    from sakuin.services.give_up_table import GiveUpTable

    def give_up(table_id: str, reason: str, fingerprint: str | None) -> None:
        for each in live_last(kept):
            if fingerprint in (None, each.tables):
                GiveUpTable(SupabaseTableIndex(client, tables_of(each.settings)))(table_id, reason)

    return give_up
