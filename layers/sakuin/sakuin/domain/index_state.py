"""How far an index is built, and whether it answers."""

from dataclasses import dataclass

from sakuin.domain.index_settings import IndexSettings


@dataclass(frozen=True, slots=True)
class BuiltPart:
    """How far an index is built, of pages or of Tables: `missing` of `total`, and why, of the first ten by name."""

    total: int
    missing: int
    named: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class IndexState:
    """An index as its keepers see it; moments are ISO 8601. `live_since` None: it never answered."""

    settings: IndexSettings
    live: bool
    created_at: str
    live_since: str | None
    retired_at: str | None
    pages: BuiltPart
    tables: BuiltPart

    @property
    def is_whole(self) -> bool:
        """Whether it would answer as much as the live one does."""
        return not self.pages.missing and not self.tables.missing
