"""Scans a Table: which strings are new, and which are gone."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sakuin.errors import Invalid, NotFound
from sakuin.limits import Limits, check_limit
from sakuin.retrieval.index_version import TableCut
from sakuin.tables.admin.documents import TableDocuments
from sakuin.tables.chunk_store import ChunkStore
from sakuin.tables.chunking import chunks
from sakuin.tables.document import parsed_table
from sakuin.tables.index_names import namespace
from sakuin.tables.json_pointer import is_within, pointer_hash
from sakuin.tables.model import SkippedNode
from sakuin.tables.nodes import NodeVersion, PublishedNode, Scan
from sakuin.tables.postgres import TableIndex
from sakuin.tables.queues import TableQueues
from sakuin.tables.reconcile import compare_rows, repair_rows
from sakuin.tables.scan import LargeString, OutOfReach, content_hash, large_strings, problem_of

# A page is one request to Postgres, and about as much again in messages.
NODES_A_PAGE = 2000

CHUNKS_A_PAGE = 1000

CHUNKS_A_MESSAGE = 32

# They stand in the status of every tool: enough to see what is wrong with all of them.
_SKIPPED_SHOWN = 100


@dataclass(frozen=True, slots=True)
class ScanResult:
    """What a page of the scan led to; `outcome` says why there was none."""

    outcome: str
    nodes: int = 0
    planned: int = 0


@dataclass(frozen=True, slots=True)
class IndexTable:
    """Scans a Table as it is now, never as a message says it was."""

    index: TableIndex
    bodies: TableDocuments
    store: ChunkStore
    queues: TableQueues
    cut: TableCut
    suffix: str = ""
    nodes_a_page: int = NODES_A_PAGE
    limits: Limits = field(default_factory=Limits)

    def __call__(
        self,
        project_id: str,
        table_id: str,
        *,
        generation: int | None = None,
        skip: int = 0,
        for_event: bool = False,
    ) -> ScanResult:
        """Scans one page; the next one is a message. Any number of times, by any number of workers.

        `for_event`: of many events of one generation the first is enough.
        """
        scan = self.index.begin_scan(table_id, generation, skip=skip, for_event=for_event)
        if scan.decision == "gone":
            # Not by its name: only what this deployment wrote is its own to remove.
            for name in self.index.orphaned_namespaces(table_id):
                self.store.delete_namespace(name)
        if scan.decision != "scan":
            return ScanResult(scan.decision)
        name = namespace(scan.project_id, table_id, self.suffix)
        if scan.check_store:
            self._compare(scan, table_id, name)
        try:
            strings, skipped = _strings(self._document(scan), scan.scopes, self.cut.threshold, self.limits.string_chars)
            _check(strings, self.cut, self.limits)
        except Invalid as error:
            self.index.record_failure(table_id, scan.generation, f"The table cannot be indexed: {error}")
            self.index.record_scan(table_id, scan.generation, nodes=skip + 1)
            return ScanResult("unreadable")
        page, end = self._page(table_id, strings, skip)
        planned = 0
        if page:
            plan = self.index.plan_nodes(table_id, scan.generation, page)
            if plan is None:
                return ScanResult("superseded")
            # What the store has already answers at once: a text that came back, a message that came twice.
            sweep_nodes(self.store, self.index, name, table_id, plan.published)
            batches = range(0, len(plan.missing), CHUNKS_A_MESSAGE)
            messages = [plan.missing[start : start + CHUNKS_A_MESSAGE] for start in batches]
            self.queues.embed(scan.project_id, table_id, messages)
            planned = len(plan.missing)
        if end < len(strings):
            self.queues.index(scan.project_id, table_id, generation=scan.generation, skip=end)
            # Last of all: whoever dies before leaves a page that is scanned again.
            self.index.record_scan(table_id, scan.generation, nodes=end)
            return ScanResult("page", end - skip, planned)
        return self._finish(scan, table_id, name, strings, skipped, planned)

    def _compare(self, scan: Scan, table_id: str, name: str) -> None:
        rows = compare_rows(self.store, self.index, name, table_id)
        if rows is not None:
            repair_rows(rows, self.store, self.index, name, table_id)
        self.index.record_comparison(table_id, scan.generation)

    def _document(self, scan: Scan) -> object:
        if scan.data_key is not None:
            return parsed_table(self.bodies.read(scan.data_key, max_bytes=self.limits.table_bytes))
        return parsed_table(scan.data) if scan.data is not None else None

    def _page(self, table_id: str, strings: Sequence[LargeString], skip: int) -> tuple[list[NodeVersion], int]:
        """Returns the next nodes to plan, and how many strings are scanned then: what is whole fills no page."""
        nodes = [_Node.of(string) for string in strings[skip:]]
        places = self.index.changed_nodes(
            table_id, [(node.pointer_hash, node.content_hash) for node in nodes], limit=self.nodes_a_page + 1
        )
        page: list[NodeVersion] = []
        pieces = 0
        for place in places:
            if len(page) == self.nodes_a_page or pieces >= CHUNKS_A_PAGE:
                return page, skip + place
            version = nodes[place].cut(self.cut)
            page.append(version)
            pieces += len(version.chunks)
        return page, len(strings)

    def _finish(
        self,
        scan: Scan,
        table_id: str,
        name: str,
        strings: Sequence[LargeString],
        skipped: Sequence[SkippedNode],
        planned: int,
    ) -> ScanResult:
        kept = [pointer_hash(string.json_pointer) for string in strings]
        nodes = max(len(strings), 1)
        removed = self.index.finish_scan(table_id, scan.generation, kept=kept, skipped=skipped, nodes=nodes)
        if removed is None:
            return ScanResult("superseded")
        for generation, doc_ids in removed.items():
            self.store.delete(name, doc_ids, generation=generation)
        if removed:
            self.index.record_removed(table_id, removed.keys(), scan.generation, nodes=nodes)
        return ScanResult("scanned", len(strings), planned)


@dataclass(frozen=True, slots=True)
class _Node:
    string: LargeString
    pointer_hash: str
    content_hash: str

    @classmethod
    def of(cls, string: LargeString) -> "_Node":
        return cls(string, pointer_hash(string.json_pointer), content_hash(string.text))

    def cut(self, cut: TableCut) -> NodeVersion:
        pieces = chunks(self.string.text, size=cut.chunk_size, overlap=cut.overlap)
        return NodeVersion(self.pointer_hash, self.string.json_pointer, self.content_hash, tuple(pieces))


def _check(strings: Sequence[LargeString], cut: TableCut, limits: Limits) -> None:
    """`Invalid` if there are more than an index takes; what is indexed already goes on answering."""
    check_limit(0, limits.table_strings, what="large strings", limit="table_strings", more=len(strings))
    pieces = sum(-(-len(string.text) // (cut.chunk_size - cut.overlap)) for string in strings)
    check_limit(0, limits.table_chunks, what="chunks", limit="table_chunks", more=pieces)


def _strings(
    document: object, scopes: Sequence[str], threshold: int, longest: int
) -> tuple[list[LargeString], list[SkippedNode]]:
    """The large strings of all scopes, each once, in document order a scope; and what cannot be indexed, and why."""
    found: dict[str, LargeString] = {}
    skipped: dict[str, SkippedNode] = {}
    for scope in _outermost(scopes):
        try:
            for string in large_strings(document, scope, threshold=threshold):
                if isinstance(string, OutOfReach):
                    skipped[string.json_pointer] = SkippedNode(string.json_pointer, string.problem)
                    continue
                problem = problem_of(string.json_pointer) or problem_of(string.text) or _length_problem(string, longest)
                if problem is None:
                    found[string.json_pointer] = string
                else:
                    skipped[string.json_pointer] = SkippedNode(string.json_pointer, problem)
        except NotFound:
            skipped[scope] = SkippedNode(scope, "The table has nothing at this place.")
    return list(found.values()), _shown(list(skipped.values()))


def _shown(skipped: list[SkippedNode]) -> list[SkippedNode]:
    more = len(skipped) - _SKIPPED_SHOWN
    if more <= 0:
        return skipped
    rest = SkippedNode(skipped[_SKIPPED_SHOWN].json_pointer, f"This and {more - 1:,} more cannot be indexed either.")
    return [*skipped[:_SKIPPED_SHOWN], rest]


def _length_problem(string: LargeString, longest: int) -> str | None:
    if len(string.text) <= longest:
        return None
    return f"It has {len(string.text):,} characters; the limit is {longest:,} (string_chars). Split it."


def _outermost(scopes: Sequence[str]) -> list[str]:
    return [scope for scope in scopes if not any(other != scope and is_within(scope, other) for other in scopes)]


def sweep_nodes(
    store: ChunkStore, index: TableIndex, namespace: str, table_id: str, nodes: Sequence[PublishedNode]
) -> None:
    """Deletes the older rows of nodes that have flipped, and remembers that it is done."""
    for node in nodes:
        store.sweep_node(
            namespace,
            json_pointer_hash=node.pointer_hash,
            keep_content_hash=node.content_hash,
            generation=node.generation,
        )
    if nodes:
        index.mark_swept(table_id, nodes)
