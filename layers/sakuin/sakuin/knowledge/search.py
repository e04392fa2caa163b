"""Answers a question with links to the elements that answer it, or with no good match."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Protocol

from sakuin.knowledge.model import EVERYTHING, Concept, Filters, Hit, KnowledgeAnswer, Match, StoredChunk
from sakuin.knowledge.names import chunk_id, link, split_chunk_id
from sakuin.knowledge.postgres_search import KnowledgeSearch, Lexicon, Question
from sakuin.language.questions.question import AnalyzedQuery
from sakuin.language.questions.understanding import analyze_query, words_to_look_up
from sakuin.platform.embedding import QuestionEmbedder
from sakuin.retrieval.calibration import GOOD_MATCH, NEAR_MATCH
from sakuin.retrieval.excerpt import EXCERPT_LENGTH, excerpt
from sakuin.retrieval.index_version import PageIndexVersion
from sakuin.retrieval.legs import Legs
from sakuin.retrieval.matched_words import matched_words
from sakuin.retrieval.question_vectors import question_vector

_SUGGESTIONS = 3


@dataclass(frozen=True, slots=True)
class RankedMatches:
    """How a question was understood, and what `KnowledgeSearch` finds for it, good enough or not.

    `degraded` says in a sentence what the search had to do without.
    """

    understood: AnalyzedQuery
    matches: Sequence[Match]
    degraded: str | None = None


@dataclass(frozen=True, slots=True)
class SearchKnowledge:
    """Searches by meaning and by words; links begin with `base_url`."""

    index: KnowledgeSearch
    lexicon: Lexicon
    embedder: QuestionEmbedder
    fingerprint: PageIndexVersion
    base_url: str

    def __call__(self, query: str, *, top_k: int = 5, filters: Filters = EVERYTHING) -> KnowledgeAnswer:
        """The best `top_k` of what the filters leave, by falling similarity; all of them, or none at all."""
        ranked = self.ranked_matches(query, limit=top_k, filters=filters)
        question, matches, degraded = ranked.understood, ranked.matches, ranked.degraded
        best = matches[0].similarity if matches else 0.0
        if best < GOOD_MATCH:
            near = [match.title for match in matches if match.similarity >= NEAR_MATCH]
            return KnowledgeAnswer(question, (), True, tuple(dict.fromkeys(near))[:_SUGGESTIONS], degraded)
        return KnowledgeAnswer(question, tuple(self._hit(match) for match in matches), False, degraded=degraded)

    def ranked_matches(
        self,
        query: str,
        *,
        limit: int,
        filters: Filters = EVERYTHING,
        legs: Legs = "both",
        without: Set[str] = frozenset(),
        expected: str | None = None,
    ) -> RankedMatches:
        """What is found, by words alone where the question cannot be embedded.

        `legs` may leave one out, `without` rules of understanding; `expected` is judged wherever it ranks.
        """
        question = analyze_query(query, self.lexicon.look_up(query, words_to_look_up(query)), without=without)
        vector, degraded = question_vector(self.embedder, question.text, legs=legs)
        matches = self.index.matches(
            Question(
                vector=vector,
                slots=question.slots if legs != "vectors" else (),
                fingerprint=self.fingerprint,
                filters=filters,
                limit=limit,
                expected=expected,
                wants_example=question.wants_example,
            )
        )
        return RankedMatches(question, matches, degraded)

    def _hit(self, match: Match) -> Hit:
        body = _body(match)
        matched = matched_words(f"{match.title}\n{body}", match.matched)
        return Hit(
            id=match.id,
            url=link(match.material, match.anchor, self.base_url),
            title=match.title,
            learns=match.learns,
            excerpt=excerpt(body, around=matched, length=EXCERPT_LENGTH),
            similarity=match.similarity,
            type=match.type,
            material=match.material,
            matched=matched,
        )


def _body(match: Match) -> str:
    """The content without its heading, which the title already says."""
    heading, _, body = match.content.partition("\n")
    return body if match.title in heading and body.strip() else match.content


class KnowledgeSearches(Protocol):
    """The searches of the index versions that a deployment keeps."""

    def knowledge_search(self, version: str | None = None) -> SearchKnowledge:
        """Returns the search of the index version that answers, or of the one that is named; `NotFound` if none is."""


CONCEPTS_A_PAGE = 100


@dataclass(frozen=True, slots=True)
class ReadKnowledge:
    """Reads the index without searching; links begin with `base_url`."""

    index: KnowledgeSearch
    base_url: str

    def chunk(self, id: str) -> tuple[StoredChunk, str]:
        """The chunk with its link. An id of the wrong shape raises `Invalid`, one that is not there `NotFound`."""
        found = self.index.chunk(chunk_id(*split_chunk_id(id)))
        return found, link(found.material, found.anchor, self.base_url)

    def concepts(self, filters: Filters, cursor: str | None) -> tuple[list[tuple[Concept, str]], str | None]:
        """A page of concepts with their links, in the order of the library, and the next page's cursor."""
        concepts, following = self.index.concepts(filters, after=cursor, limit=CONCEPTS_A_PAGE)
        return [(item, link(item.material, item.anchor, self.base_url)) for item in concepts], following
