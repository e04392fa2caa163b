"""What the records of Tables claim against what the search engine holds: counts often, ids at night."""

from collections.abc import Callable
from dataclasses import dataclass

from sakuin.domain.reconciliation import Difference
from sakuin.domain.search_index_names import namespace
from sakuin.ports.chunk_store import ChunkStore
from sakuin.ports.reconciliation import ClaimedTable, TableClaims
from sakuin.ports.tables import TableIndex, TableQueues
from sakuin.services.compare_store import Compared, compared, repaired
from sakuin.services.reconcile_materials import Walked

_TABLES_A_PAGE = 20
_ASKED = "the table is walked again"


@dataclass(frozen=True, slots=True)
class ReconcileTables:
    """Finds chunks that the store lost, and rows that nobody wants; a Table that somebody works on is left alone."""

    claims: TableClaims
    index: TableIndex
    store: ChunkStore
    queues: TableQueues
    suffix: Callable[[], str]

    def counted(self, *, limit: int, is_over: Callable[[], bool]) -> list[Difference]:
        """Looks at the Tables that were checked least recently: by count, and closer where that differs."""
        found: list[Difference] = []
        looked: list[str] = []
        for table in self.claims.to_check(limit=limit):
            if is_over():
                break
            if table.unbuilt or (table.settled and self.store.count(self._name(table)) != table.stored):
                found += self._looked(table, dry_run=False)
            looked.append(table.table_id)
        if looked:
            self.claims.checked(looked)
        return found

    def page(self, after: str | None, *, dry_run: bool, is_over: Callable[[], bool]) -> Walked:
        """Some Tables by id, each row of theirs compared."""
        found: list[Difference] = []
        tables = self.claims.to_check(limit=_TABLES_A_PAGE, after=after, whole=True)
        looked: list[str] = []
        for table in tables:
            found += self._looked(table, dry_run=dry_run)
            looked.append(table.table_id)
            if is_over():
                break
        if looked and not dry_run:
            self.claims.checked(looked)
        is_end = len(looked) == len(tables) < _TABLES_A_PAGE
        return Walked(found, None if is_end else looked[-1])

    def _looked(self, table: ClaimedTable, *, dry_run: bool) -> list[Difference]:
        if table.unbuilt:
            # What is left over shows when it is built again: its rows keep their ids.
            if not dry_run:
                self.queues.index(table.project_id, table.table_id)
            return [Difference("unbuilt", table.table_id, "A tool says ready, and its records are not there.", _ASKED)]
        if not table.settled:
            return []
        name, table_id = self._name(table), table.table_id
        rows = compared(self.store, self.index, name, table_id)
        if rows is None:
            return []
        if not dry_run:
            repaired(rows, self.store, self.index, name, table_id)
            if rows.is_behind:
                self.claims.catch_up(table_id, rows.newest + 1)
            if rows.lost or rows.is_behind:
                self.queues.index(table.project_id, table_id)
        return _differences(table, rows)

    def _name(self, table: ClaimedTable) -> str:
        return namespace(table.project_id, table.table_id, self.suffix())


def _differences(table: ClaimedTable, rows: Compared) -> list[Difference]:
    where, found = table.table_id, []
    if rows.lost:
        message = f"The store does not have {len(rows.lost)} of {len(rows.recorded.stored)} recorded chunks."
        found.append(Difference("lost", where, message, "they are stored again"))
    if rows.left_over:
        message = f"The store has {len(rows.left_over)} rows that nobody wants."
        found.append(Difference("left over", where, message, "they are removed"))
    if rows.is_behind:
        message = f"The store has rows of generation {rows.newest}, the records are at {rows.recorded.generation}."
        found.append(Difference("behind", where, message, f"the records count on from there, and {_ASKED}"))
    return found
