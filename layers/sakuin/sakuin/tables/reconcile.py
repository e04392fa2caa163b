"""What brings an index over Tables back: comparisons of its records with the rows of the store, and restarts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sakuin.errors import CircuitOpen, Invalid, OutOfTime, SakuinError, Unavailable
from sakuin.platform.reconciliation import ComparedPage, Difference
from sakuin.platform.retry import MAX_FAILURES
from sakuin.platform.run_all import run_all
from sakuin.platform.supabase.client import Client
from sakuin.retrieval.index_version import StoredIndexVersion
from sakuin.tables.messages import TableQueues
from sakuin.tables.nodes import RecordedRows, TableSummary, UnindexedTable, namespace
from sakuin.tables.postgres import TableIndex
from sakuin.texts.catalogue import coded

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
class ReconcileTables:
    """Finds missing and orphaned rows. It skips Tables that need work anyway, or that the store still indexes.

    It does so in one index version. Tools show the state of the live one, so only this one can be `unbuilt`.
    """

    index: TableIndex
    store: "ChunkStore"
    queues: TableQueues
    suffix: str
    live: bool = True

    def page(self, after: str | None, *, dry_run: bool, is_over: Callable[[], bool]) -> ComparedPage:
        """Compares Tables by id until the page ends or `is_over`; at least one, so that each call makes progress.

        A Table that fails is a difference. `CircuitOpen` and `OutOfTime` are raised, since they fail all Tables.
        """
        found: list[Difference] = []
        ids = self.index.ids_after(after, limit=_TABLES_A_PAGE)
        compared = 0
        for table_id, summary in self._summaries(ids, found):
            if compared and is_over():
                break
            try:
                found += self._differences(summary, dry_run=dry_run) if summary else []
            except (CircuitOpen, OutOfTime):
                raise
            except SakuinError as error:
                found.append(_failed(table_id, error))
            compared += 1
        is_end = compared == len(ids) < _TABLES_A_PAGE
        return ComparedPage(found, None if is_end else ids[compared - 1])

    def _summaries(self, ids: Sequence[str], found: list[Difference]) -> Iterator[tuple[str, TableSummary | None]]:
        """Yields the summary of each Table, None without one. Reads all at once, or each by itself if that fails."""
        try:
            summaries = {summary.table_id: summary for summary in self.index.summaries(ids)} if ids else {}
        except CircuitOpen:
            raise
        except SakuinError as error:
            if len(ids) > 1:
                # Large Tables together may exceed the time limit of a query.
                for table_id in ids:
                    yield from self._summaries([table_id], found)
                return
            found.append(_failed(ids[0], error))
            summaries = {}
        for table_id in ids:
            yield table_id, summaries.get(table_id)

    def _differences(self, table: TableSummary, *, dry_run: bool) -> list[Difference]:
        table_id = table.table_id
        if table.unbuilt and self.live:
            # The scan restores the doc ids, so that the next comparison finds orphaned rows.
            if not dry_run:
                self.queues.index(table.project_id, table_id)
            return [Difference("unbuilt", table_id, coded("night.no_records"), coded("night.scan"))]
        if not table.idle:
            return []
        name = namespace(table.project_id, table_id, self.suffix)
        rows = compare_rows(self.store, self.index, name, table_id)
        if rows is None:
            return []
        if not dry_run:
            repair_rows(rows, self.store, self.index, name, table_id)
            if rows.is_behind:
                self.index.raise_generation(table_id, rows.newest + 1)
            if rows.missing or rows.is_behind:
                self.queues.index(table.project_id, table_id)
        return _differences_of_rows(table_id, rows)


@dataclass(frozen=True, slots=True)
class ReconcileVersions:
    """Compares the Tables of one index version after the other."""

    versions: Sequence[ReconcileTables]

    @classmethod
    def of(
        cls, client: Client, store: "ChunkStore", queues: TableQueues, versions: Sequence[StoredIndexVersion]
    ) -> "ReconcileVersions":
        """Returns the comparison of these versions in their order; no two have the same index over Tables."""
        return cls(
            [
                ReconcileTables(
                    TableIndex(client, each.settings.tables),
                    store,
                    replace(queues, index_version=each.tables),
                    each.suffix,
                    each.live,
                )
                for each in versions
            ]
        )

    def page(self, after: str | None, *, dry_run: bool, is_over: Callable[[], bool]) -> ComparedPage:
        """Compares a page of Tables of one version. `after` is the number of the version, a colon, and a Table's id."""
        number, _, table_id = (after or "").rpartition(":")
        if number and not number.isdecimal():
            raise Invalid(f"Unknown place {after!r}. Use the `next` of the page before.")
        at = int(number or 0)
        if at >= len(self.versions):
            # A version was dropped since the page before.
            return ComparedPage([], None)
        page = self.versions[at].page(table_id or None, dry_run=dry_run, is_over=is_over)
        if page.after is not None:
            return ComparedPage(page.differences, f"{at}:{page.after}")
        is_last = at + 1 == len(self.versions)
        return ComparedPage(page.differences, None if is_last else f"{at + 1}:")


@dataclass(frozen=True, slots=True)
class RestartTables:
    """Starts the indexing of stalled Tables: incomplete ones, without unfinished work that could complete them.

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


def _failed(table_id: str, error: SakuinError) -> Difference:
    said = coded("night.not_compared", reason=str(error).removesuffix("."))
    return Difference("failed", table_id, said, coded("night.later"))


def _differences_of_rows(table_id: str, rows: RowComparison) -> list[Difference]:
    differences = []
    if rows.missing:
        said = coded("night.lost", missing=len(rows.missing), all=len(rows.recorded.stored))
        differences.append(Difference("lost", table_id, said, coded("night.stored_again")))
    if rows.orphaned:
        said = coded("night.left_over", count=len(rows.orphaned))
        differences.append(Difference("left over", table_id, said, coded("night.removed")))
    if rows.is_behind:
        said = coded("night.behind", newest=str(rows.newest), recorded=str(rows.recorded.generation))
        differences.append(Difference("behind", table_id, said, coded("night.raised", scan=coded("night.scan"))))
    return differences
