"""The morphemes of a Japanese text: Sudachi with its small dictionary, split A."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Lock

from sudachipy import Dictionary, SplitMode

from sakuin.language.letters import LETTERS, hiragana_as_katakana, is_kana, stem
from sakuin.language.numerals import COUNTED, reading_of

# Parts of speech that carry no subject: particles, auxiliaries, signs, spaces.
_SILENT = {"助詞", "助動詞", "補助記号", "空白", "記号"}

_NOUNS = {"名詞", "接頭辞", "接尾辞", "形状詞"}

_SIGNS = {"補助記号", "空白", "記号"}

# A term is never longer in UTF-8: the built-in tokenizers of turbopuffer drop what is.
LONGEST_TERM = 39  # bytes

_PIECE = 10_000

# Readings that depend on the neighbour, which split A does not see.
_READ_TOGETHER = {
    **{(before, "形"): (None, "ケイ") for before in ("三角", "四角", "五角", "六角", "多角", "角", "正方", "長方")},
    **{("平方", "根"): (None, "コン"), ("立方", "根"): (None, "コン"), ("乗", "根"): (None, "コン")},
    **{("中", "点"): ("チュウ", "テン"), ("角", "柱"): ("カク", "チュウ"), ("扇", "形"): ("オウギ", "ガタ")},
    **{
        ("底", "の"): ("テイ", "ノ"),
        ("角", "の"): ("カク", "ノ"),
        ("球", "の"): ("キュウ", "ノ"),
        ("和", "積"): ("ワ", "セキ"),
    },
    **{
        ("角", "が"): ("カク", "ガ"),
        ("角", "を"): ("カク", "ヲ"),
        ("角", "と"): ("カク", "ト"),
        ("角", "すい"): ("カク", "スイ"),
    },
    **{
        ("側", "面積"): ("ソク", None),
        ("母", "集団"): ("ボ", None),
        ("空", "集合"): ("クウ", None),
        ("傍", "心"): ("ボウ", "シン"),
    },
    **{("陰", "関数"): ("イン", None), ("n", "乗"): ("エヌ", "ジョウ"), ("極", "座標"): ("キョク", None)},
    **{
        ("極", "形式"): ("キョク", None),
        ("極", "方程"): ("キョク", None),
        ("四", "分"): ("シ", "ブン"),
        ("四", "分位"): ("シ", None),
        ("箱", "ひげ"): ("ハコ", None),
    },
    **{
        ("4", "分"): ("シ", "ブン"),
        ("はずれ", "値"): (None, "チ"),
        ("箱", "髭"): ("ハコ", None),
        ("接", "線"): ("セッ", "セン"),
    },
}

_FOREIGN = re.compile(r"[가-힣一-鿿㐀-䶿]{3,}|[가-힣]{2,}")

_LATIN = re.compile(r"[a-zà-ɏ][a-zà-ɏ']*")


@dataclass(frozen=True, slots=True)
class Morpheme:
    """A piece of a text: its terms (none if it carries no subject), its reading in katakana (a space if it has none).

    `part` is UniDic's part of speech; `is_noun`: it may be a part of a compound noun; `may_begin`: also its first;
    `is_known`: the dictionary has it.
    """

    surface: str
    terms: tuple[str, ...]
    reading: str
    part: str
    is_noun: bool
    may_begin: bool
    is_known: bool


def morphemes(text: str) -> Iterator[list[Morpheme]]:
    """The morphemes of each line of a canonical text, in order; their surfaces joined are the line."""
    analyzer = _analyzer()
    for line in text.splitlines():
        # Sudachi refuses more than 49,149 bytes at a time.
        for start in range(0, len(line), _PIECE):
            yield analyzer.of(line[start : start + _PIECE])


def kept_terms(word: str) -> tuple[str, ...]:
    """`word` as terms that every store keeps: cut into pieces if it is too long."""
    if len(word) <= LONGEST_TERM // 3 or len(word.encode()) <= LONGEST_TERM:
        return (word,) if word.strip() else ()
    size = LONGEST_TERM // 4
    return tuple(word[start : start + size] for start in range(0, len(word), size))


class _Analyzer:
    """Sudachi with what it said of each word of its dictionary: asking it again costs more than the analysis."""

    def __init__(self) -> None:
        self._tokenizer = Dictionary(dict="small").tokenizer(mode=SplitMode.A)
        self._known: dict[int, Morpheme] = {}
        # Sudachi refuses two threads in one tokenizer.
        self._one_at_a_time = Lock()

    def of(self, line: str) -> list[Morpheme]:
        found: list[Morpheme] = []
        known = self._known
        with self._one_at_a_time:
            for item in self._tokenizer.tokenize(line):
                word = item.word_id()
                morpheme = known.get(word)
                surface = item.surface()
                # A word of the dictionary has one number for each spelling, but width and case are folded away.
                if morpheme is None or morpheme.surface != surface:
                    part = item.part_of_speech()
                    morpheme = _morpheme(surface, item.normalized_form(), item.reading_form(), part[0], item.is_oov())
                    known[word] = morpheme
                if found and (found[-1].surface, surface) in _READ_TOGETHER:
                    before, here = _READ_TOGETHER[found[-1].surface, surface]
                    found[-1], morpheme = _read_as(found[-1], before), _read_as(morpheme, here)
                found.append(morpheme)
        return found


def _read_as(morpheme: Morpheme, reading: str | None) -> Morpheme:
    return morpheme if reading is None else replace(morpheme, reading=reading)


@lru_cache(maxsize=1)
def _analyzer() -> _Analyzer:
    return _Analyzer()


def _morpheme(surface: str, normal: str, reading: str, part: str, is_unknown: bool) -> Morpheme:
    terms, said = _terms(surface, normal, part), _reading(surface, normal, reading, part)
    may_begin = bool(terms) and part != "接尾辞" and said != " "
    return Morpheme(surface, terms, said, part, part in _NOUNS, may_begin, not is_unknown)


def _terms(surface: str, normal: str, part: str) -> tuple[str, ...]:
    if _FOREIGN.fullmatch(surface) and normal == surface and (part in _SIGNS or len(surface) > 4):
        # Chinese and Korean: no dictionary here knows their words.
        return tuple(surface[at : at + 2] for at in range(len(surface) - 1))
    if part in _SILENT:
        return ()
    if _LATIN.fullmatch(surface):
        return kept_terms(stem(surface))
    count = COUNTED.get(surface) or COUNTED.get(normal)
    if count:
        return (str(count), "つ")
    at = normal.find("々")
    if at > 0:
        normal = normal[:at] + normal[at - 1] + normal[at + 1 :]
    return kept_terms(normal.lower())


def _reading(surface: str, normal: str, reading: str, part: str) -> str:
    # What is written in kana is its own reading: the dictionary guesses words into にじほうていしき.
    if is_kana(surface):
        return hiragana_as_katakana(surface)
    if normal.isascii() and normal.isdigit():
        return reading_of(normal)
    if surface in LETTERS:
        return LETTERS[surface]
    # キゴウ is Sudachi's reading of every sign, and a Latin word's is often its name.
    if part in _SILENT or surface.isascii():
        return " "
    return reading
