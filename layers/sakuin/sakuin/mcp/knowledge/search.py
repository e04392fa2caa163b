"""The answer of `search_knowledge`: whole explanations within a budget, of one question or several."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from sakuin.arguments import SearchArguments
from sakuin.knowledge.excerpt import excerpt
from sakuin.knowledge.model import Hit, KnowledgeAnswer
from sakuin.mcp.answers import Answer, add_fitting, add_link_note, cursor_of, is_weak, numbers_of
from sakuin.platform.telemetry import count_search
from sakuin.retrieval.tokens import estimated_tokens

if TYPE_CHECKING:
    from sakuin.mcp.knowledge.tools import KnowledgeTools

# Longer items of `learns` are cut in results, so that five results always fit. get_chunk_by_id has them whole.
_ITEM_LENGTH = 150
# A shorter part of `content`, in tokens, tells little more than `excerpt`.
_LEAST_PART = 100


def search_knowledge(tools: "KnowledgeTools", wanted: SearchArguments) -> Answer:
    """Answers `search_knowledge`. A cursor has the number of results before it, and the `top_k` of the first call.

    Of several questions, the results are all in one list.
    """
    read = tools.read
    filters = read.within(wanted.filters)
    question = ("search_knowledge", wanted.questions, asdict(filters))
    start, end = (0, wanted.top_k) if wanted.cursor is None else numbers_of(wanted.cursor, *question)
    search = tools.searches.knowledge_search()
    found = [search(query, top_k=end, filters=filters) for query in wanted.questions]
    for each in found:
        count_search(tools.meter, "Searches", is_empty=each.no_good_match, degraded=each.degraded)
    hits = _fused(found, limit=end) if wanted.queries else found[0].results
    if not hits:
        read.check_filters(filters)
    for each in found:
        # By words alone, an answer may not have been found.
        weak = not each.no_good_match and is_weak(hit.similarity for hit in each.results)
        if (each.no_good_match or weak) and each.degraded is None:
            tools.record_refused(each.query, None, weak)
    answer: Answer = {"query": found[0].query, "results": []} | _of_question(found[0])
    if wanted.queries:
        parts = [_of_question(each) | {"ids": []} for each in found]
        answer = {"queries": parts, "results": [], "no_good_match": all(each.no_good_match for each in found)}
    if degraded := next((each.degraded for each in found if each.degraded), None):
        answer["degraded"] = degraded
    add_link_note(answer, read.base_url, has_links=bool(hits))
    results = _results(hits[start:], max_tokens=wanted.max_tokens)
    shown = start + _add_results(answer, results, found if wanted.queries else ())
    if shown < len(hits):
        answer["truncated"] = f"{shown} of {len(hits)} results so far. Send `next_cursor` for the others."
        answer["next_cursor"] = cursor_of(f"{shown}-{end}", *question)
    return answer


def _of_question(found: KnowledgeAnswer) -> Answer:
    understood = {"understood_as": found.understood_as} if found.understood_as is not None else {}
    phrases = {"not_exact": found.not_exact} if found.not_exact is not None else {}
    return {"query": found.query, **understood, "no_good_match": found.no_good_match, **phrases}


def _fused(found: Sequence[KnowledgeAnswer], *, limit: int) -> Sequence[Hit]:
    """Returns the best hits of all questions by falling similarity, each once.

    The first of each question is among them; the others are at most as many as `limit` leaves.
    """
    best: dict[str, Hit] = {}
    for hit in (hit for each in found for hit in each.results):
        if hit.id not in best or hit.similarity > best[hit.id].similarity:
            best[hit.id] = hit
    firsts = dict.fromkeys(each.results[0].id for each in found if each.results)
    by_similarity = sorted(best.values(), key=lambda hit: -hit.similarity)
    others = [hit.id for hit in by_similarity if hit.id not in firsts][: max(0, limit - len(firsts))]
    return [hit for hit in by_similarity if hit.id in firsts or hit.id in others]


def _add_results(answer: Answer, results: Sequence[Answer], questions: Sequence[KnowledgeAnswer]) -> int:
    """Adds as many results as fit, and to each of several questions the ids of its own. Returns how many."""
    own = [{hit.id for hit in question.results} for question in questions]
    for result in results if own else ():
        # As long as what it adds to the questions.
        result["ids"] = [result["id"] for ids in own if result["id"] in ids]
    shown = add_fitting(answer, "results", results, optional="content")
    for result in answer["results"]:
        result.pop("ids", None)
    for question, ids in zip(answer.get("queries", ()), own, strict=True):
        question["ids"] = [result["id"] for result in answer["results"] if result["id"] in ids]
    return shown


def _results(hits: Sequence[Hit], *, max_tokens: int) -> list[Answer]:
    """Returns results whose `content` has about `max_tokens` together: whole ones, best first, then a part of one."""
    results: list[Answer] = []
    for hit in hits:
        result = asdict(hit) | {"learns": [excerpt(item, length=_ITEM_LENGTH) for item in hit.learns]}
        tokens = estimated_tokens(hit.content)
        if tokens > max_tokens >= _LEAST_PART:
            length = len(hit.content) * max_tokens // tokens
            part = excerpt(hit.content, around=hit.matched, length=length, keeps_lines=True)
            result |= {"content": part, "is_cut": True}
        elif tokens > max_tokens:
            del result["content"]
        max_tokens = max(0, max_tokens - tokens)
        results.append(result)
    return results
