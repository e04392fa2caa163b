"""Morphemes of Japanese text, from Sudachi with its small dictionary in split mode A."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Lock
from typing import Literal

from sudachipy import Dictionary, SplitMode
from sudachipy import Morpheme as SudachiMorpheme

from sakuin.language.letters import LETTERS, is_kana, stem, to_katakana
from sakuin.language.numerals import COUNTED, reading_of

# Parts of speech without terms: particles, auxiliaries, signs, spaces.
_WITHOUT_TERMS = {"助詞", "助動詞", "補助記号", "空白", "記号"}
_NOUNS = {"名詞", "接頭辞", "接尾辞", "形状詞"}
_SIGNS = {"補助記号", "空白", "記号"}
# The built-in tokenizers of turbopuffer drop longer terms.
LONGEST_TERM = 39  # bytes of UTF-8
# The time for a run of digits grows with the square of its length.
_PIECE = 2_000
_VERSION = re.compile(r"\d\.\d+\.\d")
# What is read of a word: less than all that the dictionary has.
_FIELDS: set[Literal["pos", "normalized_form", "reading_form"]] = {"pos", "normalized_form", "reading_form"}
_MOST_KNOWN = 20_000  # words, about 10 MB
_FOREIGN = re.compile(r"[가-힣一-鿿㐀-䶿]{3,}|[가-힣]{2,}")
# Thai, Lao, Myanmar and Khmer, which have no spaces between words.
_DENSE = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
_LATIN = re.compile(r"[a-zà-ɏ][a-zà-ɏ']*")


@dataclass(frozen=True, slots=True)
class Morpheme:
    """A piece of a text with its terms, and its reading in katakana (a space if it has none).

    `part`, `kind`: UniDic's part of speech and its subdivision. `is_noun`: can be part of a compound noun. `may_begin`:
    can be the first part. `is_known`: is in the dictionary. Particles and signs have no terms.
    """

    surface: str
    terms: tuple[str, ...]
    reading: str
    part: str
    is_noun: bool
    may_begin: bool
    is_known: bool
    kind: str


def morphemes(text: str) -> Iterator[list[Morpheme]]:
    """Yields the morphemes of each line of a canonical text; their surfaces joined are the line."""
    analyzer = _analyzer()
    for line in text.splitlines():
        # Sudachi accepts at most 49,149 bytes at a time.
        for start in range(0, len(line), _PIECE):
            yield analyzer.of(line[start : start + _PIECE])


def bounded_terms(word: str) -> tuple[str, ...]:
    """Returns `word` as terms of at most `LONGEST_TERM` bytes, in pieces if it is longer."""
    if len(word) <= LONGEST_TERM // 3 or len(word.encode()) <= LONGEST_TERM:
        return (word,) if word.strip() else ()
    size = LONGEST_TERM // 4
    return tuple(word[start : start + size] for start in range(0, len(word), size))


class _Analyzer:
    """Sudachi with a cache of dictionary words: reading the features of a word costs more than the tokenization."""

    def __init__(self) -> None:
        self._tokenizer = Dictionary(dict="small").tokenizer(mode=SplitMode.A, fields=_FIELDS)
        self._tokens = self._tokenizer.tokenize("")
        # The dictionary folds width and case, and words that it lacks share an id: an id can have several surfaces.
        self._known: dict[tuple[int, str], Morpheme] = {}
        # A Sudachi tokenizer must not be shared between threads.
        self._lock = Lock()

    def of(self, line: str) -> list[Morpheme]:
        with self._lock:
            read = self._known
            tokens = self._tokenizer.tokenize(line, out=self._tokens)
            morphemes_of_line = [read.get((item.word_id(), item.surface())) or self._read(item) for item in tokens]
        if _VERSION.search(line):
            _name_versions(morphemes_of_line)
        return morphemes_of_line

    def _read(self, item: SudachiMorpheme) -> Morpheme:
        if len(self._known) == _MOST_KNOWN:
            self._known.clear()
        surface, (part, kind, *_) = item.surface(), item.part_of_speech()
        morpheme = _morpheme(surface, item.normalized_form(), item.reading_form(), part, kind, is_unknown=item.is_oov())
        self._known[item.word_id(), surface] = morpheme
        return morpheme


def _name_versions(line: list[Morpheme]) -> None:
    """Gives 0.37.0, which Sudachi splits at the dots, the term of 0.37 too."""
    for at, (first, dot, second, end) in enumerate(zip(line, line[1:], line[2:], line[3:], strict=False)):
        if dot.surface == end.surface == "." and first.surface.isdigit() and second.surface.isdigit():
            version = f"{first.surface}.{second.surface}".rstrip("0").rstrip(".")
            line[at] = replace(first, terms=(*first.terms, *bounded_terms(version)))


@lru_cache(maxsize=1)
def _analyzer() -> _Analyzer:
    return _Analyzer()


def _morpheme(surface: str, normal: str, reading: str, part: str, kind: str, *, is_unknown: bool) -> Morpheme:
    is_other = is_unknown and part in _SIGNS and not _FOREIGN.fullmatch(surface)
    terms = _terms_of_other_scripts(surface) if is_other else _terms(surface, normal, part)
    reading = _reading(surface, normal, reading, part)
    may_begin = bool(terms) and part != "接尾辞" and reading != " "
    return Morpheme(surface, terms, reading, part, part in _NOUNS, may_begin, not is_unknown, kind)


def _terms_of_other_scripts(surface: str) -> tuple[str, ...]:
    """Returns the word that Sudachi takes for a sign, without the punctuation around it."""
    signs = "".join(sign for sign in surface if unicodedata.category(sign)[0] not in "LMN")
    return () if _DENSE.search(surface) else bounded_terms(stem(surface.strip(signs)))


def _terms(surface: str, normal: str, part: str) -> tuple[str, ...]:
    if _FOREIGN.fullmatch(surface) and normal == surface and (part in _SIGNS or len(surface) > 4):
        # Chinese and Korean are not in the dictionary: their terms are 2-grams.
        return tuple(surface[at : at + 2] for at in range(len(surface) - 1))
    if part in _WITHOUT_TERMS:
        return ()
    if _LATIN.fullmatch(surface):
        return bounded_terms(stem(surface))
    count = COUNTED.get(surface) or COUNTED.get(normal)
    if count:
        return (str(count), "つ")
    at = normal.find("々")
    if at > 0:
        normal = normal[:at] + normal[at - 1] + normal[at + 1 :]
    return bounded_terms(normal.lower())


def _reading(surface: str, normal: str, reading: str, part: str) -> str:
    # Kana are their own reading: the dictionary finds wrong words in にじほうていしき.
    if is_kana(surface):
        return to_katakana(surface)
    if normal.isascii() and normal.isdigit():
        return reading_of(normal)
    if surface in LETTERS:
        return LETTERS[surface]
    # Sudachi reads every sign as キゴウ, and Latin letters by their names.
    if part in _WITHOUT_TERMS or surface.isascii():
        return " "
    return reading
