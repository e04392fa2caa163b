"""The search for the elements of pages that answer a question."""

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Protocol

from sakuin.knowledge.excerpt import excerpt, matched_words
from sakuin.knowledge.markdown import plain_text
from sakuin.knowledge.model import EVERYTHING, Filters, Hit, KnowledgeAnswer, Match, learns_author
from sakuin.knowledge.names import link
from sakuin.knowledge.postgres_search import DEPTH, ChunkSearch, IndexAnswer, Question
from sakuin.language.model import AnalyzedQuery, LexiconEntries, LexiconLookup
from sakuin.language.questions.query_analysis import analyze_query, lexicon_lookup
from sakuin.language.unicode_text import folded
from sakuin.language.vocabulary import Vocabulary, vocabulary_of
from sakuin.platform.embedding import QuestionEmbedder
from sakuin.retrieval.index_version import PageIndexVersion
from sakuin.retrieval.ranking import shown
from sakuin.retrieval.vectors import SearchMode, question_vector

# A sign of inches is no quotation mark.
_QUOTED = re.compile(
    r'(?<![\w"])"([^"\n]{2,200})"(?!\w)|「([^「」\n]{2,200})」|[“„]([^“„”\n]{2,200})[”“]|«([^«»\n]{2,200})»'
)
_NOT_EXACT = "None of the nearest explanations has {} exactly. find_text searches the text of all pages."


@dataclass(frozen=True, slots=True)
class RankedMatches:
    """How a question was understood, and its matches in an index version, good or not.

    `degraded` is a sentence about the part of the search that was unavailable. `asked` is the query to the index.
    """

    understood: AnalyzedQuery
    asked: Question
    answer: IndexAnswer
    degraded: str | None = None

    @property
    def matches(self) -> Sequence[Match]:
        """Returns the matches, best first."""
        return self.answer.matches

    @property
    def version(self) -> PageIndexVersion:
        """Returns the index version that was searched."""
        return self.asked.version

    @property
    def is_refused(self) -> bool:
        """Whether not even the best is good enough: the answer is `no_good_match`."""
        return not (self.matches and self.matches[0].ranked.is_good)


class Words(Protocol):
    """The words of the indexed texts, and synonyms: those in Postgres, or of pages that are not pushed yet."""

    def look_up(self, query: str, words: LexiconLookup, filters: Filters = EVERYTHING) -> LexiconEntries:
        """Returns what is known about the words of `query`; it may be nothing."""


@dataclass(frozen=True, slots=True)
class SearchKnowledge:
    """Answers a question as it is asked: analyzes and embeds it, and searches its chunks. Links begin with `base_url`.

    `newer` gives the search of the live index version by its id; None if it is this one.
    """

    index: ChunkSearch
    lexicon: Words
    embedder: QuestionEmbedder
    version: PageIndexVersion
    base_url: str
    newer: "Callable[[str | None], SearchKnowledge | None]" = lambda _live: None

    def __call__(self, query: str, *, top_k: int = 5, filters: Filters = EVERYTHING) -> KnowledgeAnswer:
        """Returns the best `top_k` matches by falling similarity; at most three if even the best is not good enough."""
        phrases = quoted_phrases(query)
        # The order is the same for every limit.
        ranked = self.ranked_matches(query, limit=max(top_k, 2 * DEPTH) if phrases else top_k, filters=filters)
        matches, degraded = ranked.matches[:top_k], ranked.degraded
        exact = [each for each in ranked.matches if _has(each, phrases)][:top_k] if phrases else []
        is_weak = ranked.is_refused and not exact
        results = exact or shown(matches, is_weak=is_weak)
        vocabulary = vocabulary_of(ranked.version.vocabulary)
        hits = tuple(self._hit(match, vocabulary) for match in results)
        question = ranked.understood.with_results(match.ranked.words.matched for match in results)
        not_exact = _NOT_EXACT.format(" ".join(f"“{each}”" for each in phrases)) if phrases and not exact else None
        return KnowledgeAnswer(question, hits, is_weak, degraded, not_exact)

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
        vocabulary = vocabulary_of(self.version.vocabulary)
        words = self.lexicon.look_up(query, lexicon_lookup(query, vocabulary), filters)
        if (newer := self.newer(words.live)) is not None:
            return newer.ranked_matches(
                query, limit=limit, filters=filters, mode=mode, without=without, expected=expected
            )
        question = analyze_query(query, words, vocabulary, without=without)
        vector, degraded = question_vector(self.embedder, question.text, mode=mode)
        asked = Question(
            vector=vector,
            slots=question.slots if mode != "vectors" else (),
            folder_slots=question.folder_slots if mode != "vectors" else {},
            version=self.version,
            filters=filters,
            limit=limit,
            expected=expected,
            wants_example=question.wants_example,
        )
        return RankedMatches(question, asked, self.index.answer(asked), degraded)

    def _hit(self, match: Match, vocabulary: Vocabulary) -> Hit:
        body = plain_text(match.body)
        matched = matched_words(f"{match.title}\n{body}", match.ranked.words.matched, vocabulary)
        return Hit(
            id=match.id,
            url=link(match.material, match.anchor, self.base_url, text=match.content),
            title=match.title,
            content=match.content,
            excerpt=excerpt(body, around=matched),
            learns=_shown_learns(match),
            learns_by=learns_author(match.learns_source),
            similarity=match.ranked.similarity,
            type=match.type,
            material=match.material,
            page_title=match.page_title,
            section=match.section,
            level=match.level,
            language=match.language,
            matched=matched,
        )


def _shown_learns(match: Match) -> tuple[str, ...]:
    """Returns the whole list of an author or a model; of the items that rules made, the shortest.

    An item that only names the title again is none, if there is another.
    """
    if match.learns_source not in ("rules", "provisional"):
        return match.learns
    others = [item for item in match.learns if match.title not in item]
    return (min(others or match.learns, key=len),)


def quoted_phrases(query: str) -> list[str]:
    """Returns the phrases of a question in quotation marks."""
    found = (next(filter(None, groups)) for groups in _QUOTED.findall(query))
    return [phrase for phrase in found if phrase == phrase.strip()]


def _has(match: Match, phrases: Sequence[str]) -> bool:
    text = " ".join(folded(f"{match.title}\n{plain_text(match.content)}").split())
    return all(" ".join(folded(phrase).split()) in text for phrase in phrases)


class KnowledgeSearches(Protocol):
    """The searches of all index versions of a deployment."""

    def knowledge_search(self, version: str | None = None) -> SearchKnowledge:
        """Returns the search of the live or the named index version. Raises `NotFound` if there is none."""
