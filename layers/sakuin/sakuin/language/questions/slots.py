"""Slots of a question: the things that it asks for, each with its alternative terms."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sakuin.language.analysis import AnalyzedText
from sakuin.language.character_grams import character_grams
from sakuin.language.model import Slot
from sakuin.language.vocabulary import ConceptMention

MOST_SLOTS = 96

Phrasing = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueryUnit:
    """A span of a question that asks for one thing, with equivalent phrasings of it."""

    start: int
    end: int
    phrasings: tuple[Phrasing, ...]


def query_units(question: AnalyzedText) -> list[QueryUnit]:
    """Returns the words and formulas of a question on one line, in order."""
    units = [QueryUnit(start, end, tuple((term,) for term in terms)) for start, end, terms in question.formulas]
    at = 0
    for line in question.lines:
        for morpheme in line:
            if morpheme.terms:
                units.append(QueryUnit(at, at + len(morpheme.surface), (morpheme.terms,)))
            at += len(morpheme.surface)
    return sorted(units, key=lambda unit: (unit.start, unit.end))


def merge_concepts(units: Sequence[QueryUnit], mentions: Iterable[ConceptMention]) -> list[QueryUnit]:
    """Merges the units of each mentioned concept into one: its words, or the concept in any spelling."""
    uncovered = list(units)
    for mention in mentions:
        covered = [unit for unit in uncovered if mention.start <= unit.start and unit.end <= mention.end]
        uncovered = [unit for unit in uncovered if unit not in covered]
        words = tuple(term for unit in covered for term in unit.phrasings[0])
        variants = tuple(phrasing for unit in covered for phrasing in unit.phrasings[1:])
        concepts = tuple((concept.term,) for concept in mention.concepts)
        uncovered.append(QueryUnit(mention.start, mention.end, (*((words,) if words else ()), *concepts, *variants)))
    return sorted(uncovered, key=lambda unit: (unit.start, unit.end))


def add_phrasings(units: Sequence[QueryUnit], start: int, end: int, others: Sequence[Phrasing]) -> list[QueryUnit]:
    """Merges the units between `start` and `end` into one, with its own words first and `others` as phrasings."""
    covered = [unit for unit in units if unit.start < end and start < unit.end]
    first, *following = phrasings_together(covered) or [()]
    phrasings = tuple(phrasing for phrasing in (first, *others, *following) if phrasing)
    if not phrasings:
        return list(units)
    uncovered = [unit for unit in units if unit not in covered]
    return sorted([*uncovered, QueryUnit(start, end, phrasings)], key=lambda unit: (unit.start, unit.end))


def phrasings_together(units: Sequence[QueryUnit]) -> list[Phrasing]:
    """Returns the phrasings of consecutive units as one."""
    terms = tuple(term for unit in units for term in unit.phrasings[0])
    variants = (phrasing for unit in units for phrasing in unit.phrasings[1:])
    return [phrasing for phrasing in (terms, *variants) if phrasing]


def word_slots(units: Sequence[QueryUnit]) -> list[Slot]:
    """Returns one slot for each term of a unit's longest phrasing; the terms of shorter phrasings repeat.

    So a chunk that contains one whole phrasing matches the whole unit.
    """
    slots: dict[tuple[str, ...], Slot] = {}
    for unit in units:
        for place in range(max(len(phrasing) for phrasing in unit.phrasings)):
            terms = tuple(dict.fromkeys(phrasing[place % len(phrasing)] for phrasing in unit.phrasings))
            slots.setdefault(terms, Slot("word", terms))
    return list(slots.values())[:MOST_SLOTS]


def gram_slots(text: str) -> list[Slot]:
    """Returns one slot for each character gram of a canonical text."""
    grams = dict.fromkeys(character_grams(text))
    return [Slot("gram", (gram,)) for gram in grams][:MOST_SLOTS]
