"""What golden questions answer before and after a change of pages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sakuin.errors import SakuinError
from sakuin.knowledge.postgres_search import ChunkSearch
from sakuin.knowledge.search import SearchKnowledge
from sakuin.retrieval.index_version import PageIndexVersion
from sakuin.retrieval.weights import Weights

from sakuin_cli.evaluation.labels import LabelledQuestion
from sakuin_cli.prediction.chunks import PredictedChunks
from sakuin_cli.prediction.pages import PredictedSite
from sakuin_cli.prediction.vectors import Vectors
from sakuin_cli.terminal import OnProgress

# An agent reads so many results.
FIRST = 5
# The cosines between which the vector of a text that is not embedded may be.
_EXTREMES = (1.0, -1.0)


@dataclass(frozen=True, slots=True)
class PredictedAnswer:
    """The ids of the first five results, best first, and whether the answer is `no_good_match`."""

    first: tuple[str, ...]
    refused: bool

    @property
    def opened(self) -> str | None:
        """Returns the id that an agent opens; None if it gets no good match."""
        return None if self.refused else self.first[0]

    def is_right(self, question: LabelledQuestion) -> bool:
        """Returns whether the first result is an answer, or there is none to a question without one."""
        return self.opened in question.gold if question.gold else self.refused


@dataclass(frozen=True, slots=True)
class Prediction:
    """A golden question before and after a change; None where its answer cannot be predicted."""

    question: LabelledQuestion
    before: PredictedAnswer | None
    after: PredictedAnswer | None

    @property
    def is_known(self) -> bool:
        """Returns whether it was predicted."""
        return self.before is not None and self.after is not None

    @property
    def is_lost(self) -> bool:
        """Returns whether the change takes the right answer."""
        return self._is_right(self.before) and not self._is_right(self.after) and self.is_known

    @property
    def is_gained(self) -> bool:
        """Returns whether the change brings the right answer."""
        return self._is_right(self.after) and not self._is_right(self.before) and self.is_known

    def _is_right(self, answer: PredictedAnswer | None) -> bool:
        return answer is not None and answer.is_right(self.question)


@dataclass(frozen=True, slots=True)
class Predict:
    """Answers questions over pages that are not pushed, with the search of the product."""

    version: PageIndexVersion
    weights: Weights
    vectors: Vectors

    def predictions(
        self,
        before: PredictedSite,
        after: PredictedSite,
        questions: Sequence[LabelledQuestion],
        *,
        lacks_vectors: bool,
        on_progress: OnProgress,
    ) -> list[Prediction]:
        """Returns the questions with their answers. With `lacks_vectors`, some texts of the sites have no vector."""
        total = 2 * len(questions)

        def answered(site: PredictedSite, done: int) -> list[PredictedAnswer | None]:
            answer = self.answers(site, lacks_vectors=lacks_vectors)
            answers = []
            for number, question in enumerate(questions, done + 1):
                answers.append(answer(question.query))
                on_progress("asked", number, total)
            return answers

        old = answered(before, 0)
        new = old if after.pages == before.pages and after.synonyms == before.synonyms else answered(after, len(old))
        return [Prediction(*each) for each in zip(questions, old, new, strict=True)]

    def answers(self, site: PredictedSite, *, lacks_vectors: bool = False) -> Callable[[str], PredictedAnswer | None]:
        """Returns what answers a question over a site; None if the answer depends on a vector that there is not."""
        extremes = _EXTREMES if lacks_vectors else (None,)
        searches = [self.search(site, assumed) for assumed in extremes]

        def answer(query: str) -> PredictedAnswer | None:
            given = [_answer(search, query) for search in searches]
            first = given[0]
            if first is None or any(each is None or each.opened != first.opened for each in given):
                return None
            return first

        return answer

    def search(self, site: PredictedSite, assumed: float | None = None) -> SearchKnowledge:
        """Returns the search over a site. A passage without a vector has the cosine `assumed`."""
        chunks = PredictedChunks(site, self.vectors, assumed=assumed)
        return SearchKnowledge(ChunkSearch(chunks, self.weights), chunks.words, self.vectors, self.version, base_url="")


def _answer(search: SearchKnowledge, query: str) -> PredictedAnswer | None:
    """Returns the answer of a search; None if its vector cannot be had."""
    try:
        ranked = search.ranked_matches(query, limit=FIRST)
    except SakuinError:
        return None
    return PredictedAnswer(tuple(match.id for match in ranked.matches), ranked.is_refused)
