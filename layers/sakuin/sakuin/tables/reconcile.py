"""What brings an index over Tables back: comparisons of its records with the rows of the store, and restarts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sakuin.differences import ComparedPage, Difference
from sakuin.errors import CircuitOpen, OutOfTime, SakuinError, Unavailable
from sakuin.platform.retry import MAX_FAILURES
from sakuin.platform.run_all import run_all
from sakuin.tables.messages import TableQueues
from sakuin.tables.nodes import RecordedRows, UnindexedTable, namespace
from sakuin.tables.postgres import TableIndex

if TYPE_CHECKING:
    # Only workers that ask the store load its SDK.
    from sakuin.tables.turbopuffer import ChunkStore

_CHUNKS_A_REQUEST = 1_000
_TABLES_A_PAGE = 20
# An event arrives within a second, or with the maintenance of the next minute. After two minutes it is lost.
SECONDS_WITHOUT_BACKLOG = 120

# With a backlog, the message of the Table may be in the queue; another scan would only make the queue longer.
SECONDS_WITH_BACKLOG = 900


@dataclass(frozen=True, slots=True)
class RowComparison:
    """The differences: ids of chunks `missing` in the store, doc ids of `orphaned` rows, its `newest` generation."""

    recorded: RecordedRows
    missing: Sequence[str]
    orphaned: Sequence[str]
    newest: int

    @property
    def is_behind(self) -> bool:
        """Returns whether the records are older than the store, which would reject all their writes."""
        return self.recorded.planned and self.newest > self.recorded.generation


def missing_and_orphaned(recorded: RecordedRows, rows: Mapping[str, int]) -> tuple[list[str], list[str]]:
    """Returns the doc ids that the store has lost, and those that nothing wants, up to the recorded generation.

    Before a scan is finished, no row is orphaned: a wanted row may not be recorded yet.
    """
    missing = sorted(recorded.stored.keys() - rows.keys())
    if not recorded.planned:
        return missing, []
    doc_ids = {*recorded.stored, *recorded.coming}
    orphaned = (doc_id for doc_id, made in rows.items() if doc_id not in doc_ids and made <= recorded.generation)
    return missing, sorted(orphaned)


def compare_rows(store: "ChunkStore", index: TableIndex, name: str, table_id: str) -> RowComparison | None:
    """Compares all rows and changes nothing. Returns None if the Table was deleted, or the store still indexes it.

    A store that indexes does not show its newest rows, which would seem to be lost.
    """
    # Reads the records first: rows that are stored meanwhile are in the store, and not missing.
    recorded = index.recorded_rows(table_id)
    if recorded is None or not store.is_indexed(name):
        return None
    rows = store.ids(name)
    missing, orphaned = missing_and_orphaned(recorded, rows)
    newest = max(rows.values(), default=0)
    if newest > recorded.generation:
        # Either the records come from a backup, or the Table has just changed.
        now = index.recorded_rows(table_id)
        newest = newest if now is not None and now.generation < newest else recorded.generation
    return RowComparison(recorded, [recorded.stored[doc_id] for doc_id in missing], orphaned, newest)


def repair_rows(rows: RowComparison, store: "ChunkStore", index: TableIndex, name: str, table_id: str) -> None:
    """Marks missing chunks, and deletes orphaned rows, except those of a newer generation."""
    for at in range(0, len(rows.missing), _CHUNKS_A_REQUEST):
        index.mark_missing(table_id, rows.missing[at : at + _CHUNKS_A_REQUEST])
    if rows.orphaned:
        store.delete(name, rows.orphaned, generation=rows.recorded.generation)


def complete_indexed(store: "ChunkStore", index: TableIndex, table: UnindexedTable | None) -> bool:
    """Completes a Table if the store has indexed it. Returns whether it is complete.

    While the store still indexes it, or does not answer, `maintain` asks again each minute.
    """
    if table is None:
        return False
    try:
        return store.is_indexed(table.namespace) and index.mark_indexed(table)
    except (Unavailable, OutOfTime):
        return False


@dataclass(frozen=True, slots=True)
class KeptIndex:
    """The index over Tables of a kept index version, the queues of its work, and the suffix of its namespaces."""

    index: TableIndex
    queues: TableQueues
    suffix: str


@dataclass(frozen=True, slots=True)
class ReconcileTables:
    """Finds missing and orphaned rows of all kept index versions.

    It skips Tables whose scan is not finished, or that the store still indexes.
    """

    store: "ChunkStore"
    indexes: Sequence[KeptIndex]

    def page(self, after: str | None, *, dry_run: bool, is_over: Callable[[], bool]) -> ComparedPage:
        """Compares Tables by id until the page ends or `is_over`; at least one, so that each call makes progress.

        A Table that fails, or takes all the time, is a difference. `CircuitOpen` is raised, since it fails all Tables.
        """
        differences: list[Difference] = []
        tables = self.indexes[0].index.tables_after(after, limit=_TABLES_A_PAGE)
        for number, (project_id, table_id) in enumerate(tables):
            if number and is_over():
                return ComparedPage(differences, tables[number - 1][1])
            try:
                for index in self.indexes:
                    differences += self._differences(index, project_id, table_id, dry_run=dry_run)
            except CircuitOpen:
                raise
            except SakuinError as error:
                if number and isinstance(error, OutOfTime):
                    # The next page begins with it.
                    return ComparedPage(differences, tables[number - 1][1])
                message = f"It could not be compared: {str(error).removesuffix('.')}."
                differences.append(Difference("failed", table_id, message, "nothing yet: it is compared again"))
        return ComparedPage(differences, tables[-1][1] if len(tables) == _TABLES_A_PAGE else None)

    def _differences(self, kept: KeptIndex, project_id: str, table_id: str, *, dry_run: bool) -> list[Difference]:
        name = namespace(project_id, table_id, kept.suffix)
        rows = compare_rows(self.store, kept.index, name, table_id)
        if rows is not None and rows.recorded.unscanned:
            if not dry_run:
                kept.queues.index(project_id, table_id)
            return [Difference("lost", table_id, "The records of its index are missing.", "the table is scanned")]
        if rows is None or not rows.recorded.planned:
            return []
        if not dry_run:
            repair_rows(rows, self.store, kept.index, name, table_id)
            if rows.is_behind:
                kept.index.raise_generation(table_id, rows.newest + 1)
            if rows.missing or rows.is_behind:
                kept.queues.index(project_id, table_id)
        return _differences_of_rows(table_id, rows)


@dataclass(frozen=True, slots=True)
class RestartTables:
    """Starts the indexing of stalled Tables: incomplete ones without progress.

    `indexes` are the kept index versions, by fingerprint. `has_backlog` returns whether the queues of Tables have
    messages, waiting or in progress.
    """

    indexes: Callable[[], Mapping[str, TableIndex]]
    queues_of: Callable[[str], TableQueues]
    has_backlog: Callable[[], bool]

    def __call__(self) -> int:
        """Starts stalled Tables and returns their number. Records an error on those that keep stalling."""
        return sum(run_all(self.indexes().items(), lambda each: self._restart(*each)))

    def _restart(self, fingerprint: str, index: TableIndex) -> int:
        if not index.stalled_tables(SECONDS_WITHOUT_BACKLOG):
            return 0
        seconds = SECONDS_WITH_BACKLOG if self.has_backlog() else SECONDS_WITHOUT_BACKLOG
        restarted = 0
        for project_id, table_id in index.stalled_tables(seconds):
            attempts = index.record_start(table_id, seconds=seconds)
            if attempts is not None and attempts <= MAX_FAILURES:
                self.queues_of(fingerprint).index(project_id, table_id)
                restarted += 1
            elif attempts is not None:
                index.give_up(table_id, f"Its indexing was started {MAX_FAILURES} times and stalled each time")
        return restarted


def _differences_of_rows(table_id: str, rows: RowComparison) -> list[Difference]:
    differences = []
    if rows.missing:
        message = f"The store does not have {len(rows.missing)} of {len(rows.recorded.stored)} recorded chunks."
        differences.append(Difference("lost", table_id, message, "they are stored again"))
    if rows.orphaned:
        message = f"The store has {len(rows.orphaned)} rows that no record needs."
        differences.append(Difference("left over", table_id, message, "they are removed"))
    if rows.is_behind:
        message = f"The store has rows of generation {rows.newest}, the records are at {rows.recorded.generation}."
        repair = "the generation is raised, and the table is scanned again"
        differences.append(Difference("behind", table_id, message, repair))
    return differences
