"""The ranking of pages and Tables: one evidence from the meaning and the words of each candidate.

Words: BM25 (Robertson, Zaragoza: The Probabilistic Relevance Framework, 2009) as a share of the greatest possible sum,
so that it means the same in every question. Meaning: the cosine in standard deviations above that of unrelated texts.
Their sum is a convex combination (Bruch, Gai, Ingber: An Analysis of Fusion Functions for Hybrid Retrieval, TOIS 2023)
with bounds that do not depend on the other candidates. From it the evidence is subtracted that texts reach which do
not answer the question. Measured: docs/decisions/0050-one-ranking.md, 0065-what-unrelated-texts-reach.md,
0078-an-answer-stands-out.md and 0079-near-misses.md.
"""

import heapq
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, pstdev

from sakuin.language.model import Slot
from sakuin.retrieval.calibration import NEAR_MATCH, Calibration

# With fewer texts the best by chance is no worse: measured with 25 to 376.
_FEWEST = 50
# The text with which the nearest are compared: few questions have as many answers.
_TENTH = 10
# Enough to order two concepts.
_JUST_ABOVE = 0.01


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a store knows of a chunk. `impacts`: the impact, (0-1], of each of the question's terms that it has.

    `cosine` is None without a vector of the question or of the chunk. `illustrates` are the ids of the concepts that an
    example shows.
    """

    id: str
    cosine: float | None
    impacts: Mapping[str, float] = field(default_factory=dict)
    is_example: bool = False
    illustrates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WordMatch:
    """How much of a question's words a candidate has.

    `share`, 0-1: of the greatest possible sum. `covered`, 0-1: the same if how often the candidate has a word did not
    count. `matched`: the words that it has, those that count most first.
    """

    share: float = 0.0
    covered: float = 0.0
    matched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with the parts of its score, best first in a ranking.

    `similarity`, 0-1, means the same in every question. `z`: the cosine in standard deviations. `words`: the share
    of the question's words, 0-1. `matched`: the words of the question that it has, those that count most first.
    """

    id: str
    similarity: float
    evidence: float
    z: float
    words: float
    matched: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Frequencies:
    """In how many of `total` chunks each term of a question is."""

    total: int
    chunks: Mapping[str, float]

    def rarity(self, term: str) -> float:
        """Returns the inverse document frequency of BM25."""
        n = self.chunks.get(term, 0)
        return math.log(1 + (self.total - n + 0.5) / (n + 0.5))


@dataclass(frozen=True, slots=True)
class Background:
    """What texts that do not answer a question reach.

    `mean`, `spread`: mean and standard deviation of their cosines. `noise`: the share of the words that counts half.
    `best`: the evidence of the best of them: by chance, because many texts are near to the question, because of some
    words of a question whose other words no text has, or because the index has none of the concepts that it names.
    """

    mean: float
    spread: float
    noise: float
    best: float

    def deviations(self, cosine: float | None) -> float:
        """Returns how many standard deviations a cosine is above the mean; 0 without a cosine."""
        return (cosine - self.mean) / self.spread if cosine is not None and self.spread > 0 else 0.0


def word_matches(
    slots: Sequence[Slot], frequencies: Frequencies, candidates: Sequence[Candidate]
) -> dict[str, WordMatch]:
    """Returns by id what each candidate has of the question's words.

    The value of a slot in a chunk is that of the best of its terms: weight * rarity * impact.
    """
    gains = [
        (slot.kind, [(each.term, each.weight * frequencies.rarity(each.term)) for each in slot.terms]) for slot in slots
    ]
    possible = sum(_greatest(slot, frequencies) for slot in slots)
    matches = {}
    for candidate in candidates:
        values: dict[str, float] = {}
        total = covered = 0.0
        for kind, terms in gains:
            found = [(gain * candidate.impacts[term], gain, term) for term, gain in terms if term in candidate.impacts]
            if found:
                value, _, term = max(found)
                total += value
                covered += max(gain for _, gain, _ in found)
                if kind == "word":
                    values[term] = max(value, values.get(term, 0.0))
        matched = tuple(sorted(values, key=lambda term: (-values[term], term)))
        matches[candidate.id] = WordMatch(total / possible, covered / possible, matched) if possible else WordMatch()
    return matches


def _greatest(slot: Slot, frequencies: Frequencies) -> float:
    """Returns the greatest value of a slot: of a term that some chunk has, unless all such terms weigh less."""
    present = [each for each in slot.terms if frequencies.chunks.get(each.term)]
    heaviest = max(each.weight for each in slot.terms)
    terms = present if any(each.weight == heaviest for each in present) else slot.terms
    return max(each.weight * frequencies.rarity(each.term) for each in terms)


def names_absent_concepts(slots: Sequence[Slot], frequencies: Frequencies) -> bool:
    """Whether the question names concepts of the vocabulary, and the index has none of them in any spelling.

    A concept all of whose words are in the index may be there in words that the vocabulary does not know.
    """
    naming = [slot.terms for slot in slots if any(term.is_concept for term in slot.terms)]
    chunks = frequencies.chunks
    if any(term.is_concept and chunks.get(term.term) for terms in naming for term in terms):
        return False
    return any(not any(chunks.get(term.term) for term in terms) for terms in naming)


def known_share(slots: Sequence[Slot], frequencies: Frequencies, *, by_rarity: bool = False) -> float:
    """Returns the share of the question's words or of its grams that some chunk has, 0-1, whichever is greater.

    It is near zero if the index is in another language than the question. With `by_rarity` each counts as much as it
    can add to the sum of BM25.
    """
    whole: dict[str, float] = defaultdict(float)
    covered: dict[str, float] = defaultdict(float)
    for slot in slots:
        value = _greatest(slot, frequencies) if by_rarity else 1.0
        whole[slot.kind] += value
        covered[slot.kind] += value if any(frequencies.chunks.get(each.term) for each in slot.terms) else 0.0
    return max((covered[kind] / value for kind, value in whole.items() if value), default=0.0)


def background(
    sample: Collection[float],
    candidates: Sequence[Candidate],
    words: Mapping[str, WordMatch],
    calibration: Calibration,
    slots: Sequence[Slot],
    frequencies: Frequencies,
) -> Background:
    """Returns the background of a question from its cosines with a sample of the index, all candidates, their words.

    The mean of the model is that of texts in the language of the question. If the index has less than half of the
    question's words, the mean of the sample counts too: across languages all cosines are lower. Words count less if
    the question has few and no text has all of them. Common words count less if no text has the question's rare words
    (三角 of 三角州). Without cosines they are the only evidence.
    """
    mean, spread = calibration.unrelated_mean, calibration.unrelated_spread
    if mean is None:
        mean, spread = (fmean(sample), pstdev(sample)) if sample else (0.0, 0.0)
    elif sample:
        foreign = max(0.0, 1 - 2 * known_share(slots, frequencies))
        mean = (1 - foreign) * mean + foreign * fmean(sample)
    nowhere = max(0.0, 1 - max((each.covered for each in words.values()), default=0.0))
    result = Background(mean, spread, nowhere * calibration.noise_terms / max(len(slots), 1), best=0.0)
    # The expected maximum of so many values of a normal distribution.
    best = math.sqrt(2 * math.log(max(frequencies.total, _FEWEST)))
    # Copies of a text, as in versions of a manual, have one cosine and are one text.
    nearest = heapq.nlargest(_TENTH, {each.cosine for each in candidates if each.cosine is not None})
    if len(nearest) == _TENTH:
        best += calibration.crowd_weight * result.deviations(nearest[-1])
    if names_absent_concepts(slots, frequencies):
        best += calibration.absent_penalty
    if slots:
        lacking = calibration.lacking_weight * (1 - known_share(slots, frequencies, by_rarity=True))
        best += lacking * _words_of_best(candidates, words, result, calibration)
    return replace(result, best=best)


def _words_of_best(
    candidates: Iterable[Candidate], words: Mapping[str, WordMatch], unrelated: Background, calibration: Calibration
) -> float:
    """Returns the evidence by words of the candidate with the most evidence; 0 if there are only words."""
    sums = []
    for each in candidates:
        if each.cosine is not None and each.id in words:
            of_words = calibration.words(words[each.id].share, unrelated.noise)
            sums.append((unrelated.deviations(each.cosine) + of_words, of_words))
    return max(sums, default=(0.0, 0.0))[1]


def rank(
    candidates: Sequence[Candidate],
    words: Mapping[str, WordMatch],
    unrelated: Mapping[str, Background],
    calibration: Calibration,
    *,
    lowers_examples: bool = False,
) -> list[Ranked]:
    """Returns the candidates by falling similarity, ties by id.

    `words` are those of `word_matches`, `unrelated` is the `background` of each. With `lowers_examples` an example
    ranks below the concepts that it shows: it has less evidence, and the best of its concepts has at least the evidence
    of the example without that penalty. But it passes no concept that has more evidence of its own than the example has
    with the penalty.
    """
    evidence, z, before = {}, {}, {}
    for each in candidates:
        z[each.id] = unrelated[each.id].deviations(each.cosine)
        of_words = calibration.words(words[each.id].share, unrelated[each.id].noise)
        before[each.id] = z[each.id] + of_words - unrelated[each.id].best
        penalty = calibration.example_penalty if lowers_examples and each.is_example else 0.0
        evidence[each.id] = before[each.id] - penalty
    placed = dict(evidence)
    if lowers_examples:
        own_evidence = ((each.id, evidence[each.id]) for each in candidates if not each.is_example)
        concepts = heapq.nlargest(2, own_evidence, key=lambda concept: concept[1])
        for each in candidates:
            shown = [name for name in each.illustrates if name in evidence]
            if each.is_example and shown:
                best = min(shown, key=lambda name: (-evidence[name], name))
                first = next((own for name, own in concepts if name != best), -math.inf)
                own = max(evidence[best], evidence[each.id] + _JUST_ABOVE)
                lifted = before[each.id] if own >= first else max(own, min(before[each.id], first - _JUST_ABOVE))
                placed[best] = max(placed[best], lifted)
    order = sorted(candidates, key=lambda each: (-placed[each.id], each.id))
    return [
        Ranked(
            id=each.id,
            similarity=round(calibration.similarity(placed[each.id]), 4),
            evidence=evidence[each.id],
            z=z[each.id],
            words=words[each.id].share,
            matched=words[each.id].matched,
        )
        for each in order
    ]


def is_shown(similarity: float, matched: Sequence[str]) -> bool:
    """Whether a result stands beside a good one. The others fill a list and answer nothing."""
    return similarity >= NEAR_MATCH or bool(matched)
