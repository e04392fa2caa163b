"""The search for the elements of pages that answer a question."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Protocol

from sakuin.errors import Invalid
from sakuin.knowledge.model import (
    EVERYTHING,
    Filters,
    FilterValues,
    Hit,
    KnowledgeAnswer,
    ListedConcept,
    ListedMaterial,
    Match,
    StoredChunk,
    Suggestion,
)
from sakuin.knowledge.names import chunk_id, chunk_of_link, link, split_chunk_id
from sakuin.knowledge.postgres_search import KnowledgeSearch, Lexicon, Question
from sakuin.language.model import AnalyzedQuery
from sakuin.language.questions.query_analysis import analyze_query, lexicon_lookup
from sakuin.language.vocabulary import vocabulary_of
from sakuin.platform.embedding import QuestionEmbedder
from sakuin.retrieval.calibration import GOOD_MATCH, NEAR_MATCH
from sakuin.retrieval.excerpt import EXCERPT_LENGTH, PASSAGE_LENGTH, excerpt
from sakuin.retrieval.index_version import PageIndexVersion
from sakuin.retrieval.matched_words import matched_words
from sakuin.retrieval.ranking import is_shown, suggested
from sakuin.retrieval.vectors import SearchMode, question_vector

# The best results have a passage.
_PASSAGES = 5


@dataclass(frozen=True, slots=True)
class RankedMatches:
    """How a question was understood, and its matches, good or not.

    `degraded` is a sentence about the part of the search that was unavailable.
    """

    understood: AnalyzedQuery
    matches: Sequence[Match]
    degraded: str | None = None


@dataclass(frozen=True, slots=True)
class SearchKnowledge:
    """Searches by meaning and by words. Links begin with `base_url`."""

    index: KnowledgeSearch
    lexicon: Lexicon
    embedder: QuestionEmbedder
    version: PageIndexVersion
    base_url: str

    def __call__(self, query: str, *, top_k: int = 5, filters: Filters = EVERYTHING) -> KnowledgeAnswer:
        """Returns the best `top_k` matches by falling similarity, or none if even the best is not good enough."""
        ranked = self.ranked_matches(query, limit=top_k, filters=filters)
        question, matches, degraded = ranked.understood, ranked.matches, ranked.degraded
        best = matches[0].similarity if matches else 0.0
        if best < GOOD_MATCH:
            near = [match for match in matches if match.similarity >= NEAR_MATCH]
            return KnowledgeAnswer(question, (), True, self._suggestions(near), degraded)
        shown = [match for match in matches if is_shown(match.similarity, match.matched)]
        hits = tuple(self._hit(match, has_passage=place < _PASSAGES) for place, match in enumerate(shown))
        return KnowledgeAnswer(question, hits, False, degraded=degraded)

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
        known = self.lexicon.look_up(query, lexicon_lookup(query, vocabulary), material=filters.material)
        question = analyze_query(query, known, vocabulary, without=without)
        vector, degraded = question_vector(self.embedder, question.text, mode=mode)
        matches = self.index.matches(
            Question(
                vector=vector,
                slots=question.slots if mode != "vectors" else (),
                folder_slots=question.folder_slots if mode != "vectors" else {},
                version=self.version,
                filters=filters,
                limit=limit,
                expected=expected,
                wants_example=question.wants_example,
            )
        )
        return RankedMatches(question, matches, degraded)

    def _suggestions(self, near: Sequence[Match]) -> tuple[Suggestion, ...]:
        """Returns the best of these with different titles."""
        best = suggested(near, lambda match: match.title)
        return tuple(Suggestion(each.id, each.title, link(each.material, each.anchor, self.base_url)) for each in best)

    def _hit(self, match: Match, *, has_passage: bool) -> Hit:
        body = _body(match)
        matched = matched_words(f"{match.title}\n{body}", match.matched, vocabulary_of(self.version.vocabulary))
        short = excerpt(body, around=matched, length=EXCERPT_LENGTH)
        passage = excerpt(body, around=matched, length=PASSAGE_LENGTH) if has_passage else short
        return Hit(
            id=match.id,
            url=link(match.material, match.anchor, self.base_url),
            title=match.title,
            learns=match.learns,
            excerpt=short,
            similarity=match.similarity,
            type=match.type,
            material=match.material,
            page_title=match.page_title,
            section=match.section,
            level=match.level,
            language=match.language,
            matched=matched,
            passage=passage if passage != short else None,
        )


def _body(match: Match) -> str:
    """Returns the content without its heading, which repeats the title."""
    heading, _, body = match.content.partition("\n")
    return body if match.title in heading and body.strip() else match.content


class KnowledgeSearches(Protocol):
    """The searches of all index versions of a deployment."""

    def knowledge_search(self, version: str | None = None) -> SearchKnowledge:
        """Returns the search of the live or the named index version. Raises `NotFound` if there is none."""


ENTRIES_A_PAGE = 100
# Filter values in a list or an error.
_VALUES = 50


@dataclass(frozen=True, slots=True)
class ReadKnowledge:
    """Reads chunks without searching. Links begin with `base_url`."""

    index: KnowledgeSearch
    base_url: str

    def chunks(self, names: Sequence[str], *, with_neighbours: bool = False) -> list[StoredChunk | None]:
        """Returns the chunk of each id or link, None if there is none. Raises `Invalid` for a name of another form."""
        meanings = [self._ids(name) for name in names]
        found = self.index.chunks({id for ids in meanings for id in ids}, with_neighbours=with_neighbours)
        return [next((found[id] for id in ids if id in found), None) for ids in meanings]

    def _ids(self, name: str) -> tuple[str, ...]:
        """Returns the ids that a name may mean: itself, and what it is as a link."""
        of_link = chunk_of_link(name, self.base_url)
        return (chunk_id(*split_chunk_id(name)), *([of_link] if of_link else []))

    def url(self, material: str, anchor: str) -> str:
        """Returns the link to an element."""
        return link(material, anchor, self.base_url)

    def concepts(self, filters: Filters, after: tuple[str, int] | None) -> tuple[Sequence[ListedConcept], bool]:
        """Returns concepts in the order of the pages after a material and position, and whether there are more."""
        return self.index.concepts(filters, after=after, limit=ENTRIES_A_PAGE)

    def materials(self, after: str | None) -> tuple[Sequence[ListedMaterial], bool]:
        """Returns pages by name after a name, and whether there are more."""
        return self.index.materials(after=after, limit=ENTRIES_A_PAGE)

    def filter_values(self) -> FilterValues:
        """Returns the values that filters accept."""
        return self.index.filter_values(limit=_VALUES)

    def check_filters(self, filters: Filters) -> None:
        """Raises `Invalid` for a filter whose value no chunk has, with the values that there are.

        For calls without a result: a value that some chunk has needs no check.
        """
        if filters.category is filters.level is filters.material is None:
            return
        known = self.index.filter_values(limit=_VALUES, material=filters.material)
        for name, value, alone, values in (
            ("category", filters.category, Filters(category=filters.category), known.categories),
            ("level", filters.level, Filters(level=filters.level), known.levels),
            ("material", filters.material, Filters(material=filters.material), known.materials),
        ):
            # There may be more values than are listed.
            if value is not None and value not in values and not self.index.concepts(alone, after=None, limit=1)[0]:
                raise Invalid(_unknown(name, value, values))


def _unknown(name: str, value: str, values: Sequence[str]) -> str:
    if not values:
        return f"No page has a {name}. Leave {name!r} out."
    more = " list_materials lists the others." if len(values) == _VALUES else ""
    return f"There is no {name} {value!r}. There are: {', '.join(values)}.{more}"
