"""The search of a Search Tool in its part of a Table."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from sakuin.errors import Invalid, Unavailable
from sakuin.language.impacts import impacts_in_chunk
from sakuin.language.model import NO_LACK, AnalyzedQuery, Lack
from sakuin.language.questions.query_analysis import analyze_query, lexicon_lookup
from sakuin.language.questions.specifics import lack_of, missing_from
from sakuin.platform.embedding import QuestionEmbedder
from sakuin.retrieval.filters import Condition, check_known, conditions, found_elsewhere
from sakuin.retrieval.index_version import TableCut
from sakuin.retrieval.proximity import COMPARED, ComparedText, ranked_by_texts
from sakuin.retrieval.ranking import (
    Candidate,
    Ranked,
    WordMatch,
    doubted,
    known_share,
    rank,
    shown,
    unrelated,
    word_matches,
)
from sakuin.retrieval.vectors import SearchMode, question_vectors
from sakuin.retrieval.weights import SAMPLE, UNCALIBRATED, Weights
from sakuin.tables.entries import fixed_conditions
from sakuin.tables.json_pointer import is_within, pointer_hash, relative
from sakuin.tables.model import BoundTool, FullChunk
from sakuin.tables.nodes import Found, FoundChunk, namespace
from sakuin.tables.objects import nearest_pointers
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

    `no_good_match`: the answer is probably not among the hits, which are the nearest. `hint` then says which values of
    a filter have some.

    `degraded` names what was unavailable for the search. `absent`: what no text in the scope has of the question.
    """

    understood: AnalyzedQuery
    index: Mapping[str, Any]
    results: tuple[TableHit, ...]
    no_good_match: bool = False
    degraded: str | None = None
    hint: str | None = None
    absent: tuple[str, ...] = ()
    uncalibrated: str | None = None

    def missing_from(self, text: str) -> tuple[str, ...]:
        """Returns the specifics of the question that a text lacks."""
        return missing_from(text, self.understood)

    def as_json(self) -> dict[str, Any]:
        """Returns the answer for agents."""
        question = self.understood
        optional = {"understood_as": question.understood_as}
        optional |= {name: getattr(self, name) for name in ("degraded", "uncalibrated", "hint")}
        return {
            "query": question.query,
            "index": self.index,
            "results": [asdict(result) for result in self.results],
            "no_good_match": self.no_good_match,
            **{name: value for name, value in optional.items() if value is not None},
        }


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
    the Tool or not indexed.
    """

    understood: AnalyzedQuery
    candidates: tuple[TableCandidate, ...]
    degraded: str | None
    expected: tuple[TableCandidate, ...] = ()
    lack: Lack = NO_LACK
    uncalibrated: str | None = None

    @property
    def is_refused(self) -> bool:
        """Whether not even the best is good enough: the answer is `no_good_match`."""
        return not (self.candidates and self.candidates[0].ranked.is_good)


@dataclass(frozen=True, slots=True)
class SearchedTables:
    """What is searched in one index version. `suffix` is that of its namespaces."""

    records: ToolSearch
    embedder: QuestionEmbedder
    weights: Weights
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class SearchTable:
    """Searches the scope of one Tool. Results are current, in scope, and allowed at the endpoint now.

    `tables` gives what is searched. It is called with the id of the live index version, as the last call told it; None
    before.
    """

    tables: Callable[[str | None], SearchedTables]
    store: "ChunkStore"

    @property
    def records(self) -> ToolSearch:
        """Returns the records of Tools and their Tables."""
        return self.tables(None).records

    def __call__(
        self, mcp_id: str, tool: BoundTool, query: str, *, top_k: int, filter: Mapping[str, Any] | None = None
    ) -> TableAnswer:
        """Returns the best `top_k` chunks by falling similarity; at most three if even the best is not good enough.

        Of an entry it is the best chunk. All pass `filter`, which is as an agent writes it.
        """
        needed = conditions(tool.filters, filter)
        question, best = self._best(mcp_id, tool, query, top_k, needed)
        is_weak = question.is_refused
        results = shown(best, is_weak=is_weak)
        return TableAnswer(
            question.understood.with_results(each.ranked.words.matched for each in results),
            {"state": tool.state, "indexed_at": tool.index.get("indexed_at")},
            tuple(map(_hit, results)),
            no_good_match=is_weak,
            degraded=question.degraded,
            hint=self._hint(mcp_id, tool, query, top_k, needed) if is_weak and needed else None,
            absent=question.lack.absent,
            uncalibrated=question.uncalibrated,
        )

    def _best(
        self, mcp_id: str, tool: BoundTool, query: str, top_k: int, needed: Sequence[Condition]
    ) -> tuple[TableExplanation, list[TableCandidate]]:
        """Returns how a question is answered with these conditions, and the best chunks, one of each entry."""
        limit = 2 * DEPTH if tool.entries.pattern else max(top_k, COMPARED)
        question = self._ranked(mcp_id, tool, query, limit=limit, needed=needed)
        places: dict[str, TableCandidate] = {}
        for candidate in question.candidates:
            pointer = candidate.chunk.json_pointer
            entry = tool.entries.entry_of(pointer)
            places.setdefault(f"{pointer}#{candidate.chunk.chunk_index}" if entry is None else entry, candidate)
        return question, list(places.values())[:top_k]

    def _hint(self, mcp_id: str, tool: BoundTool, query: str, top_k: int, needed: Sequence[Condition]) -> str | None:
        """Returns with which values there are good results, if any. An unknown value raises `Invalid`."""
        records = self.records
        values = records.entry_values(mcp_id, tool.id)
        for condition in needed:
            check_known(condition, values.get(condition.field, {}))
        question, best = self._best(mcp_id, tool, query, top_k, ())
        if question.is_refused:
            return None
        places = [tool.entries.entry_of(each.chunk.json_pointer) for each in shown(best, is_weak=False)]
        attributes = records.attributes(mcp_id, tool.id, {pointer_hash(place) for place in places if place})
        return found_elsewhere(needed, attributes)

    def _lack(
        self, mcp_id: str, tool: BoundTool, tables: SearchedTables, question: AnalyzedQuery, at: FullChunk
    ) -> Lack:
        """Returns what a chunk lacks of a question, with the fields that an answer shows beside it."""
        if not missing_from(at.chunk_text, question):
            return NO_LACK
        places = list(places_around(tool, at.json_pointer))
        around = tables.records.objects(mcp_id, tool.id, {pointer_hash(place) for place in places})
        fields: Mapping[str, Any] = next((around[place] for place in places if place in around), {})
        shown = [str(value) for name, value in fields.items() if name not in tool.fixed]
        name = namespace(tool.project_id, tool.table_id, tables.suffix)
        # A Tool with a fixed filter that nothing passes has no results.
        fixed = fixed_conditions(tool.entries, tool.fixed) or ()
        scope = pointer_hash(tool.json_path)
        texts_of: dict[tuple[str, ...], Sequence[str]] = {}

        def have_terms(lists: Sequence[Sequence[str]]) -> Iterable[bool]:
            texts = self.store.texts_with(name, lists, scope=scope, limit=COMPARED, needed=fixed)
            texts_of.update(zip(map(tuple, lists), texts, strict=True))
            return map(bool, texts)

        def few_texts_with(terms: Sequence[str]) -> Sequence[str]:
            texts = texts_of[tuple(terms)]
            return texts if len(texts) < COMPARED else ()

        text = "\n".join([at.chunk_text, *shown])
        return lack_of(text, question, have_terms, few_texts_with)

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
            alone = ranked(scope=expected)
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
        needed: Sequence[Condition] = (),
    ) -> TableExplanation:
        """Ranks the chunks of the Tool, or of `scope` in it, and returns the best `limit` that are current.

        All pass the conditions `needed` and those that the endpoint fixes.
        """
        tables = self.tables(None)
        entries = tables.records.known_words(mcp_id, tool.id, query, lexicon_lookup(query))
        if (live := self.tables(entries.live)) is not tables:
            # Another index version was activated. Its Table may have other words.
            tables, entries = live, live.records.known_words(mcp_id, tool.id, query, lexicon_lookup(query))
        question = analyze_query(query, entries, without=without)
        (vector,), degraded = question_vectors(tables.embedder, [question.text], mode=mode)
        slots = () if mode == "vectors" else question.slots
        terms = {term for slot in slots for term in slot.terms}
        sample_size = SAMPLE if vector is not None else 0
        frequencies, sample = tables.records.term_frequencies(mcp_id, tool.id, terms, sample=sample_size)
        search = partial(
            self.store.search,
            namespace(tool.project_id, tool.table_id, tables.suffix),
            vector=vector,
            slots=slots,
            text="" if mode == "vectors" else query,
            scope=pointer_hash(tool.json_path if scope is None else scope),
            depth=DEPTH,
            sample=sample,
        )
        evidence = _passing(search, tool, needed)
        candidates = [_candidate(each) for each in evidence.chunks]
        if question.slots:
            words = word_matches(slots, frequencies, candidates)
        else:
            # A question without terms, such as 🐡: the store's own words found a chunk, or not.
            whole = WordMatch(1.0, 1.0, (query,))
            words = {each.doc_id: whole if each.matching_rank else WordMatch() for each in evidence.chunks}
        share = known_share(slots, frequencies)
        weights = tables.weights
        baseline = unrelated(evidence.cosines, weights, known_share=share)
        has_vector = vector is not None
        scale = weights.scale(has_words=bool(slots), has_vector=has_vector, known_share=share, lower=baseline.lower)
        # A question without words, such as 🐡, is found by the store's own words.
        if question.asks_nothing and not any(words[each.id].matched == (query,) for each in candidates):
            scale = replace(scale, least=math.inf)
        ranked = partial(rank, others=baseline, weights=weights, scale=scale)
        first = ranked(candidates, words)
        ids = [each.id for each in first]
        current = tables.records.current_chunks(mcp_id, tool.id, ids, limit=limit, needed=needed)
        rows = {each.doc_id: each for each in evidence.chunks}
        compared = [each for each in first if each.id in current][:COMPARED]
        texts = {each.id: ComparedText(current[each.id].chunk_text) for each in compared}
        of_current = partial(ranked, [each for each in candidates if each.id in current])
        ranking = ranked_by_texts(of_current, words, first, [(slots, texts)], frequencies)
        lack = self._lack(mcp_id, tool, tables, question, current[ranking[0].id]) if ranking else NO_LACK
        shown = doubted(ranking, lack.doubts, weights)
        best = [
            TableCandidate(place, each, rows[each.id], relative(chunk.json_pointer, tool.json_path), chunk)
            for place, (each, chunk) in enumerate(((each, current[each.id]) for each in shown), start=1)
        ]
        uncalibrated = None if weights.is_calibrated else UNCALIBRATED
        return TableExplanation(question, tuple(best), degraded, lack=lack, uncalibrated=uncalibrated)


class TableSearches(Protocol):
    """The searches of all index versions of a deployment."""

    def table_search(self, version: str | None = None) -> SearchTable:
        """Returns the search of the live or the named index version. Raises `NotFound` if there is none."""


def _passing(search: Callable[..., Found], tool: BoundTool, needed: Sequence[Condition]) -> Found:
    """Searches what passes the conditions and the fixed filter of a Tool."""
    fixed = fixed_conditions(tool.entries, tool.fixed)
    if fixed is None:
        return Found()
    try:
        return search(needed=[*needed, *fixed])
    except Invalid as error:
        # No row has a value of a field yet, so that the store does not know its attribute.
        if not (needed or fixed):
            raise
        if tool.state not in ("ready", "empty"):
            raise Unavailable("The filters of this tool are being updated") from error
        return Found()


def places_around(tool: BoundTool, pointer: str) -> Iterator[str]:
    """Yields the pointers in the scope where the entry of a string, or its object, may be, the nearest first."""
    entry = tool.entries.entry_of(pointer)
    places = nearest_pointers(pointer) if entry is None else [entry]
    yield from (place for place in places if is_within(place, tool.json_path))


def _candidate(found: FoundChunk) -> Candidate:
    # A text has about a term for each character: docs/explanation/how-a-question-is-answered.md.
    impacts = impacts_in_chunk(found.counts, found.terms_count, average=TableCut().chunk_size)
    return Candidate(found.doc_id, found.cosine, impacts)


def _hit(candidate: TableCandidate) -> TableHit:
    ranked = candidate.ranked
    return TableHit(ranked.similarity, round(ranked.evidence, 4), candidate.json_path, candidate.chunk)


def _of(pointer: str, candidates: Sequence[TableCandidate]) -> tuple[TableCandidate, ...]:
    return tuple(each for each in candidates if each.chunk.json_pointer == pointer)
