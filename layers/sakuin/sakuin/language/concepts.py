"""Glossary concepts that a text mentions, in any spelling, Japanese or English."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from sakuin.language.glossary import FIELDS
from sakuin.language.letters import stem
from sakuin.language.morphemes import morphemes
from sakuin.language.notation import canonical
from sakuin.language.numerals import DIGITS
from sakuin.language.unicode_text import folded

LONGEST_PHRASE = 8  # English words
# Katakana of a concept that is found by its reading alone; shorter readings have too many homophones.
SHORTEST_READING = 4
_DIGITS = str.maketrans({kanji: str(value) for kanji, value in DIGITS.items()})
_ENGLISH = re.compile(r"[a-z]+(?:'[a-z]*)?")
_ENGLISH_WORD = re.compile(r"[a-z]{2}")
_LATIN = re.compile(r"[a-zα-ω]")
_KATAKANA = re.compile(r"[ァ-ヶー]")
_KANA_ONLY = re.compile(r"[ァ-ヶー]+")
_IDEOGRAPH = re.compile(r"[一-鿿々\d]")
# Prefixes that make another concept: 反比例 is not 比例, 不等式 is not 等式.
_NEGATIONS = "反不非無未逆"


@dataclass(frozen=True, slots=True)
class GlossaryConcept:
    """A concept of school mathematics with its spellings, the usual one first."""

    name: str
    field: str
    japanese: tuple[str, ...]
    english: tuple[str, ...]

    @property
    def term(self) -> str:
        """The concept's term in the index."""
        return f"#{self.name}"


@dataclass(frozen=True, slots=True)
class ConceptMention:
    """A spelling from `start` to `end` of a text, with all concepts that share it."""

    start: int
    end: int
    concepts: tuple[GlossaryConcept, ...]


@lru_cache(maxsize=1)
def glossary() -> tuple[GlossaryConcept, ...]:
    """Returns every concept, in the order of the fields."""
    return tuple(_concept(field, line) for field, lines in FIELDS.items() for line in lines.strip().splitlines())


def concept_mentions(text: str) -> list[ConceptMention]:
    """Returns every concept spelling in a canonical text, including spellings within longer ones."""
    spellings = _spellings()
    found: list[ConceptMention] = []
    plain = text.translate(_DIGITS)
    lengths = spellings.lengths
    for start in range(len(plain)):
        sizes = lengths.get(plain[start : start + 2])
        if sizes:
            for size in sizes:
                concepts = spellings.japanese.get(plain[start : start + size])
                if concepts and start + size <= len(plain) and is_separate(plain, start, start + size):
                    found.append(ConceptMention(start, start + size, concepts))
    for match in spellings.single.finditer(plain):
        if is_separate(plain, match.start(), match.end()):
            found.append(ConceptMention(match.start(), match.end(), spellings.japanese[match[0]]))
    if _ENGLISH_WORD.search(text):
        found.extend(_in_english(text))
    return found


def longest_mentions(found: list[ConceptMention]) -> list[ConceptMention]:
    """Returns the mentions that overlap no longer one, from left to right."""
    kept: list[ConceptMention] = []
    for named in sorted(found, key=lambda one: (one.start - one.end, one.start)):
        if all(named.end <= other.start or other.end <= named.start for other in kept):
            kept.append(named)
    return sorted(kept, key=lambda one: one.start)


def find_phrase(phrase: str, text: str) -> int | None:
    """Returns the first position of a canonical phrase as separate words of a canonical text; None if there is none."""
    start = text.find(phrase) if phrase else -1
    while start >= 0 and not is_separate(text, start, start + len(phrase)):
        start = text.find(phrase, start + 1)
    return start if start >= 0 else None


def is_separate(text: str, start: int, end: int) -> bool:
    """Returns whether a span is no part of a longer Latin or katakana word and has no prefix of negation."""
    before, after = text[start - 1 : start], text[end : end + 1]
    if _LATIN.match(text[start]) and _LATIN.match(before):
        return False
    if _LATIN.match(text[end - 1]) and _LATIN.match(after) and after.isascii():
        return False
    if _KATAKANA.match(text[start]) and _KATAKANA.match(before):
        return False
    if _KATAKANA.match(text[end - 1]) and _KATAKANA.match(after):
        return False
    return not before or before not in _NEGATIONS


def spelling_of_reading(reading: str) -> str | None:
    """Returns the spelling of the concept with a katakana reading; None if there is none."""
    return _readings().get(reading)


@lru_cache(maxsize=1)
def japanese_spellings() -> tuple[str, ...]:
    """Returns every Japanese spelling of the glossary in canonical form."""
    return tuple(dict.fromkeys(canonical(one) for concept in glossary() for one in concept.japanese))


@lru_cache(maxsize=1)
def english_vocabulary() -> frozenset[str]:
    """Returns every English word of the glossary, folded, without plural."""
    return frozenset(word for spelling in _spellings().english for word in spelling.split())


@dataclass(frozen=True, slots=True)
class _Spellings:
    japanese: dict[str, tuple[GlossaryConcept, ...]]
    lengths: dict[str, tuple[int, ...]]
    single: re.Pattern[str]
    english: dict[str, tuple[GlossaryConcept, ...]]
    first_words: frozenset[str]


@lru_cache(maxsize=1)
def _spellings() -> _Spellings:
    japanese: dict[str, tuple[GlossaryConcept, ...]] = {}
    english: dict[str, tuple[GlossaryConcept, ...]] = {}
    for concept in glossary():
        for spelling in dict.fromkeys(canonical(one).translate(_DIGITS) for one in concept.japanese):
            japanese[spelling] = (*japanese.get(spelling, ()), concept)
        for spelling in dict.fromkeys(" ".join(english_words(one)) for one in concept.english):
            english[spelling] = (*english.get(spelling, ()), concept)
    lengths: dict[str, set[int]] = {}
    for spelling in japanese:
        if len(spelling) > 1:
            lengths.setdefault(spelling[:2], set()).add(len(spelling))
    # A single kanji such as 解 is also a part of 解く and 分解: it is matched as a morpheme, not here.
    signs = [spelling for spelling in japanese if len(spelling) == 1 and not _IDEOGRAPH.match(spelling)]
    single = "".join(re.escape(sign) for sign in signs)
    return _Spellings(
        japanese=japanese,
        lengths={start: tuple(sorted(sizes)) for start, sizes in lengths.items()},
        single=re.compile(f"[{single}]"),
        english=english,
        first_words=frozenset(spelling.split()[0] for spelling in english if spelling),
    )


@lru_cache(maxsize=1)
def _readings() -> dict[str, str]:
    readings: dict[str, str] = {}
    spellings = [one for one in japanese_spellings() if len(one) > 1]
    # One call for all spellings: the overhead of a call to Sudachi is larger than the analysis.
    for spelling, line in zip(spellings, morphemes("\n".join(spellings)), strict=True):
        reading = "".join(morpheme.reading for morpheme in line)
        if len(reading) >= SHORTEST_READING and _KANA_ONLY.fullmatch(reading):
            readings.setdefault(reading, spelling)
    return readings


def english_words(text: str) -> list[str]:
    """Returns the English words of a text, folded, without plural."""
    return [stem(word) for word in _ENGLISH.findall(folded(text))]


def _in_english(text: str) -> Iterator[ConceptMention]:
    spellings = _spellings()
    words = [(stem(match[0]), match.start(), match.end()) for match in _ENGLISH.finditer(text)]
    for at, (first, start, _) in enumerate(words):
        if first not in spellings.first_words:
            continue
        phrase = first
        for size in range(1, LONGEST_PHRASE + 1):
            if concepts := spellings.english.get(phrase):
                yield ConceptMention(start, words[at + size - 1][2], concepts)
            if at + size >= len(words) or words[at + size][1] - words[at + size - 1][2] > 1:
                break
            phrase += " " + words[at + size][0]


def _concept(field: str, line: str) -> GlossaryConcept:
    name, _, spellings = line.partition(":")
    japanese, _, english = spellings.partition(" | ")
    return GlossaryConcept(name, field, _separate(japanese), _separate(english))


def _separate(spellings: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in spellings.split(" / ") if part.strip())
