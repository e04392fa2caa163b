"""The answer of `search_knowledge`: whole explanations within a budget, of one question or several."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from itertools import accumulate
from typing import Protocol

from sakuin.arguments import SearchArguments
from sakuin.knowledge.excerpt import excerpt, part_of
from sakuin.knowledge.model import Hit, KnowledgeAnswer
from sakuin.knowledge.names import with_links
from sakuin.knowledge.postgres_search import ReadKnowledge
from sakuin.knowledge.search import KnowledgeSearches
from sakuin.language.questions.function_words import stop_words
from sakuin.language.unicode_text import estimated_tokens
from sakuin.mcp.answers import (
    LEAST_RESULTS,
    Answer,
    RecordRefused,
    add_fitting,
    add_link_note,
    add_not_in_scope,
    cursor_of,
    is_weak,
    numbers_of,
)
from sakuin.mcp.knowledge.headings import outline_of
from sakuin.mcp.knowledge.reading import markdown_of
from sakuin.platform.telemetry import Meter, count_search

# Longer items of `learns` are cut in results, so that five results always fit. get_chunk_by_id has them whole.
_ITEM_LENGTH = 150
# A shorter part of `content`, in tokens, tells little more than `excerpt`.
_LEAST_PART = 100
# The tokens that other members leave for the text of the best result, and those with which five results come.
_LEAST_CONTENT, _FOR_FIVE = 300, 1000
# A text that does not fit comes as a part with at most this share of the tokens.
_PART = 0.4
# A result with less than this share of the best similarity has no `content`.
_NEAR = 0.3
# A shorter text, in tokens, is the introduction of the sections below it, if there are any.
_INTRODUCTION = 40
# Between two members; `truncated` and `next_cursor`.
_MARKS, _MORE = 5, 40
_WORD = re.compile(r"\w{3,}")
_READ_ON = "… (cut: read_page with this url reads on)"


class SearchedLibrary(Protocol):
    """The parts of the tools that a search needs."""

    @property
    def searches(self) -> KnowledgeSearches: ...
    @property
    def read(self) -> ReadKnowledge: ...
    @property
    def meter(self) -> Meter: ...
    @property
    def record_refused(self) -> RecordRefused: ...


def answers_of(library: SearchedLibrary, wanted: SearchArguments, *, top_k: int) -> Sequence[KnowledgeAnswer]:
    """Returns the answer to each question, and counts and records it."""
    filters = library.read.within(wanted.filters)
    found = library.searches.knowledge_search().answers(wanted.questions, top_k=top_k, filters=filters)
    for each in found:
        count_search(library.meter, "Searches", is_empty=each.no_good_match, degraded=each.degraded)
        # By words alone, an answer may not have been found.
        weak = not each.no_good_match and is_weak(hit.similarity for hit in each.results)
        if (each.no_good_match or weak) and each.degraded is None:
            library.record_refused(each.query, None, weak)
    if not any(each.results for each in found):
        library.read.check_filters(filters)
    return found


def search_knowledge(library: SearchedLibrary, wanted: SearchArguments) -> Answer:
    """Answers `search_knowledge`. A cursor has the number of results before it, and the `top_k` of the first call.

    Of several questions, the results are all in one list. Of a refused question, they have a text only if `max_tokens`
    asks for it.
    """
    read = library.read
    question = ("search_knowledge", wanted.questions, asdict(read.within(wanted.filters)))
    start, end = (0, wanted.top_k) if wanted.cursor is None else numbers_of(wanted.cursor, *question)
    found = answers_of(library, wanted, top_k=end)
    hits = _fused(found, limit=end) if wanted.queries else found[0].results
    is_refused = all(each.no_good_match for each in found)
    answer: Answer = {"query": found[0].query} if not wanted.queries else {}
    answer |= {"results": [], "no_good_match": is_refused} | ({} if wanted.queries else _of_question(found[0]))
    if wanted.queries:
        answer["queries"] = [
            {"query": each.query, "no_good_match": each.no_good_match, **_of_question(each), "results": []}
            for each in found
        ]
    for name in ("degraded", "uncalibrated"):
        if said := next((said for each in found if (said := getattr(each, name))), None):
            answer[name] = said
    if not hits and (hint := read.hint(read.within(wanted.filters))):
        answer["hint"] = hint
    add_link_note(answer, read.base_url, has_links=bool(hits))
    if is_refused and "max_tokens" not in wanted.model_fields_set:
        results = [_nearest(hit) for hit in hits[start:]]
    else:
        # Of a long text, only the beginning was compared with the terms of the question.
        asked = " ".join(wanted.questions)
        words = [word for word in _WORD.findall(asked) if word.lower() not in stop_words(asked)]
        results = _results(
            read, hits[start:], words, max_tokens=wanted.max_tokens and wanted.max_tokens - _tokens(answer)
        )
    shown = start + add_fitting(answer, "results", results, optional=("content",))
    for part, each in zip(answer.get("queries", ()), found, strict=False):
        own = {hit.id for hit in each.results}
        part["results"] = [place for place, hit in enumerate(hits[start:shown], 1) if hit.id in own]
    if not wanted.queries:
        add_not_in_scope(answer, found[0].not_in_scope, answer["results"])
    if shown < len(hits):
        answer["truncated"] = f"{shown} of {len(hits)} results so far. Send `next_cursor` for the others."
        answer["next_cursor"] = cursor_of(f"{shown}-{end}", *question)
    return answer


def _of_question(found: KnowledgeAnswer) -> Answer:
    members = {"understood_as": found.understood_as, "not_exact": found.not_exact}
    absent = {"not_in_scope": found.not_in_scope} if found.not_in_scope else {}
    return {name: value for name, value in members.items() if value is not None} | absent


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


def _nearest(hit: Hit) -> Answer:
    """Returns the result of a question that nothing answers."""
    return {"url": hit.url, "title": hit.title, "similarity": hit.similarity} | _optional(hit)


def _optional(hit: Hit) -> Answer:
    return ({"missing": hit.missing} if hit.missing else {}) | copies_of(hit)


def copies_of(hit: Hit) -> Answer:
    """Returns the links of the texts that are one result with a hit."""
    members = {"same_text": hit.same_text, "other_languages": hit.other_languages}
    return {name: value for name, value in members.items() if value}


def _results(read: ReadKnowledge, hits: Sequence[Hit], words: Sequence[str], *, max_tokens: int) -> list[Answer]:
    """Returns results of at most about `max_tokens` together. The best have their texts, whole as long as they fit.

    A text that is too long comes as its part around the `words` of the question. Where the other members take the
    tokens, results after the first have fewer `learns`, then the last are left for the next call. With 0 no result has
    a text.
    """
    results = [
        {
            "url": hit.url,
            "title": hit.title,
            "learns": [excerpt(item, length=_ITEM_LENGTH) for item in hit.learns],
            "excerpt": hit.excerpt,
            "similarity": hit.similarity,
            **_optional(hit),
        }
        for hit in hits
    ]
    if max_tokens <= 0 or not results:
        return results
    for hit, each in zip(hits[1:], results[1:], strict=True):
        # What rules make of the title says little more than that.
        each["learns"] = each["learns"][: 1 if hit.learns_by == "rules" else None]
    text = min(_tokens(hits[0].content), _LEAST_CONTENT)
    for most in (3, 1):
        if text + sum(map(_tokens, results[:LEAST_RESULTS])) > max_tokens:
            for each in results[1:]:
                each["learns"] = each["learns"][:most]
    sums = accumulate(map(_tokens, results), initial=text)
    least = LEAST_RESULTS if max_tokens >= _FOR_FIVE else 1
    results = results[: max(least, sum(each <= max_tokens for each in sums) - 1)]
    left = max_tokens - sum(map(_tokens, results)) - _MORE * (len(results) < len(hits))
    for hit, result in zip(hits, results, strict=False):
        if hit.similarity < _NEAR * hits[0].similarity or left < _LEAST_PART:
            break
        place = dict.fromkeys(filter(None, (hit.page_title, hit.section)))
        result["section"] = " › ".join(name for name in place if name != hit.title)
        result["content"] = content = _content(read, hit)
        left -= _tokens([result["section"], _READ_ON])
        if (tokens := _tokens(content)) > left:
            # What was asked for is around its words: the rest of so long a text is seldom read.
            length = len(content) * min(left, int(max_tokens * _PART)) // tokens
            part = part_of(content, around=[*hit.matched, *words], length=length)
            result |= {"content": f"{part}\n{_READ_ON}", "is_cut": True}
        left -= _tokens(result["content"])
    return results


def _tokens(value: object) -> int:
    """Returns the tokens of a value as JSON, with the marks between it and the next one."""
    return _MARKS + estimated_tokens(json.dumps(value, ensure_ascii=False))


def _content(read: ReadKnowledge, hit: Hit) -> str:
    """Returns the text of a hit; if it is only an introduction, with the sections below it."""
    is_introduction = estimated_tokens(hit.content) < _INTRODUCTION or hit.content.rstrip().endswith((":", "："))
    outline = outline_of(read, hit.id) if is_introduction else None
    if outline is None:
        return hit.content
    own = next((each for each in outline.headings if each.start == outline.start and each.anchor), None)
    if own is None or own.end == own.start + 1:
        return hit.content
    below = read.parts(outline.material, start=own.start + 1, end=own.end)
    texts = [
        with_links(markdown_of(read, part, outline), hit.material, read.base_url, to_pages=False) for part in below
    ]
    return "\n\n".join([hit.content, *texts])
