"""The words of a text as the index knows them: Japanese-aware, the same for pages and for questions."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from sakuin.language.concepts import named_concepts
from sakuin.language.formulas import Formula, formulas
from sakuin.language.morphemes import LONGEST_TERM, Morpheme, morphemes
from sakuin.language.notation import canonical

_SHORT = 100  # characters

_KANA_RUN = re.compile(r"[ァ-ヶー]+")


@dataclass(frozen=True, slots=True)
class Analyzed:
    """A text read: its canonical form, the morphemes of its prose line by line, its formulas with begin and end."""

    text: str
    lines: tuple[list[Morpheme], ...]
    formulas: tuple[tuple[int, int, Formula], ...]


def analyzed(text: str) -> Analyzed:
    """`text` as it is read; pure."""
    return read(canonical(text))


def read(plain: str) -> Analyzed:
    """A canonical text as it is read. What is short is a question, which is read again at every step."""
    return _read_again(plain) if len(plain) <= _SHORT else _read(plain)


def _read(plain: str) -> Analyzed:
    found = list(formulas(plain))
    prose = blanked(plain, ((start, end) for start, end, _ in found))
    return Analyzed(plain, tuple(morphemes(prose)), tuple(found))


_read_again = lru_cache(maxsize=256)(_read)


def blanked(text: str, stretches: Iterable[tuple[int, int]]) -> str:
    """`text` with spaces for what stands in stretches that are in order: places stay what they are."""
    parts, at = [], 0
    for start, end in stretches:
        parts += [text[at:start], " " * (end - start)]
        at = end
    return "".join([*parts, text[at:]])


def terms(text: str) -> dict[str, int]:
    """Each term of `text` with how often it stands there.

    Normalised words (`襷掛け` for たすきがけ, たすき掛け and 襷掛け alike), formulas in canonical form with their
    parts, concepts of the glossary behind `#`, and 3-grams of the reading in katakana behind `~` (`~タスキ`), by which
    a question written in kana finds kanji. None is empty or longer than 39 bytes. Pure: the same text, the same terms.
    """
    return counted(analyzed(text))


def counted(text: Analyzed) -> dict[str, int]:
    """Each term of a text that was read, with how often it stands there."""
    counts: dict[str, int] = {}
    for term in _terms(text):
        counts[term] = counts.get(term, 0) + 1
    return counts


def formula_terms(formula: Formula) -> Iterator[str]:
    """The terms of one formula: whole, shape, parts."""
    for name in (formula.whole, formula.shape, *formula.parts):
        # A long formula is known by its parts.
        if name and len(name.encode()) <= LONGEST_TERM:
            yield name


def reading_grams(line: list[Morpheme]) -> Iterator[str]:
    """The 3-grams of a line's reading, each behind `~`."""
    for run in _KANA_RUN.findall("".join([morpheme.reading for morpheme in line])):
        if len(run) <= 3:
            if len(run) > 1:
                yield "~" + run
            continue
        for start in range(len(run) - 2):
            yield "~" + run[start : start + 3]


def _terms(text: Analyzed) -> Iterator[str]:
    for line in text.lines:
        for morpheme in line:
            yield from morpheme.terms
        yield from reading_grams(line)
    for _, _, formula in text.formulas:
        yield from formula_terms(formula)
    for named in named_concepts(text.text):
        for concept in named.concepts:
            yield concept.term
