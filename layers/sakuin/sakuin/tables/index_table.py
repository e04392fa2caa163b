"""The scan of a Table, which finds new, changed and removed strings."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sakuin.errors import Invalid, NotFound, OverLimit, Unavailable
from sakuin.limits import Limits, check_limit
from sakuin.platform.s3 import S3Bucket
from sakuin.retrieval.index_version import TableCut
from sakuin.tables.chunking import chunks
from sakuin.tables.document import parsed_table
from sakuin.tables.entries import NO_ENTRIES, EntryRules
from sakuin.tables.json_pointer import is_within, pointer_hash
from sakuin.tables.messages import TableQueues
from sakuin.tables.model import SkippedNode
from sakuin.tables.nodes import NodeVersion, PublishedNode, Scan, namespace
from sakuin.tables.objects import attributes_of, surrounding_objects, titles_around
from sakuin.tables.postgres import TableIndex
from sakuin.tables.reconcile import compare_rows, complete_indexed, repair_rows
from sakuin.tables.scan import LargeString, count_strings, found_strings, large_strings, problem_of
from sakuin.tables.turbopuffer import ChunkStore
from sakuin.texts.catalogue import coded

# A page is one request to Postgres, and as many chunks in messages. One node may exceed it.
CHUNKS_A_PAGE = 1000
CHUNKS_A_MESSAGE = 32

# Postgres compares strings with the index in portions of a few megabytes, and no more than a page needs.
NODES_A_COMPARISON = 20_000

# Strings that a document no longer has are removed in portions, each far below the time limit of a statement.
NODES_A_DELETION = 1000
# A message deletes so many portions. Each may take a second or two, and its worker has ninety.
PORTIONS_A_MESSAGE = 20

# They are part of the status of every Tool; the first ones show what is wrong with the others.
_SKIPPED_SHOWN = 100


@dataclass(frozen=True, slots=True)
class ScanResult:
    """The result of one page of a scan. `planned` counts the chunks to embed."""

    outcome: str
    nodes: int = 0
    planned: int = 0


@dataclass(frozen=True, slots=True)
class IndexTable:
    """Scans the current document of a Table for one index version."""

    index: TableIndex
    bucket: S3Bucket
    store: ChunkStore
    queues: TableQueues
    cut: TableCut
    suffix: str = ""
    chunks_a_page: int = CHUNKS_A_PAGE
    nodes_a_deletion: int = NODES_A_DELETION
    portions_a_message: int = PORTIONS_A_MESSAGE
    nodes_a_comparison: int = NODES_A_COMPARISON
    limits: Limits = field(default_factory=Limits)

    def __call__(
        self, project_id: str, table_id: str, *, generation: int | None = None, skip: int = 0, for_event: bool = False
    ) -> ScanResult:
        """Scans one page after `skip` strings, and requests the next. Idempotent, also with several workers.

        `for_event`: the scan is skipped if another event of this generation already caused one.
        """
        scan = self.index.begin_scan(table_id, generation, skip=skip, for_event=for_event)
        if scan.decision == "gone":
            # Deletes only recorded namespaces: another deployment may use the same account.
            for name in self.index.orphaned_namespaces(table_id):
                self.store.delete_namespace(name)
        if scan.decision != "scan":
            return ScanResult(scan.decision)
        name = namespace(scan.project_id, table_id, self.suffix)
        if scan.check_store:
            self._compare(scan, table_id, name)
        try:
            document = self._document(scan)
            rules = NO_ENTRIES if scan.entries is None else EntryRules.of(scan.entries)
            strings, skipped = _strings(document, scan, rules, self.limits.string_chars)
            if (pieces := _check(strings, self.cut, self.limits)) != scan.chunks_count:
                self.index.reserve_chunks(table_id, pieces)
        except (Invalid, OverLimit) as error:
            self.index.record_failure(table_id, scan.generation, coded("table.not_indexed", reason=str(error)))
            self.index.record_scan(table_id, scan.generation, nodes=skip + 1)
            return ScanResult("unreadable")
        page, end = self._page(table_id, document, scan.scopes, rules, strings, skip)
        planned = 0
        if page:
            plan = self.index.plan_nodes(table_id, scan.generation, page)
            if plan is None:
                return ScanResult("superseded")
            # These nodes need no embedding: their text was indexed before, or the message was delivered twice.
            sweep_nodes(self.store, self.index, name, table_id, plan.published)
            batches = range(0, len(plan.missing), CHUNKS_A_MESSAGE)
            messages = [plan.missing[start : start + CHUNKS_A_MESSAGE] for start in batches]
            self.queues.embed_chunks(scan.project_id, table_id, messages)
            planned = len(plan.missing)
        if end < len(strings):
            self.queues.index(scan.project_id, table_id, generation=scan.generation, skip=end)
            # Recorded last: if the worker ends before, the page is scanned again.
            self.index.record_scan(table_id, scan.generation, nodes=end)
            return ScanResult("page", end - skip, planned)
        objects = list(surrounding_objects(document, (string.json_pointer for string in strings), rules))
        self.index.record_objects(table_id, scan.generation, objects)
        counts = count_strings(document, scan.scopes, threshold=scan.chunk_threshold, rules=rules)
        totals = {scope: found_strings(count, scan.chunk_threshold, rules, table_id) for scope, count in counts.items()}
        return self._finish(scan, table_id, name, strings, skipped, totals, planned)

    def _compare(self, scan: Scan, table_id: str, name: str) -> None:
        rows = compare_rows(self.store, self.index, name, table_id)
        if rows is None:
            reason = "The search engine still indexes this Table, which is compared afterwards"
            raise Unavailable(reason, vendor="turbopuffer", namespace=name, retry_after=60.0)
        repair_rows(rows, self.store, self.index, name, table_id)
        self.index.record_comparison(table_id, scan.generation)

    def _document(self, scan: Scan) -> object:
        if scan.data_key is not None:
            return parsed_table(self.bucket.read(scan.data_key, max_bytes=self.limits.table_bytes).body)
        return parsed_table(scan.data) if scan.data is not None else None

    def _page(
        self,
        table_id: str,
        document: object,
        scopes: Sequence[str],
        rules: EntryRules,
        strings: Sequence[LargeString],
        skip: int,
    ) -> tuple[list[NodeVersion], int]:
        """Returns the next nodes to plan, and how many strings are scanned then. Complete nodes are skipped."""
        page: list[NodeVersion] = []
        count = 0
        for start in range(skip, len(strings), self.nodes_a_comparison):
            compared = strings[start : start + self.nodes_a_comparison]
            titles = titles_around(document, compared, scopes, rules)
            attributes = attributes_of(document, compared, rules)
            nodes = [NodeVersion.of(*each) for each in zip(compared, titles, attributes, strict=True)]
            for place in self.index.changed_nodes(table_id, nodes, limit=max(self.chunks_a_page + 1 - count, 1)):
                if count >= self.chunks_a_page:
                    return page, start + place
                pieces = chunks(compared[place].text, size=self.cut.chunk_size, overlap=self.cut.overlap)
                page.append(replace(nodes[place], chunks=tuple(pieces)))
                count += len(page[-1].chunks)
        return page, len(strings)

    def _finish(
        self,
        scan: Scan,
        table_id: str,
        name: str,
        strings: Sequence[LargeString],
        skipped: Sequence[SkippedNode],
        totals: Mapping[str, Mapping[str, Any]],
        planned: int,
    ) -> ScanResult:
        pointers: Sequence[str] | None = [pointer_hash(string.json_pointer) for string in strings]
        portion: Sequence[str] = ()
        remaining: Sequence[str] = ()
        nodes = max(len(strings), 1)
        for count in itertools.count(1):
            removed = self.index.finish_scan(
                table_id,
                scan.generation,
                pointers=pointers,
                gone=portion,
                more=bool(remaining),
                skipped=skipped,
                totals=totals,
                nodes=nodes,
                limit=self.nodes_a_deletion,
            )
            if removed is None:
                return ScanResult("superseded")
            remaining, unindexed = remaining or removed.gone, removed.unindexed
            if removed.nodes:
                self.store.sweep(name, removed.nodes)
                scanned = 0 if remaining else nodes
                unindexed = self.index.mark_swept(table_id, removed.nodes, generation=scan.generation, scanned=scanned)
            if not remaining:
                break
            if count == self.portions_a_message:
                self.queues.index(scan.project_id, table_id, generation=scan.generation, skip=len(strings))
                return ScanResult("page", 0, planned)
            # The document's nodes are sent once a message: with each portion, removal would take quadratic time.
            pointers, portion, remaining = None, remaining[: self.nodes_a_deletion], remaining[self.nodes_a_deletion :]
        complete_indexed(self.store, self.index, unindexed)
        return ScanResult("scanned", len(strings), planned)


def _check(strings: Sequence[LargeString], cut: TableCut, limits: Limits) -> int:
    """Returns the number of chunks. Raises `Invalid` if there are more strings or chunks than the limits allow.

    Indexed chunks stay searchable.
    """
    check_limit(len(strings), limits.table_strings, what="large strings", limit="table_strings")
    pieces = sum(-(-len(string.text) // (cut.chunk_size - cut.overlap)) for string in strings)
    check_limit(pieces, limits.table_chunks, what="chunks", limit="table_chunks")
    return pieces


def _strings(
    document: object, scan: Scan, rules: EntryRules, longest: int
) -> tuple[list[LargeString], list[SkippedNode]]:
    """Returns the large strings of all scopes, each once, and the nodes that cannot be indexed."""
    strings: dict[str, LargeString] = {}
    skipped: dict[str, SkippedNode] = {}
    for scope in _outermost(scan.scopes):
        try:
            for string in large_strings(document, scope, threshold=scan.chunk_threshold, rules=rules):
                if isinstance(string, SkippedNode):
                    skipped[string.json_pointer] = string
                    continue
                problem = problem_of(string.json_pointer) or problem_of(string.text) or _length_problem(string, longest)
                if problem is None:
                    strings[string.json_pointer] = string
                else:
                    skipped[string.json_pointer] = SkippedNode(string.json_pointer, problem)
        except NotFound:
            skipped[scope] = SkippedNode(scope, coded("table.no_node"))
    return list(strings.values()), _shown(list(skipped.values()))


def _shown(skipped: list[SkippedNode]) -> list[SkippedNode]:
    unnamed = len(skipped) - _SKIPPED_SHOWN
    if unnamed <= 0:
        return skipped
    last = SkippedNode(skipped[_SKIPPED_SHOWN].json_pointer, coded("table.many_skipped", count=unnamed - 1))
    return [*skipped[:_SKIPPED_SHOWN], last]


def _length_problem(string: LargeString, longest: int) -> str | None:
    if len(string.text) <= longest:
        return None
    return coded("table.long", count=len(string.text), most=longest)


def _outermost(scopes: Sequence[str]) -> list[str]:
    return [scope for scope in scopes if not any(other != scope and is_within(scope, other) for other in scopes)]


def sweep_nodes(
    store: ChunkStore, index: TableIndex, namespace: str, table_id: str, nodes: Sequence[PublishedNode]
) -> None:
    """Deletes the older rows of published nodes, and records that this is done."""
    if nodes:
        store.sweep(namespace, nodes)
        index.mark_swept(table_id, nodes)
