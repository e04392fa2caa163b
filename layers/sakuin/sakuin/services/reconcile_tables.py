"""Compares what the records of Tables claim with what the search engine holds, row by row."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from sakuin.domain.reconciliation import Difference
from sakuin.domain.search_index_names import namespace
from sakuin.errors import CircuitOpen, SakuinError
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

    def page(self, after: str | None, *, dry_run: bool, is_over: Callable[[], bool]) -> Walked:
        """Some Tables by id, each row of theirs compared."""
        found: list[Difference] = []
        looked: list[str] = []
        ids = self.claims.after(after, limit=_TABLES_A_PAGE)
        # One at least: else a walk would stand still.
        self._each(ids, partial(self._looked, dry_run=dry_run), lambda: bool(looked) and is_over(), found, looked)
        is_end = len(looked) == len(ids) < _TABLES_A_PAGE
        return Walked(found, None if is_end else looked[-1])

    def _each(
        self,
        ids: Sequence[str],
        look: Callable[[ClaimedTable], list[Difference]],
        is_over: Callable[[], bool],
        found: list[Difference],
        looked: list[str],
    ) -> None:
        """Looks at one after the other, until it `is_over`; one that fails is a difference, and the others go on.

        A vendor that is not asked for a while fails all of them: that is no Table's fault.
        """
        for table_id, claim in self._claims(ids, found):
            if is_over():
                return
            try:
                found += look(claim) if claim else []
            except CircuitOpen:
                raise
            except SakuinError as error:
                found.append(_failed(table_id, error))
            looked.append(table_id)

    def _claims(self, ids: Sequence[str], found: list[Difference]) -> Iterator[tuple[str, ClaimedTable | None]]:
        """Each Table's claim, None where there is none: of all in one question, else one by one."""
        try:
            claims = {claim.table_id: claim for claim in self.claims.claimed(ids)} if ids else {}
        except CircuitOpen:
            raise
        except SakuinError as error:
            if len(ids) > 1:
                # Large ones among them may take all the time that a question has.
                for table_id in ids:
                    yield from self._claims([table_id], found)
                return
            found.append(_failed(ids[0], error))
            claims = {}
        for table_id in ids:
            yield table_id, claims.get(table_id)

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


def _failed(table_id: str, error: SakuinError) -> Difference:
    said = f"It could not be compared: {str(error).removesuffix('.')}."
    return Difference("failed", table_id, said, "nothing yet: it is looked at again in its turn")


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
