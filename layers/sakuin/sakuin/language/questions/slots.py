"""Slots of a question: the things that it asks for, each with its alternative terms."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sakuin.language.analysis import AnalyzedText, formula_terms
from sakuin.language.character_grams import character_grams
from sakuin.language.concepts import ConceptMention
from sakuin.language.formulas import Formula
from sakuin.language.model import Slot, WeightedTerm

MOST_SLOTS = 96
# Words of nearly every question, whatever its subject: a chunk without them loses little.
LOW_CONTENT_WORDS_LIST = """
解く 求める 方 方法 使う 遣る 為る 出来る 有る 居る 成る 何 言う 事 物 者 時 教える 知る
分かる 覚える 考える 書く 描く どう 何故 なぜ どんな 良い 無い 場合 調べる 確かめる 見る
見付ける 問題 答え 意味 仕方 説明 理由 違い こつ 手順 例 例題 そう こう 其れ 此れ 其の 此の
的 つ 様 為 所 欲しい 下さい 呉れる 貰う 御 何れ 何方 何処 幾つ 何時
"""
LOW_CONTENT_WORDS = frozenset(LOW_CONTENT_WORDS_LIST.split())
# Weights of terms, fitted by hand: docs/decisions/0016-questions-are-analyzed-before-the-search.md.
LOW_CONTENT_WEIGHT = 0.2
SHAPE_WEIGHT, PART_WEIGHT = 0.7, 0.8  # of a formula
GRAM_WEIGHT = 0.5  # relative to a word
WORD_OF_CONCEPT_WEIGHT = 0.8  # of one word, where a concept's spelling has several

Phrasing = tuple[WeightedTerm, ...]


@dataclass(frozen=True, slots=True)
class QueryUnit:
    """A span of a question that asks for one thing, with equivalent phrasings of it."""

    start: int
    end: int
    phrasings: tuple[Phrasing, ...]


def query_units(question: AnalyzedText) -> list[QueryUnit]:
    """Returns the words and formulas of a question on one line, in order."""
    units = [
        QueryUnit(start, end, tuple((term,) for term in _weighted_terms(formula)))
        for start, end, formula in question.formulas
    ]
    at = 0
    for line in question.lines:
        for morpheme in line:
            if morpheme.terms:
                phrasing = tuple(
                    WeightedTerm(term, LOW_CONTENT_WEIGHT if term in LOW_CONTENT_WORDS else 1.0)
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


def merge_synonyms(
    units: Sequence[QueryUnit], start: int, end: int, synonyms: Sequence[Sequence[QueryUnit]]
) -> list[QueryUnit]:
    """Merges the units between `start` and `end` into one, with synonyms as further phrasings."""
    covered = [unit for unit in units if unit.start < end and start < unit.end]
    own = tuple(term for unit in covered for term in unit.phrasings[0])
    others = [tuple(term for unit in synonym for term in unit.phrasings[0]) for synonym in synonyms]
    rest_of_own = (phrasing for unit in covered for phrasing in unit.phrasings[1:])
    phrasings = tuple(phrasing for phrasing in (own, *others, *rest_of_own) if phrasing)
    if not phrasings:
        return list(units)
    rest = [unit for unit in units if unit not in covered]
    return sorted([*rest, QueryUnit(start, end, phrasings)], key=lambda unit: (unit.start, unit.end))


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


def gram_slots(text: str) -> list[Slot]:
    """Returns one slot for each character gram of a canonical text."""
    grams = dict.fromkeys(character_grams(text))
    return [Slot("gram", (WeightedTerm(gram, GRAM_WEIGHT),)) for gram in grams][:MOST_SLOTS]


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
