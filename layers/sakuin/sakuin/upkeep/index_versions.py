"""The index versions that a deployment keeps, and which of them answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sakuin.errors import Conflict
from sakuin.knowledge.postgres import fingerprint_row
from sakuin.platform.supabase.client import Client, call
from sakuin.retrieval.index_version import BuiltPart, IndexVersion, IndexVersionState, StoredIndexVersion, find_version


@dataclass(frozen=True, slots=True)
class IndexVersions:
    """The indexes that a deployment keeps. Each call is one transaction."""

    client: Client

    def kept(self) -> Sequence[StoredIndexVersion]:
        """All of them, the oldest first; none before the first is recorded."""
        return [
            StoredIndexVersion(
                settings=IndexVersion.from_json(row["parts"]),
                live=row["live"],
                answered=row["answered"],
                tables=row["tables"],
                suffix=row["suffix"],
            )
            for row in call(self.client, "index_versions", {})
        ]

    def keep(self, settings: IndexVersion) -> None:
        """Records an index: from now on every change is written to it too. The first answers at once; twice is once."""
        tables = settings.tables
        row = {
            "fingerprint": settings.id,
            "parts": settings.as_json(),
            "knowledge": fingerprint_row(settings.pages),
            "tables": tables.id,
            "table_space": tables.space,
        }
        call(self.client, "record_index_version", {"p_index": row})

    def states(self) -> Sequence[IndexVersionState]:
        """How far each is built, the oldest first."""
        return [_state(row) for row in call(self.client, "index_version_states", {})]

    def flip(self, fingerprint: str, *, force: bool = False) -> IndexVersionState:
        """Lets this one answer, and keeps the one that did; of the one that answers it changes nothing.

        One that is not whole is `Conflict` unless forced, one that is not kept `NotFound`.
        """
        return _state(call(self.client, "activate_index_version", {"p_fingerprint": fingerprint, "p_force": force}))

    def drop(self, fingerprint: str, *, seconds: int) -> None:
        """Writes to it no more. The live one, and one that answered so lately, is `Conflict`."""
        call(self.client, "delete_index_version", {"p_fingerprint": fingerprint, "p_seconds": seconds})

    def pages_to_build(self, recipe: str, *, seconds: int, limit: int) -> Sequence[str]:
        """Materials that an index with this recipe is not whole for, and that were not given out for so long."""
        asked = {"p_text_template": recipe, "p_seconds": seconds, "p_limit": limit}
        return list(call(self.client, "claim_pages_to_build", asked))

    def tables_to_build(self, tables: str, *, seconds: int, limit: int) -> Sequence[tuple[str, str]]:
        """`(project, table)` that this part over Tables was never asked for, or that were given up so long ago.

        With those that are under way at most `limit`; none of the live one.
        """
        asked = {"p_fingerprint": tables, "p_seconds": seconds, "p_limit": limit}
        return [(row["project_id"], row["table_id"]) for row in call(self.client, "claim_tables_to_build", asked)]

    def refresh(self, *, seconds: int) -> int:
        """Makes what tools say true of the live index, for so long at most; says of how many Tables."""
        return int(call(self.client, "refresh_tool_status", {"p_seconds": seconds}))

    def sweep(self, *, limit: int) -> int:
        """Removes vectors that no kept index compares, so many of a kind at most; says how many went."""
        return int(call(self.client, "sweep_vectors", {"p_limit": limit}))


def _state(row: Mapping[str, Any]) -> IndexVersionState:
    pages, tables = row["pages"], row["tables"]
    return IndexVersionState(
        settings=IndexVersion.from_json(row["parts"]),
        live=row["live"],
        created_at=row["created_at"],
        live_since=row["live_since"],
        retired_at=row["retired_at"],
        pages=BuiltPart(pages["total"], pages["missing"], tuple((name, "is not built yet") for name in pages["named"])),
        tables=BuiltPart(
            tables["total"], tables["missing"], tuple((each["table_id"], each["reason"]) for each in tables["named"])
        ),
    )


# A worker may still ask the index that it knew, for seconds.
_SECONDS_AFTER_A_FLIP = 60


@dataclass(frozen=True, slots=True)
class IndexVersionAdmin:
    """`is_deployed` says whether an index is what the present settings make: it would be built again."""

    indexes: IndexVersions
    is_deployed: Callable[[IndexVersion], bool]

    def states(self) -> Sequence[IndexVersionState]:
        """How far each is built, the oldest first."""
        return self.indexes.states()

    def flip(self, name: str, *, force: bool = False) -> IndexVersionState:
        """Lets the named index answer."""
        return self.indexes.flip(find_version(self.indexes.kept(), name).settings.id, force=force)

    def drop(self, name: str) -> str:
        """Gives the named index up; gives its fingerprint."""
        found = find_version(self.indexes.kept(), name)
        fingerprint = found.settings.id
        if self.is_deployed(found.settings) and not found.live:
            raise Conflict(f"{fingerprint} is what the deployed settings make. Deploy other settings first")
        self.indexes.drop(fingerprint, seconds=_SECONDS_AFTER_A_FLIP)
        return fingerprint
