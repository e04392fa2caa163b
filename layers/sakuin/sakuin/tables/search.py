"""Searches a Search Tool's part of a Table."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from sakuin.language.model import AnalyzedQuery, Slot
from sakuin.language.questions.query_analysis import analyze_query, lexicon_lookup
from sakuin.platform.embedding import QuestionEmbedder, Vector
from sakuin.retrieval.fusion import ScoredId, fuse
from sakuin.retrieval.matched_words import matched_words
from sakuin.retrieval.vectors import SearchMode, question_vector
from sakuin.tables.chunk_store import ChunkStore, FoundChunk
from sakuin.tables.index_names import namespace
from sakuin.tables.json_pointer import is_within, pointer_hash, relative
from sakuin.tables.model import BoundTool, FullChunk
from sakuin.tables.postgres import ToolSearch
from sakuin.tables.words import asked_slots

_SHALLOWEST = 50

# As far as an explanation looks for what was expected.
_DEEPEST = 1_000


Found = tuple[Sequence[FoundChunk], Sequence[FoundChunk]]


@dataclass(frozen=True, slots=True)
class TableHit:
    """One result. `json_path` is the node's place as seen from the tool."""

    score: float
    json_path: str
    chunk: FullChunk


@dataclass(frozen=True, slots=True)
class TableAnswer:
    """The best hits, and how far the tool's index is. `degraded` says what the search had to do without."""

    query: str
    index: Mapping[str, Any]
    results: tuple[TableHit, ...]
    degraded: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The answer as agents read it."""
        said = asdict(self)
        if self.degraded is None:
            del said["degraded"]
        return said


@dataclass(frozen=True, slots=True)
class TableCandidate:
    """A chunk and what each leg says of it: its rank there, from 1, and its raw score; None where it was not found.

    `rank` and `score` are those of the fuse ranking. `matched` are the question's words as they stand in the chunk.
    """

    rank: int | None
    score: float | None
    nearest_rank: int | None
    cosine: float | None
    matching_rank: int | None
    words: float | None
    matched: tuple[str, ...]
    json_path: str
    chunk: FullChunk


@dataclass(frozen=True, slots=True)
class TableExplanation:
    """How a question was answered. `candidates` are all that was found and may be shown, best first.

    `expected` are the chunks of the node that was asked about, the best first, however deep they rank; none if the
    tool has no such node, or its index no chunk of it.
    """

    understood: AnalyzedQuery
    index: Mapping[str, Any]
    candidates: tuple[TableCandidate, ...]
    expected: tuple[TableCandidate, ...] = ()
    degraded: str | None = None


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question as it was understood, and as the store is asked it."""

    understood: AnalyzedQuery
    vector: Vector | None
    slots: tuple[Slot, ...]
    text: str
    degraded: str | None


@dataclass(frozen=True, slots=True)
class SearchTable:
    """Searches one tool's scope; what is not current, in scope and reachable now is never shown."""

    records: ToolSearch
    store: ChunkStore
    embedder: QuestionEmbedder
    suffix: str = ""

    def __call__(self, mcp_id: str, tool: BoundTool, query: str, *, top_k: int) -> TableAnswer:
        """The best `top_k`; none where nothing is indexed yet."""
        asked = self._asked(mcp_id, tool, query)
        ranking = _ranking(self._found(tool, asked, depth=_depth(top_k)))
        current = self.records.current(mcp_id, tool.id, list(ranking))
        hits = [
            TableHit(round(score, 6), relative(current[name].json_pointer, tool.json_path), current[name])
            for name, score in ranking.items()
            if name in current
        ]
        return TableAnswer(query, _index(tool), tuple(hits[:top_k]), asked.degraded)

    def explanation(
        self,
        mcp_id: str,
        tool: BoundTool,
        query: str,
        *,
        top_k: int,
        expected: str | None = None,
        mode: SearchMode = "both",
        without: Set[str] = frozenset(),
    ) -> TableExplanation:
        """What `__call__` does with the same question, and why.

        `expected` is an absolute json_pointer. `without` names rules of understanding that are switched off.
        """
        asked = self._asked(mcp_id, tool, query, mode=mode, without=without)
        question = asked.understood
        candidates = self._candidates(mcp_id, tool, question, self._found(tool, asked, depth=_depth(top_k)))
        if expected is None or not is_within(expected, tool.json_path):
            return TableExplanation(question, _index(tool), candidates, degraded=asked.degraded)
        chunks = _of(expected, candidates)
        if not chunks:
            deep = self._found(tool, asked, depth=_DEEPEST)
            chunks = _of(expected, self._candidates(mcp_id, tool, question, deep))
        if not chunks:
            # Asked about alone it has scores, but no rank.
            alone = self._found(tool, asked, depth=_DEEPEST, scope=expected)
            chunks = _of(expected, self._candidates(mcp_id, tool, question, alone, are_ranked=False))
        return TableExplanation(question, _index(tool), candidates, chunks, asked.degraded)

    def _asked(
        self, mcp_id: str, tool: BoundTool, query: str, *, mode: SearchMode = "both", without: Set[str] = frozenset()
    ) -> _Asked:
        known = self.records.known_words(mcp_id, tool.id, lexicon_lookup(query))
        question = analyze_query(query, known, without=without)
        vector, degraded = question_vector(self.embedder, question.text, mode=mode)
        return _Asked(
            question,
            vector=vector,
            slots=() if mode == "vectors" else asked_slots(question.slots),
            text="" if mode == "vectors" else query,
            degraded=degraded,
        )

    def _found(self, tool: BoundTool, asked: _Asked, *, depth: int, scope: str | None = None) -> Found:
        return self.store.search(
            namespace(tool.project_id, tool.table_id, self.suffix),
            vector=asked.vector,
            slots=asked.slots,
            text=asked.text,
            scope=pointer_hash(tool.json_path if scope is None else scope),
            depth=depth,
        )

    def _candidates(
        self, mcp_id: str, tool: BoundTool, question: AnalyzedQuery, found: Found, *, are_ranked: bool = True
    ) -> tuple[TableCandidate, ...]:
        ranking = _ranking(found)
        current = self.records.current(mcp_id, tool.id, list(ranking))
        nearest, matching = ({each.doc_id: (rank, each.score) for rank, each in enumerate(leg, 1)} for leg in found)
        candidates = []
        for rank, name in enumerate((name for name in ranking if name in current), start=1):
            near_rank, cosine = nearest.get(name, (None, None))
            match_rank, words = matching.get(name, (None, None))
            candidates.append(
                TableCandidate(
                    rank=rank if are_ranked else None,
                    score=ranking[name] if are_ranked else None,
                    nearest_rank=near_rank if are_ranked else None,
                    cosine=cosine,
                    matching_rank=match_rank if are_ranked else None,
                    words=words,
                    matched=_matched(question, current[name].chunk_text),
                    json_path=relative(current[name].json_pointer, tool.json_path),
                    chunk=current[name],
                )
            )
        return tuple(candidates)


class TableSearches(Protocol):
    """The searches of the index versions that a deployment keeps."""

    def table_search(self, version: str | None = None) -> SearchTable:
        """Returns the search of the index version that answers, or of the one that is named; `NotFound` if none is."""


def _depth(top_k: int) -> int:
    # Deeper than asked for: what is sixth in both legs may win.
    return max(4 * top_k, _SHALLOWEST)


def _ranking(found: Found) -> dict[str, float]:
    """The fuse scores by doc id, best first."""
    nearest, matching = ([ScoredId(each.doc_id, each.score) for each in leg] for leg in found)
    return {each.name: each.score for each in fuse(nearest, matching)}


def _of(pointer: str, candidates: Sequence[TableCandidate]) -> tuple[TableCandidate, ...]:
    return tuple(each for each in candidates if each.chunk.json_pointer == pointer)


def _index(tool: BoundTool) -> dict[str, Any]:
    return {"state": tool.index.get("state", "pending"), "indexed_at": tool.index.get("indexed_at")}


def _matched(question: AnalyzedQuery, text: str) -> tuple[str, ...]:
    return matched_words(text, [each.term for slot in question.slots if slot.kind == "word" for each in slot.terms])
