"""Slots of a question: the things that it asks for, each with its alternative terms."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from sakuin.language.analysis import AnalyzedText, formula_terms
from sakuin.language.character_grams import character_grams
from sakuin.language.formulas import Formula
from sakuin.language.model import Rule, Slot, WeightedTerm
from sakuin.language.questions.function_words import LOW_CONTENT_WORDS
from sakuin.language.vocabulary import ConceptMention

MOST_SLOTS = 96
# Weights of terms, fitted by hand: docs/decisions/0016-questions-are-analyzed-before-the-search.md.
LOW_CONTENT_WEIGHT = 0.2
SHAPE_WEIGHT, PART_WEIGHT = 0.7, 0.8  # of a formula
GRAM_WEIGHT = 0.5  # relative to a word
WORD_OF_CONCEPT_WEIGHT = 0.8  # of one word, where a concept's spelling has several
# Of a variant beside the typed words, by the rule that found it.
VARIANT_WEIGHTS: Mapping[Rule, float] = {"rewriting": 0.7, "typos": 0.6, "english": 0.5}

Phrasing = tuple[WeightedTerm, ...]


@dataclass(frozen=True, slots=True)
class QueryUnit:
    """A span of a question that asks for one thing, with equivalent phrasings of it."""

    start: int
    end: int
    phrasings: tuple[Phrasing, ...]


def query_units(question: AnalyzedText, low_content: Set[str] = frozenset()) -> list[QueryUnit]:
    """Returns the words and formulas of a question on one line, in order.

    `low_content` are the words of nearly every question of its subject.
    """
    units = [
        QueryUnit(start, end, tuple((term,) for term in _weighted_terms(formula)))
        for start, end, formula in question.formulas
    ]
    at = 0
    for line in question.lines:
        for morpheme in line:
            if morpheme.terms:
                phrasing = tuple(
                    WeightedTerm(term, LOW_CONTENT_WEIGHT if term in LOW_CONTENT_WORDS | low_content else 1.0)
                    for term in morpheme.terms
                )
                units.append(QueryUnit(at, at + len(morpheme.surface), (phrasing,)))
            at += len(morpheme.surface)
    return sorted(units, key=lambda unit: (unit.start, unit.end))


def merge_concepts(units: Sequence[QueryUnit], mentions: Iterable[ConceptMention]) -> list[QueryUnit]:
    """Merges the units of each mentioned concept into one: its words, or the concept in any spelling."""
    rest = list(units)
    for mention in mentions:
        covered = [unit for unit in rest if mention.start <= unit.start and unit.end <= mention.end]
        rest = [unit for unit in rest if unit not in covered]
        share = WORD_OF_CONCEPT_WEIGHT if len(covered) > 1 else 1.0
        words = tuple(WeightedTerm(term.term, term.weight * share) for unit in covered for term in unit.phrasings[0])
        others = tuple(phrasing for unit in covered for phrasing in unit.phrasings[1:])
        concepts = tuple((WeightedTerm(concept.term),) for concept in mention.concepts)
        rest.append(QueryUnit(mention.start, mention.end, (*((words,) if words else ()), *concepts, *others)))
    return sorted(rest, key=lambda unit: (unit.start, unit.end))


def add_phrasings(units: Sequence[QueryUnit], start: int, end: int, others: Sequence[Phrasing]) -> list[QueryUnit]:
    """Merges the units between `start` and `end` into one, with its own words first and `others` as phrasings."""
    covered = [unit for unit in units if unit.start < end and start < unit.end]
    own = tuple(term for unit in covered for term in unit.phrasings[0])
    rest_of_own = (phrasing for unit in covered for phrasing in unit.phrasings[1:])
    phrasings = tuple(phrasing for phrasing in (own, *others, *rest_of_own) if phrasing)
    if not phrasings:
        return list(units)
    rest = [unit for unit in units if unit not in covered]
    return sorted([*rest, QueryUnit(start, end, phrasings)], key=lambda unit: (unit.start, unit.end))


def weakened(units: Iterable[QueryUnit], weight: float) -> list[Phrasing]:
    """Returns the phrasings of consecutive units together, with their weights multiplied by `weight`."""
    some = list(units)
    together = tuple(term for unit in some for term in unit.phrasings[0])
    others = (phrasing for unit in some for phrasing in unit.phrasings[1:])
    return [
        tuple(WeightedTerm(term.term, term.weight * weight) for term in phrasing)
        for phrasing in (together, *others)
        if phrasing
    ]


def word_slots(units: Sequence[QueryUnit]) -> list[Slot]:
    """Returns one slot for each term of a unit's longest phrasing; the terms of shorter phrasings repeat.

    So a chunk that contains one whole phrasing matches the whole unit.
    """
    slots: dict[tuple[WeightedTerm, ...], Slot] = {}
    for unit in units:
        for place in range(max(len(phrasing) for phrasing in unit.phrasings)):
            terms = _distinct(phrasing[place % len(phrasing)] for phrasing in unit.phrasings)
            slots.setdefault(terms, Slot("word", terms))
    return list(slots.values())[:MOST_SLOTS]


def gram_slots(text: str, weight: float = 1.0) -> list[Slot]:
    """Returns one slot for each character gram of a canonical text. `weight` is that of its words."""
    grams = dict.fromkeys(character_grams(text))
    return [Slot("gram", (WeightedTerm(gram, GRAM_WEIGHT * weight),)) for gram in grams][:MOST_SLOTS]


def _weighted_terms(formula: Formula) -> list[WeightedTerm]:
    weights = {formula.whole: 1.0}
    if formula.shape:
        weights[formula.shape] = SHAPE_WEIGHT
    weighted = [WeightedTerm(term, weights.get(term, PART_WEIGHT)) for term in formula_terms(formula)]
    return weighted or [WeightedTerm(formula.whole[:12])]


def _distinct(terms: Iterable[WeightedTerm]) -> tuple[WeightedTerm, ...]:
    best: dict[str, float] = {}
    for term in terms:
        best[term.term] = max(term.weight, best.get(term.term, 0.0))
    return tuple(WeightedTerm(term, weight) for term, weight in best.items())
