"""The evidence of every explanation and of every page of a site that it answers a question."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray
from sakuin.knowledge.model import EVERYTHING, HIGHEST_IMPACT
from sakuin.knowledge.postgres_search import Question
from sakuin.language.model import Slot
from sakuin.language.questions.query_analysis import analyze_query, lexicon_lookup
from sakuin.language.vocabulary import vocabulary_of
from sakuin.retrieval.ranking import Frequencies, greatest_value, known_share, unrelated
from sakuin.retrieval.weights import Scale

from sakuin_cli.prediction.answers import Predict
from sakuin_cli.prediction.chunks import PredictedChunks
from sakuin_cli.prediction.pages import PredictedSite

Array = NDArray[np.float64]


FEATURES = ("evidence", "nearest", "passages")
# The typical page counts as much as so many pages of the site.
_TYPICAL = 1
# So many passages that are nearest to an exercise say how near a page is.
_NEAREST = 3


@dataclass(frozen=True, slots=True)
class PageWeights:
    """The learned weights of the features of a page: a conditional logistic regression, in which no page is a choice.

    `typical` are the features of a page that does not teach an exercise. `untaught` is the score of no page, for each
    page of the site. docs/decisions/0176-which-page-or-none.md.
    """

    weights: Array
    typical: Array
    untaught: float

    def beyond(self, features: Array) -> Array:
        """Returns what the features of each page are beyond those of the mean page."""
        mean = (_TYPICAL * self.typical + features.sum(axis=0)) / (_TYPICAL + len(features))
        difference: Array = features - mean
        return difference

    def scores(self, features: Array) -> Array:
        """Returns the score of each page."""
        scores: Array = self.beyond(features) @ self.weights
        return scores

    def taught(self, scores: Array) -> float:
        """Returns the probability, 0-1, that a page teaches it, with four decimals."""
        of_pages = float(np.logaddexp.reduce(scores)) - np.log(len(scores))
        return round(float(1 / (1 + np.exp(self.untaught - of_pages))), 4)


@cache
def page_weights() -> PageWeights:
    """Returns the weights that `python -m benchmarks.exercises` learned."""
    learned = json.loads(files(__package__).joinpath("page_weights.json").read_text("utf-8"))
    weights, typical = (np.array([learned[name][each] for each in FEATURES]) for name in ("weights", "typical"))
    return PageWeights(weights, typical, learned["untaught"])


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of the explanations and the features of the pages of a site, in their orders, and its scale."""

    explanations: Array
    pages: Array
    scale: Scale


class SiteEvidence:
    """Scores every explanation of a site by the learned weights, where a search ranks the best candidates alone.

    An exercise is long, and often taught by several explanations of a page. The learned order is a conditional logistic
    regression, so the probabilities of the explanations of a page add up: its evidence is the logarithm of their sum.
    Half of the meaning of an explanation is that of its page, the mean of all passages. Of a page
    there are FEATURES: this evidence, how near its nearest passages are, in standard deviations, and the logarithm of
    the number of its passages.
    """

    def __init__(self, predict: Predict, site: PredictedSite) -> None:
        self.predict, self.site = predict, site
        self._chunks = PredictedChunks(site, predict.vectors)
        chunks = self._chunks.chunks
        self.ids = [chunk.id for chunk in chunks]
        self.pages = list(dict.fromkeys(str(chunk.shown["material"]) for chunk in chunks))
        numbers = {page: number for number, page in enumerate(self.pages)}
        self.page_of = np.array([numbers[str(chunk.shown["material"])] for chunk in chunks])
        passages = [self._chunks.places[id] for id in self.ids]
        self._passages = np.array([place for some in passages for place in some])
        self._firsts = np.cumsum([0, *map(len, passages)])[:-1]
        page_of_passage = self.page_of.repeat(list(map(len, passages)))
        self._groups = [self._passages[page_of_passage == number] for number in numbers.values()]
        self._means = self._chunks.cosines.of_groups(self._groups)
        self._postings: dict[str, tuple[NDArray[np.int64], Array]] = {}

    def __call__(self, text: str) -> Evidence:
        """Returns the evidence of a question."""
        question, weights = self._question(text), self.predict.weights
        cosines, pages = self._chunks.cosines.of(question.vector), self._means.of(question.vector)
        frequencies = self._frequencies(question)
        known = known_share(question.slots, frequencies)
        near = unrelated(cosines[self._chunks.sample].tolist(), weights, known_share=known)
        far = unrelated(pages.tolist(), weights, known_share=known)
        z = (np.maximum.reduceat(cosines[self._passages], self._firsts) - near.mean) / near.spread
        of_page = ((pages - far.mean) / far.spread)[self.page_of]
        share, covered = self._words(question, frequencies)
        scale = weights.scale(has_words=question.has_words, has_vector=True, known_share=known, lower=near.lower)
        evidence = weights.meaning * (z + of_page) / 2 + weights.words * share + weights.covered * covered
        nearest = [np.sort(cosines[group])[-_NEAREST:].mean() for group in self._groups]
        z_of_pages = (np.array(nearest) - near.mean) / near.spread
        features = self._sums(evidence, scale.lead), z_of_pages, np.log(list(map(len, self._groups)))
        return Evidence(evidence, np.column_stack(features), scale)

    def _question(self, text: str) -> Question:
        version, words = self.predict.version, self._chunks.words
        vocabulary = vocabulary_of(version.vocabulary)
        understood = analyze_query(text, words.look_up(text, lexicon_lookup(text, vocabulary)), vocabulary)
        vector = self.predict.vectors.query(understood.text)
        folders = understood.folder_slots
        return Question(vector, understood.slots, version, EVERYTHING, limit=0, folder_slots=folders)

    def _words(self, question: Question, frequencies: Frequencies) -> tuple[Array, Array]:
        """Returns `share` and `covered` of each explanation, as `word_matches` does."""
        share, covered = self._shares(question.slots, frequencies)
        for folder, slots in question.folder_slots.items():
            inside = np.array([question.folder_of(id) == folder for id in self.ids])
            own_share, own_covered = self._shares(slots, frequencies)
            share, covered = np.where(inside, own_share, share), np.where(inside, own_covered, covered)
        return share, covered

    def _shares(self, slots: Sequence[Slot], frequencies: Frequencies) -> tuple[Array, Array]:
        share, covered = np.zeros(len(self.ids)), np.zeros(len(self.ids))
        for slot in slots:
            values, gains = np.zeros(len(self.ids)), np.zeros(len(self.ids))
            for term in slot.terms:
                numbers, impacts = self._posting(term)
                gain = frequencies.rarity(term)
                values[numbers] = np.maximum(values[numbers], gain * impacts)
                gains[numbers] = np.maximum(gains[numbers], gain)
            share += values
            covered += gains
        possible = sum(greatest_value(slot, frequencies) for slot in slots)
        return (share / possible, covered / possible) if possible else (share, covered)

    def _frequencies(self, question: Question) -> Frequencies:
        all_slots = (question.slots, *question.folder_slots.values())
        terms = {term for slots in all_slots for slot in slots for term in slot.terms}
        return Frequencies(len(self.ids), {term: float(self._chunks.words.count(term)) for term in terms})

    def _posting(self, term: str) -> tuple[NDArray[np.int64], Array]:
        """Returns the numbers of the explanations with a term, and its impact in each."""
        if term not in self._postings:
            rows = np.array(self._chunks.words.postings.get(term, ()), dtype=np.int64).reshape(-1, 2)
            self._postings[term] = rows[:, 0], rows[:, 1] / HIGHEST_IMPACT
        return self._postings[term]

    def _sums(self, evidence: Array, slope: float) -> Array:
        """Returns for each page the logarithm of the sum of the exponentials of its scores; `slope` is its base."""
        best = np.full(len(self.pages), -np.inf)
        np.maximum.at(best, self.page_of, evidence)
        sums = np.zeros(len(self.pages))
        np.add.at(sums, self.page_of, np.exp(slope * (evidence - best[self.page_of])))
        return best + np.log(sums) / slope
