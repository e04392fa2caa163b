"""Vocabularies: the concepts of a subject with their spellings. A deployment loads one from `vocabularies/`."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from sakuin.errors import Misconfigured
from sakuin.language.letters import stem
from sakuin.language.model import CONCEPT_SIGN
from sakuin.language.morphemes import morphemes
from sakuin.language.notation import canonical
from sakuin.language.numerals import DIGITS
from sakuin.language.unicode_text import folded
from sakuin.language.vocabulary_files import vocabulary_text

LONGEST_PHRASE = 8  # words with spaces between them
# Katakana of a concept that is found by its reading alone; shorter readings have too many homophones.
SHORTEST_READING = 4
_SECTIONS = ("concepts", "words", "notation")
_DIGIT = re.compile(f"[{''.join(DIGITS)}]")
LATIN_WORD = re.compile(r"[a-zà-ɏ]+(?:'[a-zà-ɏ]*)?")
_ENGLISH_WORD = re.compile(r"[a-zà-ɏ]{2}")
_KANA_ONLY = re.compile(r"[ァ-ヶー]+")
_IDEOGRAPH = re.compile(r"[一-鿿々\d]")
# Characters between which a phrase must not begin or end. Prefixes make another concept: 反比例 is not 比例.
_NO_START = re.compile(r"[a-zà-ɏα-ω]{2}|[ァ-ヶー]{2}|[反不非無未逆]")
_NO_END = re.compile(r"[a-zà-ɏα-ω][a-zà-ɏ]|[ァ-ヶー]{2}")


@dataclass(frozen=True, slots=True)
class Concept:
    """A concept of a subject with its spellings, the usual one first."""

    name: str
    japanese: tuple[str, ...]
    english: tuple[str, ...]

    @property
    def term(self) -> str:
        """The concept's term in the index."""
        return f"{CONCEPT_SIGN}{self.name}"


@dataclass(frozen=True, slots=True)
class ConceptMention:
    """A spelling from `start` to `end` of a text, with all concepts that share it."""

    start: int
    end: int
    concepts: tuple[Concept, ...]


@dataclass(frozen=True, slots=True)
class _Spellings:
    japanese: dict[str, tuple[Concept, ...]]
    lengths: dict[str, tuple[int, ...]]
    beginning: re.Pattern[str]
    single: re.Pattern[str]
    english: dict[str, tuple[Concept, ...]]
    first_words: frozenset[str]


@dataclass(frozen=True)
class Vocabulary:
    """The words of one subject. The empty vocabulary knows none, and changes nothing.

    `words`: English words that are no concepts, with their Japanese words.
    `mathematics`: whether its texts have spoken and typed mathematics.
    """

    concepts: tuple[Concept, ...] = ()
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    mathematics: bool = False

    def canonical(self, text: str) -> str:
        """Returns the canonical form of a text of the subject."""
        return canonical(text, mathematics=self.mathematics)

    def of_language(self, language: str) -> "Vocabulary":
        """Returns what it has for a text in a language, by its tag or English name, empty if it is not known.

        It has Japanese and English words: in a German text "die" is no dice.
        """
        is_its_own = language.partition("-")[0].lower() in ("", "ja", "en", "japanese", "english")
        return self if is_its_own else Vocabulary(mathematics=self.mathematics)

    def mentions(self, text: str) -> list[ConceptMention]:
        """Returns every concept spelling in a canonical text, including spellings within longer ones."""
        return [ConceptMention(start, end, concepts) for start, end, concepts in self._spans(text)]

    def terms(self, text: str) -> list[str]:
        """Returns the terms of the concepts of all mentions in a canonical text."""
        return [concept.term for _, _, concepts in self._spans(text) for concept in concepts]

    def with_reading(self, reading: str) -> tuple[str, Concept] | None:
        """Returns the spelling and the concept with a katakana reading; None if there is none."""
        return self._readings.get(reading)

    @cached_property
    def _spellings(self) -> _Spellings:
        japanese: dict[str, tuple[Concept, ...]] = {}
        english: dict[str, tuple[Concept, ...]] = {}
        for concept in self.concepts:
            for spelling in dict.fromkeys(_with_digits(self.canonical(one)) for one in concept.japanese):
                japanese[spelling] = (*japanese.get(spelling, ()), concept)
            for spelling in dict.fromkeys(" ".join(_english_words(one)) for one in concept.english):
                english[spelling] = (*english.get(spelling, ()), concept)
        lengths: dict[str, set[int]] = {}
        for spelling in japanese:
            if len(spelling) > 1:
                lengths.setdefault(spelling[:2], set()).add(len(spelling))
        # A single kanji such as 解 is also a part of 解く and 分解: it is matched as a morpheme, not here.
        signs = [spelling for spelling in japanese if len(spelling) == 1 and not _IDEOGRAPH.match(spelling)]
        single = "".join(re.escape(sign) for sign in signs)
        first, second = ("".join(re.escape(sign) for sign in sorted({start[at] for start in lengths})) for at in (0, 1))
        return _Spellings(
            japanese=japanese,
            lengths={start: tuple(sorted(sizes)) for start, sizes in lengths.items()},
            beginning=re.compile(f"[{first}](?=[{second}])" if first else r"(?!)"),
            single=re.compile(f"[{single}]" if single else r"(?!)"),
            english=english,
            first_words=frozenset(spelling.split()[0] for spelling in english if spelling),
        )

    @cached_property
    def _readings(self) -> dict[str, tuple[str, Concept]]:
        concepts: dict[str, Concept] = {}
        for concept in self.concepts:
            for spelling in map(self.canonical, concept.japanese):
                if len(spelling) > 1:
                    concepts.setdefault(spelling, concept)
        readings: dict[str, tuple[str, Concept]] = {}
        # One call for all spellings: the overhead of a call to Sudachi is larger than the analysis.
        for (spelling, concept), line in zip(concepts.items(), morphemes("\n".join(concepts)), strict=True):
            reading = "".join(morpheme.reading for morpheme in line)
            if len(reading) >= SHORTEST_READING and _KANA_ONLY.fullmatch(reading):
                readings.setdefault(reading, (spelling, concept))
        return readings

    def _spans(self, text: str) -> Iterator[tuple[int, int, tuple[Concept, ...]]]:
        if not self.concepts:
            return
        spellings = self._spellings
        plain = _with_digits(text)
        lengths = spellings.lengths
        for first in spellings.beginning.finditer(plain):
            start = first.start()
            for size in lengths.get(plain[start : start + 2], ()):
                concepts = spellings.japanese.get(plain[start : start + size])
                if concepts and start + size <= len(plain) and is_separate(plain, start, start + size):
                    yield start, start + size, concepts
        for match in spellings.single.finditer(plain):
            if is_separate(plain, match.start(), match.end()):
                yield match.start(), match.end(), spellings.japanese[match[0]]
        if _ENGLISH_WORD.search(text):
            yield from self._english_spans(text)

    def _english_spans(self, text: str) -> Iterator[tuple[int, int, tuple[Concept, ...]]]:
        spellings = self._spellings
        words = list(LATIN_WORD.finditer(text))
        stems = [stem(word[0]) for word in words]
        for at, phrase in enumerate(stems):
            if phrase not in spellings.first_words:
                continue
            for last in range(at, min(at + LONGEST_PHRASE, len(words))):
                if last > at:
                    if words[last].start() - words[last - 1].end() > 1:
                        break
                    phrase += " " + stems[last]
                if concepts := spellings.english.get(phrase):
                    yield words[at].start(), words[last].end(), concepts


NO_VOCABULARY = Vocabulary()


@lru_cache(maxsize=4)
def vocabulary_of(name: str) -> Vocabulary:
    """Returns the vocabulary with a name or an id, the empty one if that is empty.

    Raises `Misconfigured` if there is no such file, or if it has another format.
    """
    plain = name.partition("@")[0]
    return parse_vocabulary(plain, vocabulary_text(plain)) if plain else NO_VOCABULARY


def parse_vocabulary(name: str, text: str) -> Vocabulary:
    """Parses a vocabulary in the format of `docs/how-to/vocabularies.md`. Raises `Misconfigured` with the line."""
    concepts: dict[str, Concept] = {}
    words: dict[str, tuple[str, ...]] = {}
    section, mathematics = "", False
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        key, _, spellings = line.partition(":")
        if line.startswith("["):
            section = line.strip()[1:-1]
            if section not in _SECTIONS:
                raise Misconfigured(f"{name}.txt, line {number}: a section is one of {', '.join(_SECTIONS)}")
        elif section == "notation" and line.strip() == "mathematics":
            mathematics = True
        elif not section or not spellings.strip() or key in (concepts if section == "concepts" else words):
            raise Misconfigured(f"{name}.txt, line {number}: write `name: spelling / spelling`, each name once")
        elif section == "words":
            words[key] = _separate(spellings)
        else:
            japanese, _, english = f"{spellings} ".partition(" | ")
            concepts[key] = Concept(key, _separate(japanese), _separate(english))
    return Vocabulary(tuple(concepts.values()), words, mathematics)


def longest_mentions(mentions: list[ConceptMention]) -> list[ConceptMention]:
    """Returns the mentions that overlap no longer one, from left to right."""
    longest: list[ConceptMention] = []
    for mention in sorted(mentions, key=lambda one: (one.start - one.end, one.start)):
        if all(mention.end <= other.start or other.end <= mention.start for other in longest):
            longest.append(mention)
    return sorted(longest, key=lambda one: one.start)


def find_phrase(phrase: str, text: str) -> int | None:
    """Returns the first position of a canonical phrase as separate words of a canonical text; None if there is none."""
    start = text.find(phrase) if phrase else -1
    while start >= 0 and not is_separate(text, start, start + len(phrase)):
        start = text.find(phrase, start + 1)
    return start if start >= 0 else None


def is_separate(text: str, start: int, end: int) -> bool:
    """Returns whether a span is no part of a longer Latin or katakana word and has no prefix of negation."""
    return not (start and _NO_START.match(text, start - 1)) and not _NO_END.match(text, end - 1)


def _with_digits(text: str) -> str:
    return _DIGIT.sub(lambda match: str(DIGITS[match[0]]), text)


def _english_words(text: str) -> list[str]:
    """Returns the English words of a text, folded, without plural."""
    return [stem(word) for word in LATIN_WORD.findall(folded(text))]


def _separate(spellings: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in spellings.split(" / ") if part.strip())
