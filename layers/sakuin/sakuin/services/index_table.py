"""A Table's large strings become chunks, and their embedding is planned: one page of the walk at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sakuin.domain.chunking import chunks
from sakuin.domain.json_pointer import is_within, pointer_hash
from sakuin.domain.limits import Limits, check_room
from sakuin.domain.search_index_names import namespace
from sakuin.domain.search_tool import SkippedNode
from sakuin.domain.table_cut import TableCut
from sakuin.domain.table_document import parsed_table
from sakuin.domain.table_walk import LargeString, OutOfReach, content_hash, large_strings, problem_of
from sakuin.errors import Invalid, NotFound
from sakuin.ports.chunk_store import ChunkStore
from sakuin.ports.projects import TableBodies
from sakuin.ports.tables import NodeVersion, TableIndex, TableQueues, TableWork
from sakuin.services.compare_store import compared, repaired
from sakuin.services.sweep_nodes import swept

NODES_A_PAGE = 2000
_CHUNKS_A_REQUEST = 200
# They stand in the status of every tool: enough to see what is wrong with all of them.
_SKIPPED_SHOWN = 100
CHUNKS_A_MESSAGE = 32


@dataclass(frozen=True, slots=True)
class TableWalked:
    """What a page of the walk led to; `outcome` says why there was none."""

    outcome: str
    nodes: int = 0
    planned: int = 0


@dataclass(frozen=True, slots=True)
class IndexTable:
    """Reads the Table as it is now, never as a message says it was."""

    index: TableIndex
    bodies: TableBodies
    store: ChunkStore
    queues: TableQueues
    cut: TableCut
    suffix: str = ""
    nodes_a_page: int = NODES_A_PAGE
    limits: Limits = field(default_factory=Limits)

    def __call__(
        self, project_id: str, table_id: str, *, generation: int | None = None, skip: int = 0, heard: bool = False
    ) -> TableWalked:
        """Walks one page; the next one is a message. Any number of times, by any number of workers.

        `heard`: an event asks, and of many events of one generation the first is enough.
        """
        # Before the body travels: a hundred events of a large Table cost a hundred small questions.
        if not self.index.wanted(table_id, generation, skip=skip, heard=heard):
            return TableWalked("superseded")
        work = self.index.work(table_id)
        if work is not None and work.check_store:
            self._compare(work, table_id)
            work = self.index.work(table_id)
        if work is None:
            # Not by its name: only what this deployment wrote is its own to remove.
            for name in self.index.abandoned(table_id):
                self.store.delete_namespace(name)
            return TableWalked("gone")
        if generation is not None and generation != work.generation:
            return TableWalked("superseded")
        if work.data is None and work.data_key is None:
            # Its arrival is an event of its own; until then the tools stay pending.
            return TableWalked("empty")
        if not skip and not self.index.started(table_id, work.generation):
            return TableWalked("superseded")
        try:
            document = self._document(work)
            strings, skipped = _strings(document, work.scopes, self.cut.threshold, self.limits.string_chars)
            _check(strings, self.cut, self.limits)
        except Invalid as error:
            self.index.failed(table_id, work.generation, f"The table cannot be indexed: {error}")
            self.index.walked(table_id, work.generation, nodes=skip + 1)
            return TableWalked("unreadable")
        changed, end = _page(strings, work, skip=skip, most=self.nodes_a_page)
        planned = self._plan(work, table_id, changed)
        if planned is None:
            return TableWalked("superseded")
        if end < len(strings):
            self.queues.index(work.project_id, table_id, generation=work.generation, skip=end)
            walked = TableWalked("page", end - skip, planned)
        else:
            walked = self._end(work, table_id, strings, skipped, planned)
        # Last of all: whoever dies before leaves a page that is walked again.
        self.index.walked(table_id, work.generation, nodes=max(end, skip + 1))
        return walked

    def _compare(self, work: TableWork, table_id: str) -> None:
        name = namespace(work.project_id, table_id, self.suffix)
        rows = compared(self.store, self.index, name, table_id)
        if rows is not None:
            repaired(rows, self.store, self.index, name, table_id)
        self.index.compared(table_id, work.generation)

    def _document(self, work: TableWork) -> object:
        if work.data_key is not None:
            return parsed_table(self.bodies.read(work.data_key, max_bytes=self.limits.table_bytes))
        return parsed_table(work.data) if work.data is not None else None

    def _plan(self, work: TableWork, table_id: str, changed: Sequence[LargeString]) -> int | None:
        planned = 0
        for nodes in _batches(_nodes(changed, self.cut)):
            missing = self.index.want(table_id, work.generation, nodes)
            if missing is None:
                return None
            # What the store has already answers at once: a text that came back, a message that came twice.
            flipped = self.index.flip(table_id, [node.pointer_hash for node in nodes])
            swept(self.store, self.index, namespace(work.project_id, table_id, self.suffix), table_id, flipped)
            messages = [missing[at : at + CHUNKS_A_MESSAGE] for at in range(0, len(missing), CHUNKS_A_MESSAGE)]
            self.queues.embed(work.project_id, table_id, messages)
            planned += len(missing)
        return planned

    def _end(
        self,
        work: TableWork,
        table_id: str,
        strings: Sequence[LargeString],
        skipped: Sequence[SkippedNode],
        planned: int,
    ) -> TableWalked:
        kept = [pointer_hash(string.json_pointer) for string in strings]
        gone = self.index.planned(table_id, work.generation, kept=kept, skipped=skipped)
        if gone is None:
            return TableWalked("superseded")
        name = namespace(work.project_id, table_id, self.suffix)
        for generation, doc_ids in gone.items():
            self.store.delete(name, doc_ids, generation=generation)
            self.index.removed(table_id, generation)
        self.index.settle(table_id)
        return TableWalked("walked", len(strings), planned)


def _check(strings: Sequence[LargeString], cut: TableCut, limits: Limits) -> None:
    """`Invalid` if there are more than an index takes; what is indexed already goes on answering."""
    check_room(0, limits.table_strings, what="large strings", setting="MaxTableStrings", more=len(strings))
    pieces = sum(-(-len(string.text) // (cut.chunk_size - cut.overlap)) for string in strings)
    check_room(0, limits.table_chunks, what="chunks", setting="MaxTableChunks", more=pieces)


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
    return f"It has {len(string.text):,} characters, more than {longest:,} (MaxStringChars). Split it."


def _outermost(scopes: Sequence[str]) -> list[str]:
    return [scope for scope in scopes if not any(other != scope and is_within(scope, other) for other in scopes)]


def _page(strings: Sequence[LargeString], work: TableWork, *, skip: int, most: int) -> tuple[list[LargeString], int]:
    """The next strings that have to be planned, and how many are walked then: what is whole costs no page."""
    changed: list[LargeString] = []
    for at in range(skip, len(strings)):
        if len(changed) == most:
            return changed, at
        if not _is_whole(strings[at], work):
            changed.append(strings[at])
    return changed, len(strings)


def _is_whole(string: LargeString, work: TableWork) -> bool:
    return work.whole.get(pointer_hash(string.json_pointer)) == content_hash(string.text)


def _nodes(page: Sequence[LargeString], cut: TableCut) -> Iterator[NodeVersion]:
    for string in page:
        pieces = chunks(string.text, size=cut.chunk_size, overlap=cut.overlap)
        pointer = string.json_pointer
        yield NodeVersion(pointer_hash(pointer), pointer, content_hash(string.text), tuple(pieces))


def _batches(nodes: Iterator[NodeVersion]) -> Iterator[list[NodeVersion]]:
    batch: list[NodeVersion] = []
    for node in nodes:
        batch.append(node)
        if sum(len(each.chunks) for each in batch) >= _CHUNKS_A_REQUEST:
            yield batch
            batch = []
    if batch:
        yield batch
