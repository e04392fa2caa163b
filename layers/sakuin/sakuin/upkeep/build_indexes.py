"""Builds the index version of the deployed settings beside the one that answers."""

from collections.abc import Callable
from dataclasses import dataclass

from sakuin.knowledge.messages import MaterialQueue
from sakuin.retrieval.index_version import IndexVersion
from sakuin.tables.queues import TableQueues
from sakuin.upkeep.index_versions import IndexVersions

# A page that was asked for and is not there after so long is asked for again. Tables are started again.
_PATIENCE_SECONDS = 900

# What had to be given up may be possible by now.
_A_DAY = 86_400

_PAGES_A_RUN = 500

_TABLES_UNDER_WAY = 200

_VECTORS_A_RUN = 2_000

_REFRESH_SECONDS = 4


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What there was to do: how many pages and Tables were asked for, and vectors swept. `flipped` names an index."""

    pages: int
    tables: int
    swept: int
    flipped: str | None


@dataclass(frozen=True, slots=True)
class BuildIndexVersions:
    """Runs on a schedule; any number of times, beside anything. `queues` gives those of one fingerprint of Tables.

    `flips`: an index that never answered does as soon as it is whole.
    """

    indexes: IndexVersions
    own: IndexVersion
    pages: MaterialQueue
    queues: Callable[[str], TableQueues]
    flips: bool = False

    def __call__(self) -> BuildResult:
        """Asks for what is missing; what is asked for already, is waited for."""
        self.indexes.keep(self.own)
        pages = self.indexes.pages_to_build(self.own.text_template, seconds=_PATIENCE_SECONDS, limit=_PAGES_A_RUN)
        self.pages.reindex(pages, reason="an index is built")
        tables = sum(self._tables(each.tables) for each in self.indexes.kept() if not each.live)
        flipped = self._flipped() if self.flips else None
        self.indexes.refresh(seconds=_REFRESH_SECONDS)
        return BuildResult(len(pages), tables, self.indexes.sweep(limit=_VECTORS_A_RUN), flipped)

    def _tables(self, tables: str) -> int:
        asked = self.indexes.tables_to_build(tables, seconds=_A_DAY, limit=_TABLES_UNDER_WAY)
        queues = self.queues(tables)
        for project_id, table_id in asked:
            queues.index(project_id, table_id)
        return len(asked)

    def _flipped(self) -> str | None:
        for state in self.indexes.states():
            # One that answered before was left for a reason.
            if state.settings == self.own and state.live_since is None and state.is_whole:
                return self.indexes.flip(state.settings.id).settings.id
        return None
