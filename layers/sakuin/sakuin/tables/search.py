"""The search of a Search Tool in its part of a Table."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from sakuin.language.model import AnalyzedQuery, Slot
from sakuin.language.questions.query_analysis import analyze_query, lexicon_lookup
from sakuin.platform.embedding import QuestionEmbedder, Vector
from sakuin.retrieval.fusion import ScoredId, fuse
from sakuin.retrieval.matched_words import matched_words
from sakuin.retrieval.vectors import SearchMode, question_vector
from sakuin.tables.chunk_store import ChunkStore, FoundChunk, namespace
from sakuin.tables.json_pointer import is_within, pointer_hash, relative
from sakuin.tables.model import BoundTool, FullChunk
from sakuin.tables.postgres import ToolSearch

_LEAST_DEPTH = 50

# The depth in which an explanation searches for the expected node.
_EXPLANATION_DEPTH = 1_000

Found = tuple[Sequence[FoundChunk], Sequence[FoundChunk]]


@dataclass(frozen=True, slots=True)
class TableHit:
    """One result. `json_path` is the pointer of the node relative to the Tool."""

    score: float
    json_path: str
    chunk: FullChunk


@dataclass(frozen=True, slots=True)
class TableAnswer:
    """The best hits, and the state of the Tool's index. `degraded` names what was unavailable for the search."""

    query: str
    index: Mapping[str, Any]
    results: tuple[TableHit, ...]
    degraded: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Returns the answer for agents."""
        answer = asdict(self)
        if self.degraded is None:
            del answer["degraded"]
        return answer


@dataclass(frozen=True, slots=True)
class TableCandidate:
    """A chunk with its rank, from 1, and its raw score in each leg; None if that leg did not find it.

    `rank` and `score` are those of the fused ranking. `matched` are the words of the question as the chunk writes them.
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
    """How a question was answered. `candidates` are all current chunks that were found, best first.

    `expected` are the chunks of the expected node, best first, whatever their rank; none if it is not in the scope of
    the Tool or not indexed.
    """

    understood: AnalyzedQuery
    index: Mapping[str, Any]
    candidates: tuple[TableCandidate, ...]
    expected: tuple[TableCandidate, ...] = ()
    degraded: str | None = None


@dataclass(frozen=True, slots=True)
class _StoreQuery:
    """A question, how it was understood, and the query to the store."""

    understood: AnalyzedQuery
    vector: Vector | None
    slots: tuple[Slot, ...]
    text: str
    degraded: str | None


@dataclass(frozen=True, slots=True)
class SearchTable:
    """Searches the scope of one Tool. Results are current, in scope, and allowed at the endpoint now."""

    records: ToolSearch
    store: ChunkStore
    embedder: QuestionEmbedder
    suffix: str = ""

    def __call__(self, mcp_id: str, tool: BoundTool, query: str, *, top_k: int) -> TableAnswer:
        """Returns the best `top_k` chunks; none if nothing is indexed yet."""
        asked = self._store_query(mcp_id, tool, query)
        ranking = _ranking(self._found(tool, asked, depth=_depth(top_k)))
        current = self.records.current_chunks(mcp_id, tool.id, list(ranking))
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
        """Returns how `__call__` answers the same question.

        `expected` is an absolute json_pointer. `without` switches off rules of understanding.
        """
        asked = self._store_query(mcp_id, tool, query, mode=mode, without=without)
        question = asked.understood
        candidates = self._candidates(mcp_id, tool, question, self._found(tool, asked, depth=_depth(top_k)))
        if expected is None or not is_within(expected, tool.json_path):
            return TableExplanation(question, _index(tool), candidates, degraded=asked.degraded)
        chunks = _of(expected, candidates)
        if not chunks:
            deep = self._found(tool, asked, depth=_EXPLANATION_DEPTH)
            chunks = _of(expected, self._candidates(mcp_id, tool, question, deep))
        if not chunks:
            # A search in its own scope gives scores, but no rank.
            alone = self._found(tool, asked, depth=_EXPLANATION_DEPTH, scope=expected)
            chunks = _of(expected, self._candidates(mcp_id, tool, question, alone, are_ranked=False))
        return TableExplanation(question, _index(tool), candidates, chunks, asked.degraded)

    def _store_query(
        self, mcp_id: str, tool: BoundTool, query: str, *, mode: SearchMode = "both", without: Set[str] = frozenset()
    ) -> _StoreQuery:
        known = self.records.known_words(mcp_id, tool.id, query, lexicon_lookup(query))
        question = analyze_query(query, known, without=without)
        vector, degraded = question_vector(self.embedder, question.text, mode=mode)
        return _StoreQuery(
            question,
            vector=vector,
            slots=() if mode == "vectors" else question.slots,
            text="" if mode == "vectors" else query,
            degraded=degraded,
        )

    def _found(self, tool: BoundTool, asked: _StoreQuery, *, depth: int, scope: str | None = None) -> Found:
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
        current = self.records.current_chunks(mcp_id, tool.id, list(ranking))
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
    """The searches of all index versions of a deployment."""

    def table_search(self, version: str | None = None) -> SearchTable:
        """Returns the search of the live or the named index version. Raises `NotFound` if there is none."""


def _depth(top_k: int) -> int:
    # More than `top_k`: a chunk that is sixth in both legs may be the best after fusion.
    return max(4 * top_k, _LEAST_DEPTH)


def _ranking(found: Found) -> dict[str, float]:
    """Returns the fused scores by doc id, best first."""
    nearest, matching = ([ScoredId(each.doc_id, each.score) for each in leg] for leg in found)
    return {each.name: each.score for each in fuse(nearest, matching)}


def _of(pointer: str, candidates: Sequence[TableCandidate]) -> tuple[TableCandidate, ...]:
    return tuple(each for each in candidates if each.chunk.json_pointer == pointer)


def _index(tool: BoundTool) -> dict[str, Any]:
    return {"state": tool.index.get("state", "pending"), "indexed_at": tool.index.get("indexed_at")}


def _matched(question: AnalyzedQuery, text: str) -> tuple[str, ...]:
    return matched_words(text, [each.term for slot in question.slots if slot.kind == "word" for each in slot.terms])
