"""The search for the elements of pages that answer a question."""

import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from sakuin.knowledge.excerpt import excerpt, matched_words
from sakuin.knowledge.markdown import plain_text
from sakuin.knowledge.model import EVERYTHING, Filters, Hit, KnowledgeAnswer, Match, learns_author
from sakuin.knowledge.names import link, place_in_languages, with_links
from sakuin.knowledge.postgres_search import DEPTH, ChunkSearch, Lexicon, Question
from sakuin.language.model import NO_LACK, AnalyzedQuery, Lack, LexiconEntries, Slot
from sakuin.language.questions.query_analysis import analyze_query, lexicon_lookup
from sakuin.language.questions.specifics import lack_of, missing_from
from sakuin.language.unicode_text import folded
from sakuin.language.vocabulary import Vocabulary, vocabulary_of
from sakuin.platform.embedding import QuestionEmbedder
from sakuin.retrieval.index_version import PageIndexVersion
from sakuin.retrieval.ranking import doubted, is_shown, shown
from sakuin.retrieval.vectors import SearchMode, question_vectors
from sakuin.retrieval.weights import UNCALIBRATED

# A sign of inches is no quotation mark.
_QUOTED = re.compile(
    r'(?<![\w"])"([^"\n]{2,200})"(?!\w)|「([^「」\n]{2,200})」|[“„]([^“„”\n]{2,200})[”“]|«([^«»\n]{2,200})»'
)
# A text may stand in so many versions of a documentation, and still be one result beside all others.
_COPIES = 4
_NOT_EXACT = "None of the nearest explanations has {} exactly. find_text searches the text of all pages."


@dataclass(frozen=True, slots=True)
class RankedMatches:
    """How a question was understood, and its matches in an index version, good or not, the best first.

    `degraded` is a sentence about the part of the search that was unavailable. `asked` is the query to the index,
    `lack` what the best match lacks.
    """

    understood: AnalyzedQuery
    asked: Question
    matches: Sequence[Match]
    degraded: str | None = None
    lack: Lack = NO_LACK
    uncalibrated: str | None = None

    @property
    def version(self) -> PageIndexVersion:
        """Returns the index version that was searched."""
        return self.asked.version

    @property
    def is_refused(self) -> bool:
        """Whether not even the best is good enough: the answer is `no_good_match`."""
        return not (self.matches and self.matches[0].ranked.is_good)


@dataclass(frozen=True, slots=True)
class SearchedPages:
    """What is searched in one index version."""

    chunks: ChunkSearch
    embedder: QuestionEmbedder
    version: PageIndexVersion


@dataclass(frozen=True, slots=True)
class SearchKnowledge:
    """Answers a question as it is asked: analyzes and embeds it, and searches its chunks. Links begin with `base_url`.

    `pages` gives what is searched. It is called with the id of the live index version, as the last call told it; None
    before.
    """

    pages: Callable[[str | None], SearchedPages]
    lexicon: Lexicon
    base_url: str

    def __call__(self, query: str, *, top_k: int = 5, filters: Filters = EVERYTHING) -> KnowledgeAnswer:
        """Returns the best `top_k` matches by falling similarity; at most three if even the best is not good enough."""
        return self.answers([query], top_k=top_k, filters=filters)[0]

    def answers(self, queries: Sequence[str], *, top_k: int, filters: Filters) -> list[KnowledgeAnswer]:
        """Returns the answers of several questions, which are embedded by one request."""
        # The order is the same for every limit.
        limit = max(top_k, 2 * DEPTH) if any(map(quoted_phrases, queries)) else top_k * _COPIES
        ranked = self._ranked(queries, limit=limit, filters=filters)
        return [self._answer(query, matches, top_k) for query, matches in zip(queries, ranked, strict=True)]

    def ranked_matches(
        self,
        query: str,
        *,
        limit: int,
        filters: Filters = EVERYTHING,
        mode: SearchMode = "both",
        without: Set[str] = frozenset(),
        expected: str | None = None,
    ) -> RankedMatches:
        """Returns the best `limit` matches, found by words alone if the question cannot be embedded.

        `mode` selects the legs of the search, `without` switches off rules of understanding. `expected` is the id of
        a chunk that is scored wherever it ranks.
        """
        return self._ranked([query], limit=limit, filters=filters, mode=mode, without=without, expected=expected)[0]

    def _ranked(
        self,
        queries: Sequence[str],
        *,
        limit: int,
        filters: Filters,
        mode: SearchMode = "both",
        without: Set[str] = frozenset(),
        expected: str | None = None,
    ) -> list[RankedMatches]:
        pages = self.pages(None)
        words = self._words(queries, pages, filters)
        if (live := self.pages(words[0].live)) is not pages:
            # Another index version was activated. It may have another vocabulary.
            pages, words = live, self._words(queries, live, filters)
        vocabulary = vocabulary_of(pages.version.vocabulary)
        questions = [
            analyze_query(query, known, vocabulary, without=without)
            for query, known in zip(queries, words, strict=True)
        ]
        vectors, degraded = question_vectors(pages.embedder, [question.text for question in questions], mode=mode)
        ranked: list[RankedMatches] = []
        for question, vector in zip(questions, vectors, strict=True):
            request = Question(
                vector=vector,
                slots=question.slots if mode != "vectors" else (),
                folder_slots=question.folder_slots if mode != "vectors" else {},
                version=pages.version,
                filters=filters,
                limit=limit,
                expected=expected,
                wants_example=question.wants_example,
                asks_nothing=question.asks_nothing,
            )
            matches, lack = _doubted(pages.chunks, request, question)
            uncalibrated = None if pages.chunks.weights.is_calibrated else UNCALIBRATED
            ranked.append(RankedMatches(question, request, matches, degraded, lack, uncalibrated))
        return ranked

    def _words(self, queries: Sequence[str], pages: SearchedPages, filters: Filters) -> list[LexiconEntries]:
        vocabulary = vocabulary_of(pages.version.vocabulary)
        return [self.lexicon.look_up(query, lexicon_lookup(query, vocabulary), filters) for query in queries]

    def _answer(self, query: str, ranked: RankedMatches, top_k: int) -> KnowledgeAnswer:
        phrases = quoted_phrases(query)
        texts = {match.id: author_text(match) for match in ranked.matches}
        exact = [match for match in ranked.matches if _has(match, phrases)] if phrases else []
        is_weak = ranked.is_refused and not exact
        copies = _copies(exact or ranked.matches, texts)
        best = [match for match in ranked.matches if match.id in copies][:top_k]
        results = best if exact else shown(best, is_weak=is_weak)
        vocabulary = vocabulary_of(ranked.version.vocabulary)
        hits = tuple(self._hit([one, *copies[one.id]], texts, vocabulary, ranked.understood) for one in results)
        question = ranked.understood.with_results(match.ranked.words.matched for match in results)
        not_exact = _NOT_EXACT.format(" ".join(f"“{phrase}”" for phrase in phrases)) if phrases and not exact else None
        not_in_scope = tuple(each for each in ranked.lack.absent if all(each in hit.missing for hit in hits))
        said = (ranked.degraded, not_exact, not_in_scope, ranked.uncalibrated)
        return KnowledgeAnswer(question, hits, is_weak, *said)

    def _hit(
        self, copies: Sequence[Match], texts: Mapping[str, str], vocabulary: Vocabulary, question: AnalyzedQuery
    ) -> Hit:
        """Returns the first of the matches that are one result, with links to the others."""
        match, *others = copies
        text = texts[match.id]
        body = plain_text(match.body)
        matched = matched_words(f"{match.title}\n{body}", match.ranked.words.matched, vocabulary)
        return Hit(
            id=match.id,
            url=self._link(match),
            title=match.title,
            content=with_links(match.content, match.material, self.base_url, to_pages=False),
            excerpt=excerpt(body, around=matched),
            learns=match.learns,
            learns_by=learns_author(match.learns_source),
            similarity=match.ranked.similarity,
            type=match.type,
            material=match.material,
            page_title=match.page_title,
            section=match.section,
            level=match.level,
            language=match.language,
            matched=matched,
            missing=missing_from(text, question),
            same_text=tuple(self._link(each) for each in others if texts[each.id] == text),
            other_languages=tuple(self._link(each) for each in others if texts[each.id] != text),
        )

    def _link(self, match: Match) -> str:
        return link(match.material, match.anchor, self.base_url, text=match.content)


def _copies(matches: Sequence[Match], texts: Mapping[str, str]) -> dict[str, list[Match]]:
    """Returns, by the id of each result, the matches behind it: with the same text, and translations of it.

    Only a translation that would be shown by itself is one.
    """
    results: dict[str, list[Match]] = {}
    found: dict[object, Match] = {}
    for match in matches:
        is_result = is_shown(match.ranked, matches[0].ranked)
        place = place_in_languages(match.material, match.anchor, match.language) if is_result else None
        translated = found.get(place)
        if translated and translated.language == match.language:
            translated = None
        if first := found.get(texts[match.id]) or translated:
            results[first.id].append(match)
        else:
            results[match.id] = []
        for key in filter(None, (texts[match.id], place)):
            found.setdefault(key, first or match)
    return results


def _doubted(chunks: ChunkSearch, asked: Question, question: AnalyzedQuery) -> tuple[Sequence[Match], Lack]:
    """Returns the matches of a question, less probable by what the best of them lacks, and that."""
    matches = chunks.matches(asked)
    if not matches:
        return matches, NO_LACK
    has_terms = partial(chunks.chunks.has_terms, filters=asked.filters)
    lack = lack_of(author_text(matches[0]), question, has_terms, partial(_texts_with, chunks, asked))
    ranking = doubted([match.ranked for match in matches], lack.doubts, chunks.weights)
    return [replace(match, ranked=ranked) for match, ranked in zip(matches, ranking, strict=True)], lack


def _texts_with(chunks: ChunkSearch, asked: Question, terms: Sequence[str]) -> Sequence[str]:
    """Returns what authors wrote of the chunks that have all of some terms; nothing of too many."""
    slots = [Slot("word", (term,)) for term in terms]
    by_words = replace(asked, vector=None, slots=slots, folder_slots={}, expected=None, limit=DEPTH)
    matches = [match for match in chunks.matches(by_words) if len(match.ranked.words.matched) == len(slots)]
    return [author_text(match) for match in matches] if len(matches) < DEPTH else ()


def author_text(match: Match) -> str:
    """Returns what the author wrote of a chunk: its headings and its text."""
    return "\n".join(filter(None, (match.page_title, match.section, match.title, plain_text(match.content))))


def quoted_phrases(query: str) -> list[str]:
    """Returns the phrases of a question in quotation marks."""
    phrases = (next(filter(None, groups)) for groups in _QUOTED.findall(query))
    return [phrase for phrase in phrases if phrase == phrase.strip()]


def _has(match: Match, phrases: Sequence[str]) -> bool:
    text = " ".join(folded(f"{match.title}\n{plain_text(match.content)}").split())
    return all(" ".join(folded(phrase).split()) in text for phrase in phrases)


class KnowledgeSearches(Protocol):
    """The searches of all index versions of a deployment."""

    def knowledge_search(self, version: str | None = None) -> SearchKnowledge:
        """Returns the search of the live or the named index version. Raises `NotFound` if there is none."""
