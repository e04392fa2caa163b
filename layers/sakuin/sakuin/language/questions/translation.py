"""An English question in Japanese words, as far as the glossary goes."""

import re
from dataclasses import dataclass

from sakuin.language.analysis import blanked, read
from sakuin.language.concepts import english_vocabulary, longest, named_concepts
from sakuin.language.english import IN_JAPANESE, SILENT
from sakuin.language.letters import stem
from sakuin.language.notation import canonical
from sakuin.language.questions.question import WeightedTerm
from sakuin.language.questions.slots import Asked, asked_words, with_concepts
from sakuin.language.questions.typos import near_english

_WORD = re.compile(r"[a-z]+(?:'[a-z]*)?")

_OTHER_LETTERS = re.compile(r"[^\W\d_a-zα-ω]")

MOST_CORRECTED = 3

# A word like "sum" or "value" beside a concept.
GENERIC = 0.5


@dataclass(frozen=True, slots=True)
class Translated:
    """What an English question asks for; `japanese` are the Japanese names in it, in order."""

    asked: tuple[Asked, ...]
    japanese: tuple[str, ...]


def is_english(text: str) -> bool:
    """Whether a canonical text has Latin words and no letters of other scripts."""
    return not _OTHER_LETTERS.search(text) and any(len(word) > 2 for word in _WORD.findall(text))


def corrected(text: str) -> tuple[str, list[tuple[str, str]]]:
    """An English text with words that the glossary nearly has as it has them, and what was replaced."""
    replaced: list[tuple[str, str]] = []

    def right(match: re.Match[str]) -> str:
        word = stem(match[0])
        known = word in english_vocabulary() or word in SILENT or match[0] in SILENT or word in IN_JAPANESE
        if known or len(replaced) == MOST_CORRECTED:
            return match[0]
        near = near_english(word)
        if near:
            replaced.append((match[0], near))
        return near or match[0]

    return _WORD.sub(right, text), replaced


def translated(text: str) -> Translated:
    """What a canonical English text asks for, in Japanese and English."""
    named = longest(named_concepts(text))
    asked: list[Asked] = []
    japanese: list[tuple[int, str]] = []
    for one in named:
        ways: dict[tuple[WeightedTerm, ...], None] = {}
        for concept in one.concepts:
            spelling = canonical(concept.japanese[0]) if concept.japanese else ""
            japanese.append((one.start, spelling))
            words = with_concepts(asked_words(read(spelling)), longest(named_concepts(spelling)))
            ways.update(dict.fromkeys(way for word in words for way in word.ways))
            ways[(WeightedTerm(concept.term),)] = None
        asked.append(Asked(one.start, one.end, tuple(ways)))
    rest = blanked(text, ((one.start, one.end) for one in named))
    for word in asked_words(read(rest)):
        piece = text[word.start : word.end]
        if piece in SILENT or stem(piece) in SILENT or len(piece) == 1:
            continue
        forms = IN_JAPANESE.get(piece) or IN_JAPANESE.get(stem(piece)) or ()
        light = tuple((WeightedTerm(form, GENERIC),) for form in forms)
        japanese += [(word.start, form) for form in forms[:1]]
        asked.append(
            Asked(word.start, word.end, (*word.ways, *light)) if not light else Asked(word.start, word.end, light)
        )
    names = tuple(dict.fromkeys(name for _, name in sorted(japanese) if name))
    return Translated(tuple(sorted(asked, key=lambda one: one.start)), names)
