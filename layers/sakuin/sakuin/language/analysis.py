"""Analysis of text into the terms of the index, the same for pages, Tables and questions."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from sakuin.language.character_grams import character_grams
from sakuin.language.formulas import Formula, formulas, without_words
from sakuin.language.morphemes import Morpheme, morphemes
from sakuin.language.notation import canonical
from sakuin.language.vocabulary import NO_VOCABULARY, Vocabulary

_SHORT = 100  # characters


@dataclass(frozen=True, slots=True)
class AnalyzedText:
    """A text in canonical form, the morphemes of its prose by line, and its formulas."""

    text: str
    lines: tuple[list[Morpheme], ...]
    formulas: tuple[Formula, ...]


def analyze(text: str, *, mathematics: bool = False) -> AnalyzedText:
    """Analyzes any text, with `mathematics` as one of that subject."""
    return analyze_canonical(canonical(text, mathematics=mathematics))


def analyze_canonical(plain: str) -> AnalyzedText:
    """Analyzes a text in canonical form. Short texts are cached: they are questions, analyzed again at every step."""
    return _analyze_cached(plain) if len(plain) <= _SHORT else _analyze(plain)


def _analyze(plain: str) -> AnalyzedText:
    spans = list(formulas(plain))
    prose = blanked(plain, (span for start, end, _ in spans for span in without_words(plain, start, end)))
    return AnalyzedText(plain, tuple(morphemes(prose)), tuple(spans))


_analyze_cached = lru_cache(maxsize=256)(_analyze)


def blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Returns `text` with spaces in place of ordered spans, so that all other positions stay."""
    parts, at = [], 0
    for start, end in spans:
        parts += [text[at:start], " " * (end - start)]
        at = end
    return "".join([*parts, text[at:]])


def term_counts(text: AnalyzedText, vocabulary: Vocabulary = NO_VOCABULARY) -> dict[str, int]:
    """Returns each term of an analyzed text with its count.

    Terms are normalised words (`襷掛け` for たすきがけ, たすき掛け and 襷掛け), formulas in canonical notation with
    their parts, concepts of the vocabulary with the prefix `#`, and character grams with the prefix `^`. No term is
    empty or longer than 39 bytes.
    """
    terms = [term for line in text.lines for morpheme in line for term in morpheme.terms]
    terms += character_grams(text.text)
    for _, _, of_formula in text.formulas:
        terms += of_formula
    terms += vocabulary.terms(text.text)
    return Counter(terms)
