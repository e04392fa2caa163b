"""Compares what the records of Tables claim with what the search engine holds, row by row."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sakuin.errors import CircuitOpen, SakuinError
from sakuin.platform.reconciliation import ComparedPage, Difference
from sakuin.platform.supabase.client import Client, answer, call
from sakuin.tables.chunk_store import ChunkStore
from sakuin.tables.index_names import namespace
from sakuin.tables.nodes import RecordedRows
from sakuin.tables.postgres import TableIndex
from sakuin.tables.queues import TableQueues


@dataclass(frozen=True, slots=True)
class RecordedTable:
    """What the records of a Table say of its rows in the store: `stored` doc ids, and `coming` ones.

    `planned`: the walk of its present `generation` is over, so no other row can be wanted for it.
    """

    generation: int
    planned: bool
    stored: Collection[str]
    coming: Collection[str]


def lost_and_left_over(table: RecordedTable, rows: Mapping[str, int]) -> tuple[list[str], list[str]]:
    """The doc ids that the store has lost, and those that nobody wants, up to the Table's generation.

    Of a Table that is being walked nothing is left over: a wanted row may not be recorded yet.
    """
    lost = sorted(set(table.stored) - rows.keys())
    if not table.planned:
        return lost, []
    wanted = {*table.stored, *table.coming}
    return lost, sorted(doc_id for doc_id, made in rows.items() if doc_id not in wanted and made <= table.generation)


@dataclass(frozen=True, slots=True)
class ClaimedTable:
    """What the records claim of a Table, at a glance: `stored` rows in the store.

    `settled`: nobody has anything to do for it. `unbuilt`: a tool says ready, and what it says is not there.
    """

    project_id: str
    table_id: str
    stored: int
    settled: bool
    unbuilt: bool


@dataclass(frozen=True, slots=True)
class TableClaims:
    """What the records say that the store holds."""

    client: Client
    fingerprint: str

    def after(self, table_id: str | None, *, limit: int) -> Sequence[str]:
        """The ids of Tables after this one, in order."""
        query = self.client.table("context_table").select("id").order("id").limit(limit)
        rows = answer(query if table_id is None else query.gt("id", table_id))
        return [row["id"] for row in rows]

    def claimed(self, table_ids: Collection[str]) -> Sequence[ClaimedTable]:
        """What is claimed of these Tables, by id; one that is gone is left out. Many large ones are `Unavailable`."""
        rows = self._call("table_claims", p_fingerprint=self.fingerprint, p_tables=sorted(table_ids))
        return [ClaimedTable(**row) for row in rows]

    def raise_generation(self, table_id: str, generation: int) -> None:
        """Wants a Table anew after this generation; if it is there already, nothing happens."""
        self._call("raise_generation", p_table=table_id, p_generation=generation)

    def _call(self, function: str, **arguments: Any) -> Any:
        return call(self.client, function, arguments)


_LOST_A_REQUEST = 1_000


@dataclass(frozen=True, slots=True)
class RowComparison:
    """What differs: ids of chunks that the store `lost`, doc ids that are `left_over`, its `newest` generation."""

    recorded: RecordedRows
    lost: Sequence[str]
    left_over: Sequence[str]
    newest: int

    @property
    def is_behind(self) -> bool:
        """Whether the records are older than the store: then no write of theirs would pass."""
        return self.recorded.planned and self.newest > self.recorded.generation


def compare_rows(store: ChunkStore, index: TableIndex, name: str, table_id: str) -> RowComparison | None:
    """Compares row by row and changes nothing; None when the Table is gone."""
    # The records first: what is stored meanwhile is in the store, and not among them.
    recorded = index.recorded_rows(table_id)
    if recorded is None:
        return None
    rows = store.ids(name)
    table = RecordedTable(recorded.generation, recorded.planned, recorded.stored.keys(), recorded.coming)
    lost, left_over = lost_and_left_over(table, rows)
    newest = max(rows.values(), default=0)
    if newest > recorded.generation:
        # A change that came meanwhile is no backup.
        now = index.recorded_rows(table_id)
        newest = newest if now is not None and now.generation < newest else recorded.generation
    return RowComparison(recorded, [recorded.stored[doc_id] for doc_id in lost], left_over, newest)


def repair_rows(rows: RowComparison, store: ChunkStore, index: TableIndex, name: str, table_id: str) -> None:
    """Wants again what was lost, and takes out what is left over, but for what a newer generation wrote."""
    for at in range(0, len(rows.lost), _LOST_A_REQUEST):
        index.mark_missing(table_id, rows.lost[at : at + _LOST_A_REQUEST])
    if rows.left_over:
        store.delete(name, rows.left_over, generation=rows.recorded.generation)


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

    def page(self, after: str | None, *, dry_run: bool, is_over: Callable[[], bool]) -> ComparedPage:
        """Some Tables by id, each row of theirs compared."""
        found: list[Difference] = []
        looked: list[str] = []
        ids = self.claims.after(after, limit=_TABLES_A_PAGE)
        # One at least: else a walk would stand still.
        self._each(ids, partial(self._looked, dry_run=dry_run), lambda: bool(looked) and is_over(), found, looked)
        is_end = len(looked) == len(ids) < _TABLES_A_PAGE
        return ComparedPage(found, None if is_end else looked[-1])

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
        rows = compare_rows(self.store, self.index, name, table_id)
        if rows is None:
            return []
        if not dry_run:
            repair_rows(rows, self.store, self.index, name, table_id)
            if rows.is_behind:
                self.claims.raise_generation(table_id, rows.newest + 1)
            if rows.lost or rows.is_behind:
                self.queues.index(table.project_id, table_id)
        return _differences(table, rows)

    def _name(self, table: ClaimedTable) -> str:
        return namespace(table.project_id, table.table_id, self.suffix())


def _failed(table_id: str, error: SakuinError) -> Difference:
    said = f"It could not be compared: {str(error).removesuffix('.')}."
    return Difference("failed", table_id, said, "nothing yet: it is looked at again in its turn")


def _differences(table: ClaimedTable, rows: RowComparison) -> list[Difference]:
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
