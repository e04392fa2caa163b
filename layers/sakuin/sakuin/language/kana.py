"""Kana in a question, written as the index writes it: the cheapest way to read a run as known words."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sakuin.language.letters import hiragana_as_katakana

LONGEST_RUN = 60  # kana; a longer run is read in pieces

LONGEST_WORD = 18  # kana

_RUN = re.compile(r"[ぁ-ゖァ-ヶー]{2,}")

_KATAKANA_RUN = re.compile(r"[ァ-ヶー]{4,}")

_PIECE = re.compile(r"(?:(?![のをはが]|って|とは|という).)+")

_IDEOGRAPH = re.compile(r"[一-鿿]")

# What stands between words, and is never one of them.
_BETWEEN_LIST = """
の は が を に で と も や へ から まで より って とは という ってなに なに なんですか
です ます する した して しない すると したとき される できる どう どうやる どうやって
どうすれば いい よい ある ない なる なった いる とき ときの こと もの その この どの ください
おしえて ないとき かどうか いくつ なぜ ための ために でも だけ など について かた ほうほう な
だ か ね よ し て た
"""

_BETWEEN = frozenset(_BETWEEN_LIST.split())


Written = Callable[[str], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Reading:
    """A stretch of kana and how the index writes it, the most frequent first."""

    start: int
    end: int
    written: tuple[str, ...]


def kana_readings(text: str) -> Iterator[str]:
    """Every stretch of kana in a canonical text that may be a word, in katakana."""
    for run in _RUN.finditer(text):
        katakana = hiragana_as_katakana(run[0][: LONGEST_RUN * 2])
        for start in range(len(katakana) - 1):
            for end in range(start + 2, min(start + LONGEST_WORD, len(katakana)) + 1):
                yield katakana[start:end]


def kana_words(text: str) -> Iterator[tuple[int, str]]:
    """The pieces of kana that may each be one word with a slip in it, with their places.

    Hiragana only where there are no kanji: beside them they are grammar.
    """
    for run in (_KATAKANA_RUN if _IDEOGRAPH.search(text) else _RUN).finditer(text):
        for piece in _PIECE.finditer(run[0]):
            if 4 <= len(piece[0]) <= LONGEST_WORD:
                yield run.start() + piece.start(), piece[0]


def rewritten_runs(text: str, written: Written, *, shortest: int) -> list[Reading]:
    """The words in the kana of a canonical text that are written otherwise; what may be read in no way stays."""
    found: list[Reading] = []
    for run in _RUN.finditer(text):
        for begin in range(0, len(run[0]), LONGEST_RUN):
            piece = run[0][begin : begin + LONGEST_RUN]
            goes_on = run.start() + begin > 0 and _IDEOGRAPH.match(text[run.start() + begin - 1]) is not None
            for start, end, forms in _cheapest(piece, written, shortest, goes_on=goes_on):
                if piece[start:end] not in forms:
                    at = run.start() + begin
                    found.append(Reading(at + start, at + end, forms))
    return found


# Costs of reading a piece so, by trial on the labelled questions of the development half.
_UNKNOWN, _PARTICLE = 1.0, 0.3

_WORD = {2: 0.9, 3: 0.6}

_LONG_WORD = 0.45


def _cheapest(piece: str, written: Written, shortest: int, *, goes_on: bool) -> list[tuple[int, int, tuple[str, ...]]]:
    katakana = hiragana_as_katakana(piece)
    # What follows a kanji is the rest of its word until a particle says otherwise.
    # For each place and whether what ends there was unknown: the cost, and the words on the way.
    best: dict[tuple[int, bool], tuple[float, tuple[tuple[int, int, tuple[str, ...]], ...]]] = {(0, goes_on): (0.0, ())}

    def reach(at: int, unknown: bool, cost: float, words: tuple[tuple[int, int, tuple[str, ...]], ...]) -> None:
        if (at, unknown) not in best or cost < best[at, unknown][0]:
            best[at, unknown] = (cost, words)

    for start in range(len(piece)):
        for was_unknown in (False, True):
            if (start, was_unknown) not in best:
                continue
            cost, words = best[start, was_unknown]
            after_short = bool(words) and words[-1][1] == start and words[-1][1] - words[-1][0] < 4
            okurigana = after_short and words[-1][2][0][-1] in _HIRAGANA
            if not after_short or okurigana:
                reach(start + 1, True, cost + _UNKNOWN, words)
            for end in range(start + 1, min(start + LONGEST_WORD, len(piece)) + 1):
                if piece[start:end] in _BETWEEN:
                    reach(end, False, cost + _PARTICLE, words)
                size = end - start
                # A short word beside kana of which nobody knows the meaning is a piece of a longer one.
                if size < shortest or (was_unknown and size < 4):
                    continue
                if forms := written(katakana[start:end]):
                    reach(end, False, cost + _WORD.get(size, _LONG_WORD), (*words, (start, end, forms)))
    ends = [best[len(piece), unknown] for unknown in (False, True) if (len(piece), unknown) in best]
    return list(min(ends, key=lambda end: end[0])[1]) if ends else []


_HIRAGANA = frozenset(chr(code) for code in range(ord("ぁ"), ord("ゖ") + 1))
