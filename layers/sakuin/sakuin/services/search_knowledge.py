"""A question becomes links to the elements that answer it, or an honest no."""

from dataclasses import dataclass

from sakuin.domain.excerpt import EXCERPT_LENGTH, excerpt
from sakuin.domain.knowledge import EVERYTHING, Filters, Hit, KnowledgeAnswer, Match
from sakuin.domain.language.analysis import terms
from sakuin.domain.material import link
from sakuin.domain.recipe import Fingerprint
from sakuin.domain.similarity import GOOD_MATCH, NEAR_MATCH
from sakuin.ports import Embedder, KnowledgeSearch, Question

_SUGGESTIONS = 3


@dataclass(frozen=True, slots=True)
class SearchKnowledge:
    """Searches by meaning and by words; links begin with `base_url`."""

    index: KnowledgeSearch
    embedder: Embedder
    fingerprint: Fingerprint
    base_url: str

    def __call__(self, query: str, *, top_k: int = 5, filters: Filters = EVERYTHING) -> KnowledgeAnswer:
        """The best `top_k` of what the filters leave, by falling similarity; all of them, or none at all."""
        words = terms(query)
        question = Question(
            vector=self.embedder.query(query),
            terms=words.keys(),
            fingerprint=self.fingerprint.id,
            filters=filters,
            limit=top_k,
        )
        matches = self.index.matches(question)
        best = matches[0].similarity if matches else 0.0
        if best < GOOD_MATCH:
            near = [match.title for match in matches if match.similarity >= NEAR_MATCH]
            return KnowledgeAnswer(query, (), True, tuple(dict.fromkeys(near))[:_SUGGESTIONS])
        around = _sought(query)
        return KnowledgeAnswer(query, tuple(self._hit(match, around) for match in matches), False)

    def _hit(self, match: Match, around: list[str]) -> Hit:
        return Hit(
            id=match.id,
            url=link(match.material, match.anchor, self.base_url),
            title=match.title,
            learns=match.learns,
            excerpt=excerpt(_body(match), around=around, length=EXCERPT_LENGTH),
            similarity=match.similarity,
            type=match.type,
            material=match.material,
        )


def _body(match: Match) -> str:
    """The content without its heading, which the title already says."""
    heading, _, body = match.content.partition("\n")
    return body if match.title in heading and body.strip() else match.content


def _sought(query: str) -> list[str]:
    return query.split()
