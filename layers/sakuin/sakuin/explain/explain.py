"""Explains searches: the interpreted question, the scores of the best chunks, and those of an expected chunk."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sakuin.arguments import filters_of
from sakuin.errors import Invalid, NotFound
from sakuin.explain.ask_mcp import ExplanationAsked, FiltersAsked
from sakuin.explain.explanation import Expected, ExplainedHit, SearchExplanation, found_or_not, outside
from sakuin.knowledge.excerpt import excerpt
from sakuin.knowledge.model import Match
from sakuin.knowledge.names import chunk_id, link, split_chunk_id
from sakuin.knowledge.postgres_search import ReadKnowledge
from sakuin.knowledge.search import KnowledgeSearches, RankedMatches, author_text
from sakuin.language.model import AnalyzedQuery
from sakuin.language.questions.specifics import missing_from
from sakuin.retrieval.ranking import Ranked
from sakuin.retrieval.weights import LEAST_SIMILARITY
from sakuin.tables.json_pointer import is_within
from sakuin.tables.model import BoundTool
from sakuin.tables.nodes import FoundChunk
from sakuin.tables.postgres import ToolSearch
from sakuin.tables.search import TableCandidate, TableSearches
from sakuin.texts.catalogue import Texts, texts_in

# The rank of an expected chunk is searched so far.
_DEEPEST = 200

_TITLE = 40
ENGLISH = texts_in("en")


@dataclass(frozen=True, slots=True)
class ExplainKnowledge:
    """Explains `search_knowledge`."""

    searches: KnowledgeSearches
    read: ReadKnowledge

    def __call__(self, asked: ExplanationAsked, say: Texts = ENGLISH) -> SearchExplanation:
        """Explains the best chunks, even if an agent would get none. `Invalid` if the expected id is not one."""
        search, filters = self.searches.knowledge_search(asked.index), filters_of(asked.filters)
        chunk = chunk_id(*split_chunk_id(asked.expected)) if asked.expected is not None else None
        options: dict[str, Any] = {"filters": filters, "mode": asked.legs, "without": asked.without}
        judge = partial(search.ranked_matches, asked.query, expected=chunk, **options)
        judgement = judge(limit=asked.shown)
        judged = _hits(judgement, chunk, asked.shown, search.base_url)
        shown = tuple(hit for hit in judged[: asked.shown] if hit.rank is not None)
        refused, degraded = judgement.is_refused, judgement.degraded
        explanation = SearchExplanation(judgement.understood, shown, refused, LEAST_SIMILARITY, degraded=degraded)
        if chunk is None:
            return explanation
        hit = next((one for one in judged if one.id == chunk), None)
        if hit is not None and hit.rank is None:
            deep = _hits(judge(limit=_DEEPEST), chunk, _DEEPEST, search.base_url)
            hit = next((one for one in deep if one.id == chunk), None)
        if hit is not None:
            why = found_or_not(explanation, hit, say, top_k=asked.top_k)
        else:
            (stored,) = self.read.chunks([chunk])
            why = (stored and outside(stored, filters, say)) or say("why.not_indexed")
        return replace(explanation, expected=Expected(chunk, hit, why))


@dataclass(frozen=True, slots=True)
class ExplainTool:
    """Explains Search Tools."""

    records: ToolSearch
    searches: TableSearches

    def __call__(self, asked: ExplanationAsked, say: Texts = ENGLISH) -> SearchExplanation:
        """Explains the best chunks. The expected one is an absolute json_pointer."""
        mcp_id, expected = str(asked.mcp_id), asked.expected
        tool = self._tool(mcp_id, str(asked.tool))
        search = self.searches.table_search(asked.index)
        table = search.explanation(mcp_id, tool, asked.query, expected=expected, mode=asked.legs, without=asked.without)
        explanation = SearchExplanation(
            understood=table.understood,
            results=tuple(_table_hit(each, table.understood) for each in table.candidates[: asked.shown]),
            refused=table.is_refused,
            threshold=LEAST_SIMILARITY,
            index_state=tool.state,
            degraded=table.degraded,
        )
        if expected is None:
            return explanation
        hit = next((_table_hit(each, table.understood) for each in table.expected), None)
        if hit is not None:
            why = found_or_not(explanation, hit, say, top_k=asked.top_k)
        elif not is_within(expected, tool.json_path):
            why = say("why.outside_tool", path=tool.json_path or say("why.whole_table"))
        else:
            why = say("why.no_node")
        return replace(explanation, expected=Expected(expected, hit, why))

    def _tool(self, mcp_id: str, name: str) -> BoundTool:
        endpoint = self.records.endpoint(mcp_id)
        if endpoint is None:
            raise NotFound("The MCP endpoint does not exist or is disabled. Correct SAKUIN_TOOLS_MCP_URL")
        for tool in endpoint.tools:
            if tool.name == name:
                return tool
        names = ", ".join(tool.name for tool in endpoint.tools) or "no tools"
        raise NotFound(f"The endpoint has no tool {name!r}. It has {names}")


@dataclass(frozen=True, slots=True)
class Explain:
    """Explains a search of the library or of a Search Tool."""

    knowledge: ExplainKnowledge
    tool: ExplainTool

    def __call__(self, asked: ExplanationAsked, say: Texts = ENGLISH) -> SearchExplanation:
        """Returns the explanation; `say` writes the reason."""
        if asked.tool is None:
            return self.knowledge(asked, say)
        if asked.mcp_id is None:
            raise Invalid("Send mcp_id, the endpoint of the tool")
        if asked.filters != FiltersAsked():
            raise Invalid("A Search Tool has no filters. Omit them")
        return self.tool(asked, say)


def _hits(judgement: RankedMatches, expected: str | None, limit: int, base_url: str) -> list[ExplainedHit]:
    """Returns the matches with their ranks. A match that is included only because it was expected has none."""
    hits = [_hit(match, rank, judgement.understood, base_url) for rank, match in enumerate(judgement.matches, 1)]
    if hits and hits[-1].id == expected and (len(hits) > limit or not _has_evidence(hits[-1])):
        hits[-1] = replace(hits[-1], rank=None)
    return hits


def _hit(match: Match, rank: int, question: AnalyzedQuery, base_url: str) -> ExplainedHit:
    return ExplainedHit(
        rank=rank,
        id=match.id,
        title=match.title,
        url=link(match.material, match.anchor, base_url, text=match.content),
        type=match.type,
        missing=missing_from(author_text(match), question),
        **_evidence(match.ranked, match),
    )


def _evidence(ranked: Ranked, found: Match | FoundChunk) -> dict[str, Any]:
    """Returns the score of a chunk and its parts, by the members of a hit."""
    return {
        "similarity": ranked.similarity,
        "evidence": ranked.evidence,
        "cosine": found.cosine,
        "z": ranked.z,
        "words": ranked.words.share,
        "nearest_rank": found.nearest_rank,
        "matching_rank": found.matching_rank,
        "matched": ranked.words.matched,
    }


def _has_evidence(hit: ExplainedHit) -> bool:
    """Returns whether the chunk was found by meaning or by words, or has words of the question."""
    return hit.nearest_rank is not None or hit.matching_rank is not None or bool(hit.words)


def _table_hit(candidate: TableCandidate, question: AnalyzedQuery) -> ExplainedHit:
    chunk = candidate.chunk
    return ExplainedHit(
        rank=candidate.rank,
        id=chunk.json_pointer,
        title=excerpt(chunk.chunk_text, length=_TITLE),
        chunk_index=chunk.chunk_index,
        missing=missing_from(chunk.chunk_text, question),
        **_evidence(candidate.ranked, candidate.found),
    )
