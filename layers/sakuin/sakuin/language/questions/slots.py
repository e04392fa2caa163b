"""What a question asks for, thing by thing, in every way to say each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sakuin.language.analysis import Analyzed, formula_terms, reading_grams
from sakuin.language.concepts import Named
from sakuin.language.formulas import Formula
from sakuin.language.questions.question import Slot, WeightedTerm

MOST_SLOTS = 96

# Words that stand in nearly every question, whatever it asks: a chunk with none of them loses little.
LIGHT_WORDS_LIST = """
解く 求める 方 方法 使う 遣る 為る 出来る 有る 居る 成る 何 言う 事 物 者 時 教える 知る
分かる 覚える 考える 書く 描く どう 何故 なぜ どんな 良い 無い 場合 調べる 確かめる 見る
見付ける 問題 答え 意味 仕方 説明 理由 違い こつ 手順 例 例題 そう こう 其れ 此れ 其の 此の
的 つ 様 為 所 欲しい 下さい 呉れる 貰う 御 何れ 何方 何処 幾つ 何時
"""

LIGHT_WORDS = frozenset(LIGHT_WORDS_LIST.split())

LIGHT = 0.2

# What a formula's shape, and its pieces, say of the whole.
SHAPE, PART = 0.7, 0.8

# A spelling of several words is one thing: one of its words alone says less.
WORD_OF_CONCEPT = 0.8


Way = tuple[WeightedTerm, ...]

Stretch = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Asked:
    """A stretch of a question and the ways to say it, each a row of terms. All rows are as good."""

    start: int
    end: int
    ways: tuple[Way, ...]


def asked_words(question: Analyzed) -> list[Asked]:
    """The words and formulas of a question of one line, in order."""
    asked = [
        Asked(start, end, tuple((term,) for term in _of_formula(formula))) for start, end, formula in question.formulas
    ]
    at = 0
    for line in question.lines:
        for morpheme in line:
            if morpheme.terms:
                way = tuple(WeightedTerm(term, LIGHT if term in LIGHT_WORDS else 1.0) for term in morpheme.terms)
                asked.append(Asked(at, at + len(morpheme.surface), (way,)))
            at += len(morpheme.surface)
    return sorted(asked, key=lambda one: (one.start, one.end))


def with_concepts(asked: Sequence[Asked], named: Iterable[Named]) -> list[Asked]:
    """`asked` with each stretch that names a concept as one thing: its words, or the concept however it is spelled."""
    rest = list(asked)
    for one in named:
        covered = [word for word in rest if one.start <= word.start and word.end <= one.end]
        rest = [word for word in rest if word not in covered]
        share = WORD_OF_CONCEPT if len(covered) > 1 else 1.0
        words = tuple(WeightedTerm(term.term, term.weight * share) for word in covered for term in word.ways[0])
        others = tuple(way for word in covered for way in word.ways[1:])
        concepts = tuple((WeightedTerm(concept.term),) for concept in one.concepts)
        rest.append(Asked(one.start, one.end, (*((words,) if words else ()), *concepts, *others)))
    return sorted(rest, key=lambda one: (one.start, one.end))


def with_other_phrases(asked: Sequence[Asked], stretch: Stretch, phrases: Sequence[Sequence[Asked]]) -> list[Asked]:
    """`asked` with a stretch as one thing that other phrases say as well, each given by its words."""
    start, end = stretch
    covered = [one for one in asked if one.start < end and start < one.end]
    own = tuple(term for one in covered for term in one.ways[0])
    others = [tuple(term for word in phrase for term in word.ways[0]) for phrase in phrases]
    ways = tuple(way for way in (own, *others, *(way for one in covered for way in one.ways[1:])) if way)
    if not ways:
        return list(asked)
    rest = [one for one in asked if one not in covered]
    return sorted([*rest, Asked(start, end, ways)], key=lambda one: (one.start, one.end))


def word_slots(asked: Sequence[Asked]) -> list[Slot]:
    """One slot for each term of the longest way to say a thing; shorter ways are said again and again.

    So a chunk that has all of one way has all of the thing.
    """
    slots: dict[tuple[WeightedTerm, ...], Slot] = {}
    for one in asked:
        longest = max(len(way) for way in one.ways)
        for place in range(longest):
            terms = _distinct(way[place % len(way)] for way in one.ways)
            slots.setdefault(terms, Slot("word", terms))
    return list(slots.values())[:MOST_SLOTS]


def reading_slots(question: Analyzed) -> list[Slot]:
    """One slot for each 3-gram of the reading of a question."""
    grams = dict.fromkeys(gram for line in question.lines for gram in reading_grams(line))
    return [Slot("reading", (WeightedTerm(gram),)) for gram in grams][:MOST_SLOTS]


def _of_formula(formula: Formula) -> list[WeightedTerm]:
    weights = {formula.whole: 1.0}
    if formula.shape:
        weights[formula.shape] = SHAPE
    kept = [WeightedTerm(term, weights.get(term, PART)) for term in formula_terms(formula)]
    return kept or [WeightedTerm(formula.whole[:12])]


def _distinct(terms: Iterable[WeightedTerm]) -> tuple[WeightedTerm, ...]:
    best: dict[str, float] = {}
    for term in terms:
        best[term.term] = max(term.weight, best.get(term.term, 0.0))
    return tuple(WeightedTerm(term, weight) for term, weight in best.items())
