"""The words of a text as the index knows them: Japanese-aware, the same for pages and for questions."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from threading import Lock

from sudachipy import Dictionary, Morpheme, SplitMode, Tokenizer

# Parts of speech that carry no subject: particles, auxiliaries, signs, spaces.
_SILENT = {"助詞", "助動詞", "補助記号", "空白", "記号"}
_TEX_COMMAND = re.compile(r"\\[A-Za-z]+\*?")
_KANA_RUN = re.compile(r"[ァ-ヴー]+")
_HIRAGANA = {code: code + 0x60 for code in range(ord("ぁ"), ord("ゖ") + 1)}
_PIECE = 10_000
# Sudachi refuses two threads in one tokenizer.
_ONE_AT_A_TIME = Lock()


def terms(text: str) -> dict[str, int]:
    """Each term of `text` with how often it stands there.

    Two kinds in one vocabulary: normalised words (`襷掛け` for たすきがけ, たすき掛け and 襷掛け alike), and
    3-grams of the reading in katakana behind `~` (`~タスキ`), by which a question written in kana finds kanji.
    Pure: the same text gives the same terms.
    """
    counts: dict[str, int] = {}
    for term in _terms(text):
        counts[term] = counts.get(term, 0) + 1
    return counts


def folded(text: str) -> str:
    """NFKC, lower case, TeX commands replaced by spaces: what is left is compared."""
    return unicodedata.normalize("NFKC", _TEX_COMMAND.sub(" ", text)).lower()


def _terms(text: str) -> Iterator[str]:
    for morphemes in _sentences(folded(text)):
        reading: list[str] = []
        for morpheme in morphemes:
            if morpheme.part_of_speech()[0] not in _SILENT:
                yield str(morpheme.normalized_form())
            reading.append(_reading(morpheme))
        for run in _KANA_RUN.findall("".join(reading)):
            yield from ("~" + gram for gram in _grams(run))


def _reading(morpheme: Morpheme) -> str:
    surface = str(morpheme.surface()).translate(_HIRAGANA)
    # What is written in kana is its own reading: the dictionary guesses words into にじほうていしき.
    if _KANA_RUN.fullmatch(surface):
        return surface
    # キゴウ is Sudachi's reading of every sign, and a Latin word's is often its name.
    if morpheme.part_of_speech()[0] in _SILENT or (surface.isascii() and not surface.isdigit()):
        return " "
    return str(morpheme.reading_form())


def _grams(run: str) -> Iterator[str]:
    if len(run) <= 3:
        if len(run) > 1:
            yield run
        return
    for start in range(len(run) - 2):
        yield run[start : start + 3]


def _sentences(text: str) -> Iterator[list[Morpheme]]:
    for line in text.splitlines():
        # Sudachi refuses more than 49,149 bytes at a time.
        for start in range(0, len(line), _PIECE):
            with _ONE_AT_A_TIME:
                morphemes = list(_tokenizer().tokenize(line[start : start + _PIECE]))
            yield morphemes


@lru_cache(maxsize=1)
def _tokenizer() -> Tokenizer:
    return Dictionary(dict="small").tokenizer(mode=SplitMode.A)
