"""The search of a Search Tool in its part of a Table."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from sakuin.language.indexing import impacts_in_chunk
from sakuin.language.model import AnalyzedQuery
from sakuin.language.questions.query_analysis import analyze_query, lexicon_lookup
from sakuin.platform.embedding import QuestionEmbedder
from sakuin.retrieval.index_version import TableCut
from sakuin.retrieval.proximity import COMPARED, ComparedText, ranked_by_texts
from sakuin.retrieval.ranking import (
    Candidate,
    Ranked,
    Unrelated,
    WordMatch,
    known_share,
    rank,
    shown,
    unrelated,
    word_matches,
)
from sakuin.retrieval.vectors import SearchMode, question_vector
from sakuin.retrieval.weights import SAMPLE, Weights
from sakuin.tables.json_pointer import is_within, pointer_hash, relative
from sakuin.tables.model import BoundTool, FullChunk
from sakuin.tables.nodes import FoundChunk, namespace
from sakuin.tables.postgres import ToolSearch

if TYPE_CHECKING:
    # Only workers that ask the store load its SDK.
    from sakuin.tables.turbopuffer import ChunkStore

# The nearest and the matching chunks that are ranked, whatever `top_k`.
DEPTH = 100


@dataclass(frozen=True, slots=True)
class TableHit:
    """One result. `json_path` is the pointer of the node relative to the Tool, `score` the evidence of the ranking."""

    similarity: float
    score: float
    json_path: str
    chunk: FullChunk


@dataclass(frozen=True, slots=True)
class TableAnswer:
    """The best hits, and the state of the Tool's index.

    `no_good_match`: the answer is probably not among the hits, which are the nearest.

    `understood_as` is the question as it was rewritten. `degraded` names what was unavailable for the search.
    """

    query: str
    index: Mapping[str, Any]
    results: tuple[TableHit, ...]
    no_good_match: bool = False
    understood_as: str | None = None
    degraded: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Returns the answer for agents."""
        answer = asdict(self)
        for name in ("understood_as", "degraded"):
            if answer[name] is None:
                del answer[name]
        return answer


@dataclass(frozen=True, slots=True)
class TableCandidate:
    """A current chunk with its evidence, and its rank in the answer and in each leg, from 1; None if it has none."""

    rank: int | None
    ranked: Ranked
    found: FoundChunk
    json_path: str
    chunk: FullChunk


@dataclass(frozen=True, slots=True)
class TableExplanation:
    """How a question was understood, and its candidates: all current chunks that were found, best first.

    `expected` are the chunks of the expected node, best first, whatever their rank; none if it is not in the scope of
    the Tool or not indexed. `others`: what unrelated texts of the Tool reach.
    """

    understood: AnalyzedQuery
    candidates: tuple[TableCandidate, ...]
    degraded: str | None
    others: Unrelated
    expected: tuple[TableCandidate, ...] = ()

    @property
    def is_refused(self) -> bool:
        """Whether not even the best is good enough: the answer is `no_good_match`."""
        return not (self.candidates and self.candidates[0].ranked.is_good)


@dataclass(frozen=True, slots=True)
class SearchTable:
    """Searches the scope of one Tool. Results are current, in scope, and allowed at the endpoint now.

    `newer` gives the search of the live index version by its id; None if it is this one.
    """

    records: ToolSearch
    store: "ChunkStore"
    embedder: QuestionEmbedder
    weights: Weights
    suffix: str = ""
    newer: "Callable[[str | None], SearchTable | None]" = lambda _live: None

    def __call__(self, mcp_id: str, tool: BoundTool, query: str, *, top_k: int) -> TableAnswer:
        """Returns the best `top_k` chunks by falling similarity; at most three if even the best is not good enough."""
        question = self._ranked(mcp_id, tool, query, limit=max(top_k, COMPARED))
        is_weak = question.is_refused
        results = shown(question.candidates[:top_k], is_weak=is_weak)
        return TableAnswer(
            query,
            {"state": tool.state, "indexed_at": tool.index.get("indexed_at")},
            tuple(map(_hit, results)),
            no_good_match=is_weak,
            understood_as=question.understood.with_results(each.ranked.words.matched for each in results).understood_as,
            degraded=question.degraded,
        )

    def explanation(
        self,
        mcp_id: str,
        tool: BoundTool,
        query: str,
        *,
        expected: str | None = None,
        mode: SearchMode = "both",
        without: Set[str] = frozenset(),
    ) -> TableExplanation:
        """Returns how `__call__` answers the same question.

        `expected` is an absolute json_pointer. `without` switches off rules of understanding.
        """
        ranked = partial(self._ranked, mcp_id, tool, query, mode=mode, without=without)
        question = ranked()
        if expected is None or not is_within(expected, tool.json_path):
            return question
        chunks = _of(expected, question.candidates)
        if not chunks:
            # A search in its own scope says its evidence, but not its rank.
            alone = ranked(scope=expected, others=question.others)
            chunks = tuple(replace(each, rank=None) for each in _of(expected, alone.candidates))
        return replace(question, expected=chunks)

    def _ranked(
        self,
        mcp_id: str,
        tool: BoundTool,
        query: str,
        *,
        limit: int = 2 * DEPTH,
        mode: SearchMode = "both",
        without: Set[str] = frozenset(),
        scope: str | None = None,
        others: Unrelated | None = None,
    ) -> TableExplanation:
        """Ranks the chunks of the Tool, or of `scope` in it, and returns the best `limit` that are current.

        `others`: what unrelated texts of the Tool reach, if it is known.
        """
        known = self.records.known_words(mcp_id, tool.id, query, lexicon_lookup(query))
        if (newer := self.newer(known.live)) is not None:
            return newer._ranked(mcp_id, tool, query, limit=limit, mode=mode, without=without, scope=scope)
        question = analyze_query(query, known, without=without)
        vector, degraded = question_vector(self.embedder, question.text, mode=mode)
        slots = () if mode == "vectors" else question.slots
        terms = {term for slot in slots for term in slot.terms}
        wanted = SAMPLE if vector is not None else 0
        frequencies, sample = self.records.term_frequencies(mcp_id, tool.id, terms, sample=wanted)
        found = self.store.search(
            namespace(tool.project_id, tool.table_id, self.suffix),
            vector=vector,
            slots=slots,
            text="" if mode == "vectors" else query,
            scope=pointer_hash(tool.json_path if scope is None else scope),
            depth=DEPTH,
            sample=sample,
        )
        candidates = [_candidate(each) for each in found.chunks]
        if question.slots:
            words = word_matches(slots, frequencies, candidates)
        else:
            # A question without terms, such as 🐡: the store's own words found a chunk, or not.
            whole = WordMatch(1.0, 1.0, (query,))
            words = {each.doc_id: whole if each.matching_rank else WordMatch() for each in found.chunks}
        share = known_share(slots, frequencies)
        others = others or unrelated(found.cosines, self.weights, known_share=share)
        has_vector = vector is not None
        scale = self.weights.scale(has_words=bool(slots), has_vector=has_vector, known_share=share, lower=others.lower)
        ranked = partial(rank, others=others, weights=self.weights, scale=scale)
        first = ranked(candidates, words)
        current = self.records.current_chunks(mcp_id, tool.id, [each.id for each in first], limit=limit)
        rows = {each.doc_id: each for each in found.chunks}
        compared = [each for each in first if each.id in current][:COMPARED]
        texts = {each.id: ComparedText(current[each.id].chunk_text) for each in compared}
        of_current = partial(ranked, [each for each in candidates if each.id in current])
        shown = ranked_by_texts(of_current, words, first, [(slots, texts)], frequencies)
        best = [
            TableCandidate(place, each, rows[each.id], relative(chunk.json_pointer, tool.json_path), chunk)
            for place, (each, chunk) in enumerate(((each, current[each.id]) for each in shown), start=1)
        ]
        return TableExplanation(question, tuple(best), degraded, others)


class TableSearches(Protocol):
    """The searches of all index versions of a deployment."""

    def table_search(self, version: str | None = None) -> SearchTable:
        """Returns the search of the live or the named index version. Raises `NotFound` if there is none."""

    def table_records(self) -> ToolSearch:
        """Returns the records of the live index version."""


def _candidate(found: FoundChunk) -> Candidate:
    # A text has about a term for each character: docs/decisions/0051-one-ranking-for-tables.md.
    impacts = impacts_in_chunk(found.counts, found.terms_count, average=TableCut().chunk_size)
    return Candidate(found.doc_id, found.cosine, impacts)


def _hit(candidate: TableCandidate) -> TableHit:
    ranked = candidate.ranked
    return TableHit(ranked.similarity, round(ranked.evidence, 4), candidate.json_path, candidate.chunk)


def _of(pointer: str, candidates: Sequence[TableCandidate]) -> tuple[TableCandidate, ...]:
    return tuple(each for each in candidates if each.chunk.json_pointer == pointer)
