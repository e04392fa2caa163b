"""The ranking of pages and Tables: one score from the meaning and the words of each candidate.

Words: BM25 (Robertson, Zaragoza: The Probabilistic Relevance Framework, 2009) as a share of the greatest possible sum,
so that it means the same in every question. Meaning: the cosine in standard deviations above that of unrelated texts,
so that it means the same for every model. Their weights are learned: docs/explanation/how-a-question-is-answered.md.
"""

import heapq
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Protocol, TypeVar

from sakuin.language.model import Slot
from sakuin.retrieval.weights import LEAST_SIMILARITY, NEAR_MATCH, NEAREST, Scale, Weights


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a store knows of a chunk. `impacts`: the impact, (0-1], of each of the question's terms that it has.

    `cosine`, of its nearest passage, and `head`, of its first one, are None without a vector of the question or of the
    chunk; a Table's chunks, which are cut anywhere, have no `head`. `illustrates` are the ids of the concepts that an
    example shows. `language` is empty if it is not known. `page` has it, empty for a Table; `is_box`: its author marked
    it, all else of the page are sections.
    """

    id: str
    cosine: float | None
    impacts: Mapping[str, float] = field(default_factory=dict)
    is_example: bool = False
    illustrates: tuple[str, ...] = ()
    language: str = ""
    page: str = ""
    is_box: bool = False
    head: float | None = None


@dataclass(frozen=True, slots=True)
class WordMatch:
    """How much of a question's words a candidate has.

    `share`, 0-1: of the greatest possible sum. `covered`, 0-1: the same if how often the candidate has a word did not
    count. `matched`: the words that it has, those that count most first. `scattered`, 0-1: the part of `share` that its
    text has far apart; 0 if its text was not read. `grams`, 0-1: the share of the question's character grams.
    """

    share: float = 0.0
    covered: float = 0.0
    matched: tuple[str, ...] = ()
    scattered: float = 0.0
    grams: float = 0.0


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with the parts of its score, best first in a ranking.

    `evidence` is its score, `lead` what that is ahead of all others together. `z`: the cosine in standard deviations.
    `inner`: how many of these its first passage is farther. `words`: what it has of the question's words. `behind`,
    0-1: how much of a section's words one box of its page has. `doubt`, in logits: for what the best text lacks of the
    question. `lowered`: of a refused question, whose probabilities are all below `LEAST_SIMILARITY`; `least`: what that
    of a good first result is at least.
    """

    id: str
    evidence: float
    lead: float
    scale: Scale
    z: float
    words: WordMatch
    behind: float = 0.0
    doubt: float = 0.0
    lowered: bool = False
    least: float = 0.0
    inner: float = 0.0

    @property
    def probability(self) -> float:
        """Returns the probability, 0-1, that it answers, without what its place says."""
        return self.scale.similarity(self.evidence, self.lead, self.doubt)

    @property
    def similarity(self) -> float:
        """Returns the probability, 0-1, that it answers."""
        if self.lowered:
            return min(round(LEAST_SIMILARITY * self.probability, 4), LEAST_SIMILARITY - 0.0001)
        return max(self.probability, self.least)

    @property
    def needed(self) -> float:
        """Returns the score of a good match, which is lower for a text in another language than the question."""
        return self.scale.least + self.scale.by_grams * self.words.grams

    @property
    def is_good(self) -> bool:
        """Whether it has the evidence that answers have. If the best has not, the answer is `no_good_match`."""
        return self.scale.strength(self.evidence, self.lead) >= self.needed and not self.lowered


class Result(Protocol):
    """A result of a search with its place in the ranking."""

    @property
    def ranked(self) -> Ranked: ...


R = TypeVar("R", bound=Result)


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
class Unrelated:
    """Mean and standard deviation of the cosines between a question and texts that do not answer it.

    `lower`: how many deviations the mean is below what is known of the model, since the index knows little of the
    question. `behind`: how much less score than others such texts have in a language; empty if there is one language.
    """

    mean: float
    spread: float
    lower: float = 0.0
    behind: Mapping[str, float] = field(default_factory=dict)

    def deviations(self, cosine: float | None) -> float:
        """Returns how many standard deviations a cosine is above the mean; 0 without a cosine."""
        return (cosine - self.mean) / self.spread if cosine is not None else 0.0

    def inner(self, each: Candidate) -> float:
        """Returns how many standard deviations the nearest passage is nearer than the first, or 0 without both."""
        return 0.0 if each.cosine is None or each.head is None else max(0.0, (each.cosine - each.head) / self.spread)

    def credit(self, language: str, words: WordMatch) -> float:
        """Returns what a text gets for its language: nothing if it has all grams of the question."""
        return self.behind.get(language, 0.0) * (1 - words.grams) ** 2


def known_share(slots: Sequence[Slot], frequencies: Frequencies) -> float:
    """Returns the share, 0-1, of a question's character grams that some text has; 1 without any.

    Of a question in another language than the texts it is low, of one about another subject it is not.
    """
    grams = [slot for slot in slots if slot.kind == "gram"]
    known_slots = sum(any(map(frequencies.chunks.get, slot.terms)) for slot in grams)
    return known_slots / len(grams) if grams else 1.0


def unrelated(sample: Collection[float], weights: Weights, *, known_share: float = 1.0) -> Unrelated:
    """Returns what is known of the model, and what a question's cosines with a sample of the index say.

    Between languages all cosines are lower. So the less of the question the index knows, the more its own texts say of
    the mean if they are lower: docs/explanation/how-a-question-is-answered.md.
    """
    if not sample:
        return Unrelated(weights.mean, weights.spread)
    known, of_sample = weights.known / (weights.known + len(sample)), fmean(sample)
    mean = known * weights.mean + (1 - known) * of_sample
    squares = known * weights.spread**2 + (1 - known) * fmean((each - mean) ** 2 for each in sample)
    lower, spread = (1 - known_share**2) * max(0.0, mean - of_sample), math.sqrt(squares)
    return Unrelated(mean - lower, spread, lower / spread)


def behind_by_language(
    sample: Iterable[tuple[str, float]],
    candidates: Iterable[Candidate],
    words: Mapping[str, WordMatch],
    others: Unrelated,
    weights: Weights,
) -> dict[str, float]:
    """Returns by language how much less score unrelated texts have than in the language nearest to the question.

    Between languages cosines are lower, and few words are the same: docs/explanation/how-a-question-is-answered.md.
    `sample` are languages and cosines of texts of the index. The mean of a language counts as one of its texts the mean
    of all. What words are worth is the mean of the candidates. The few texts of a small language may all be answers: up
    to its share, what it lacks counts as the mean of all, and as texts without the words.
    """
    cosines: dict[str, list[float]] = defaultdict(list)
    for language, cosine in sample:
        if language:
            cosines[language].append(cosine)
    if len(cosines) < 2:
        return {}
    of_all = fmean(cosine for some in cosines.values() for cosine in some)
    means = {language: fmean([*some, of_all]) for language, some in cosines.items()}
    nearest = max(means, key=lambda language: means[language])
    means[nearest] = _mean(cosines[nearest], sum(map(len, cosines.values())) / len(cosines), of_all)
    scores: dict[str, list[float]] = {language: [] for language in cosines}
    for each in candidates:
        if each.language in scores:
            scores[each.language].append(weights.score(0.0, words[each.id].share, words[each.id].covered))
    share = sum(map(len, scores.values())) / len(scores)
    of_words = {language: _mean(some, share, 0.0) for language, some in scores.items()}
    most = max(of_words.values())
    return {
        language: weights.meaning * max(0.0, means[nearest] - mean) / others.spread + most - of_words[language]
        for language, mean in means.items()
    }


def _mean(values: Sequence[float], least: float, of_lacking: float) -> float:
    """Returns the mean of at least so many values, or 0 of none: those that lack are `of_lacking`."""
    count = max(len(values), least)
    return (math.fsum(values) + (count - len(values)) * of_lacking) / count if count else 0.0


def word_matches(
    slots: Sequence[Slot], frequencies: Frequencies, candidates: Sequence[Candidate]
) -> dict[str, WordMatch]:
    """Returns by id what each candidate has of the question's words.

    The value of a slot in a chunk is that of the best of its terms: rarity * impact.
    """
    gains: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for place, slot in enumerate(slots):
        for term in slot.terms:
            gains[term].append((place, frequencies.rarity(term)))
    possible = sum(greatest_value(slot, frequencies) for slot in slots)
    grams = {place for place, slot in enumerate(slots) if slot.kind == "gram"}
    matches = {}
    for candidate in candidates:
        values: dict[str, float] = {}
        total = covered = 0.0
        in_slots: dict[int, list[tuple[float, float, str]]] = defaultdict(list)
        # A candidate has few of the terms.
        for term, impact in candidate.impacts.items():
            for place, gain in gains.get(term, ()):
                in_slots[place].append((gain * impact, gain, term))
        for place, found in sorted(in_slots.items()):
            value, _, term = max(found)
            total += value
            covered += max(gain for _, gain, _ in found)
            if slots[place].kind == "word":
                values[term] = max(value, values.get(term, 0.0))
        matched = tuple(sorted(values, key=lambda term: (-values[term], term)))
        of_grams = len(grams & in_slots.keys()) / max(1, len(grams))
        match = WordMatch(total / possible, covered / possible, matched, grams=of_grams) if possible else WordMatch()
        matches[candidate.id] = match
    return matches


def greatest_value(slot: Slot, frequencies: Frequencies) -> float:
    """Returns the greatest value of a slot: of a term that some chunk has, if there is one."""
    present = [term for term in slot.terms if frequencies.chunks.get(term)]
    return max(map(frequencies.rarity, present or slot.terms))


def rank(
    candidates: Sequence[Candidate],
    words: Mapping[str, WordMatch],
    others: Unrelated,
    weights: Weights,
    scale: Scale,
    *,
    lowers_examples: bool = False,
    lowest: float = -math.inf,
) -> list[Ranked]:
    """Returns the candidates by falling similarity, ties by id.

    `words` are those of `word_matches`. Scattered words lower no evidence below `lowest`. With `lowers_examples` an
    example ranks below the concepts that it shows: it has a lower score, and the best of its concepts has at least the
    score of the example without that penalty. But it passes no concept that has a higher score of its own than the
    example has with the penalty. A section has a lower score beside a box of its page, the more of its words of the
    question the box has, too; examples are no such boxes then.
    """
    evidence, z, inner, before = {}, {}, {}, {}
    behind = _behind_boxes(candidates, words, with_examples=not lowers_examples)
    for each in candidates:
        z[each.id], inner[each.id] = others.deviations(each.cosine), others.inner(each)
        has = words[each.id]
        score = weights.score(z[each.id], has.share, has.covered, inner[each.id]) + others.credit(each.language, has)
        before[each.id] = max(score + weights.scattered * has.scattered, min(score, lowest))
        evidence[each.id] = before[each.id] + (weights.example if lowers_examples and each.is_example else 0.0)
        evidence[each.id] += weights.section * behind.get(each.id, 0.0)
    placed = dict(evidence)
    if lowers_examples:
        own_evidence = ((each.id, evidence[each.id]) for each in candidates if not each.is_example)
        concepts = heapq.nlargest(2, own_evidence, key=lambda concept: concept[1])
        for each in candidates:
            shown = [name for name in each.illustrates if name in evidence]
            if each.is_example and shown:
                best = min(shown, key=lambda name: (-evidence[name], name))
                first = next((level for name, level in concepts if name != best), -math.inf)
                level = max(evidence[best], math.nextafter(evidence[each.id], math.inf))
                below_first = math.nextafter(first, -math.inf)
                lifted = before[each.id] if level >= first else max(level, min(before[each.id], below_first))
                placed[best] = max(placed[best], lifted)
    order = sorted(candidates, key=lambda each: (-placed[each.id], each.id))
    evidences = [placed[each.id] for each in order]
    # No result needs a lead over the examples that stand below their concepts, and the sections below their boxes.
    below = {each.id for each in candidates if lowers_examples and each.is_example}
    below |= {id for id, share in behind.items() if share == 1}
    rivals = [placed[each.id] for each in order if each.id not in below]
    ranked = [
        Ranked(
            *(each.id, score, lead, scale, z[each.id], words[each.id], behind.get(each.id, 0.0)), inner=inner[each.id]
        )
        for each, score, lead in zip(order, evidences, leads(evidences, rivals), strict=True)
    ]
    if not ranked or ranked[0].is_good:
        return [*(replace(each, least=LEAST_SIMILARITY) for each in ranked[:1]), *ranked[1:]]
    return [replace(each, lowered=True) for each in ranked]


def doubted(ranking: Sequence[Ranked], doubts: Collection[str], weights: Weights) -> Sequence[Ranked]:
    """Returns a ranking whose best text lacks something of the question: `Lack.doubts`.

    It is refused if no text has that.
    """
    if not ranking or not doubts:
        return ranking
    doubt = math.fsum(weights.doubts[each] for each in doubts)
    ranked = [replace(each, doubt=doubt) for each in ranking]
    if any(each.startswith("absent") for each in doubts):
        ranked = [replace(each, lowered=True) for each in ranked]
    return ranked


def _behind_boxes(
    candidates: Iterable[Candidate], words: Mapping[str, WordMatch], *, with_examples: bool
) -> dict[str, float]:
    """Returns for each section of a page with boxes how many of its words of the question one of the boxes has, 0-1."""
    most: dict[str, int] = {}
    for each in candidates:
        if each.is_box and (with_examples or not each.is_example):
            most[each.page] = max(most.get(each.page, 0), len(words[each.id].matched))
    sections = [each for each in candidates if not each.is_box and each.page in most]
    counts = {each.id: len(words[each.id].matched) for each in sections}
    return {each.id: min(1.0, most[each.page] / counts[each.id]) if counts[each.id] else 1.0 for each in sections}


def leads(scores: Sequence[float], rivals: Collection[float]) -> list[float]:
    """Returns how far each of falling scores is ahead of all others together.

    Together they have the logarithm of the sum of their powers of e. So a lead is the logit of a result's share in the
    conditional logistic regression that learned the score. The best needs a lead over `rivals` alone. A text that has
    nothing of the question is one more, with a score of 0. Equal scores are one: copies of a text have one score.
    """
    if not scores:
        return []
    best = scores[0]
    lower = {0.0, *(each for each in rivals if each < best)}
    first, everything = best - _total(lower), _total({best, *lower})

    def lead(score: float) -> float:
        part = score - everything
        return part - math.log1p(-math.exp(part)) if score in lower else part

    return [first if each == best else lead(each) for each in scores]


def _total(scores: Collection[float]) -> float:
    """Returns the logarithm of the sum of powers of e."""
    most = max(scores)
    return most + math.log(math.fsum(math.exp(each - most) for each in scores))


def shown(results: Sequence[R], *, is_weak: bool) -> list[R]:
    """Returns what an answer shows of the best results: the nearest few if even the first is weak."""
    return [*results[:NEAREST]] if is_weak else [each for each in results if is_shown(each.ranked, results[0].ranked)]


def is_shown(result: Ranked, best: Ranked) -> bool:
    """Whether a result stands beside a good one, which is always shown. The others fill a list and answer nothing."""
    return result.probability >= NEAR_MATCH * best.probability or bool(result.words.matched)
