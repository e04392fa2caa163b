"""Slips of the keyboard: a conversion into the wrong kanji, a wrong key, a letter left out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from sakuin.language.analysis import read
from sakuin.language.concepts import english_vocabulary, japanese_spellings, longest, named_concepts, spelling_read
from sakuin.language.kana import kana_words
from sakuin.language.numerals import DIGITS
from sakuin.language.questions.question import LexiconEntries

LONGEST_SPELLING = 10

LONGEST_STRETCH = 8  # morphemes

LONGEST_READING = 24  # kana

# Two words of fewer kana are read alike by chance.
SHORTEST_READING = 3

# What is counted: 三次, 四角, 二乗.
_COUNTERS = "次乗元倍角辺点項桁回個組番人枚"


@dataclass(frozen=True, slots=True)
class Typo:
    """What stands from `start` to `end` is probably `meant`."""

    start: int
    end: int
    meant: str


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    end: int
    reading: str
    morphemes: int


def possible_typos(text: str, known: LexiconEntries) -> list[Typo]:
    """The slips in a canonical question, none within another, none where the index or the glossary has it as it is.

    In this order: compounds that are read like a word of the index or the glossary (判別指揮), spellings of the
    glossary with one kanji exchanged (余事像), words that are a keystroke or two from one of the index.
    """
    right = _right_places(text)
    pieces = sorted(_pieces(text), key=lambda one: (one.start - one.end, one.start))
    for piece in pieces:
        if text[piece.start : piece.end] in known.written.get(piece.reading, ()):
            right[piece.start : piece.end] = [True] * (piece.end - piece.start)
    found: list[Typo] = []
    for slip in _in_turn(text, known, pieces, right):
        if slip.meant != text[slip.start : slip.end] and not all(right[slip.start : slip.end]):
            found.append(slip)
            right[slip.start : slip.end] = [True] * (slip.end - slip.start)
    return _apart(found)


def kana_typos(text: str, known: LexiconEntries, read_so_far: Sequence[tuple[int, int]]) -> list[Typo]:
    """Words in kana that are a keystroke or two from one of the index, if not all of them could be read."""
    found = []
    for start, word in kana_words(text):
        could_be_read = sum(stop - begin for begin, stop in read_so_far if start <= begin and stop <= start + len(word))
        near = known.near.get(word)
        if near and 0 < could_be_read < len(word):
            found.append(Typo(start, start + len(word), near[0]))
    return found


def near_english(word: str) -> str | None:
    """The English word of the glossary that `word` (folded, without plural) is one or two keystrokes from."""
    if len(word) < 5:
        return None
    most = 1 if len(word) < 7 else 2
    near = [
        (distance, other)
        for other in english_vocabulary()
        if abs(len(other) - len(word)) <= most and (other[0] == word[0] or other[-3:] == word[-3:])
        for distance in (keystrokes(word, other, most=most),)
        if distance <= most
    ]
    return min(near)[1] if near else None


def keystrokes(one: str, other: str, *, most: int) -> int:
    """Insertions, deletions, exchanges and swaps of neighbours between two words; `most` + 1 if there are more."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, sign in enumerate(one, start=1):
        following = [i]
        for j, wanted in enumerate(other, start=1):
            cost = min(row[j] + 1, following[j - 1] + 1, row[j - 1] + (sign != wanted))
            if i > 1 and j > 1 and sign == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, before[j - 2] + 1)
            following.append(cost)
        before, row = row, following
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)


def _in_turn(text: str, known: LexiconEntries, pieces: list[_Piece], right: list[bool]) -> Iterator[Typo]:
    # A word that the dictionary has alone is no slip, even if it is not of this field.
    compounds = [piece for piece in pieces if piece.morphemes > 1]
    for piece in compounds:
        if len(piece.reading) < SHORTEST_READING or all(right[piece.start : piece.end]):
            continue
        if meant := next(iter(known.written.get(piece.reading, ())), None) or spelling_read(piece.reading):
            yield Typo(piece.start, piece.end, meant)
    yield from _wrong_kanji(text, lambda place: right[place])
    for piece in compounds:
        written = text[piece.start : piece.end]
        # A word less is no slip.
        if closest := next((form for form in known.near.get(written, ()) if form not in written), None):
            yield Typo(piece.start, piece.end, closest)
    for start, word in kana_words(text):
        closest = next((form for form in known.near.get(word, ()) if form not in word), None)
        if closest and not _is_a_word(word) and not any(right[start : start + len(word)]):
            yield Typo(start, start + len(word), closest)


def _is_a_word(text: str) -> bool:
    (line,) = read(text).lines
    return len(line) == 1 and line[0].is_known


def _right_places(text: str) -> list[bool]:
    right = [False] * len(text)
    for one in longest(named_concepts(text)):
        right[one.start : one.end] = [True] * (one.end - one.start)
    return right


def _apart(found: list[Typo]) -> list[Typo]:
    kept: list[Typo] = []
    for slip in found:
        if all(slip.end <= other.start or other.end <= slip.start for other in kept):
            kept.append(slip)
    return kept


def _pieces(text: str) -> Iterator[_Piece]:
    """Every stretch with kanji that may have been converted from other kana."""
    places = 0
    for line in read(text).lines:
        starts = [places]
        for morpheme in line:
            starts.append(starts[-1] + len(morpheme.surface))
        places = starts[-1]
        for first in range(len(line)):
            reading = ""
            for last in range(first, min(first + LONGEST_STRETCH, len(line))):
                reading += line[last].reading
                if " " in reading or len(reading) > LONGEST_READING:
                    break
                written = text[starts[first] : starts[last + 1]]
                if line[first].terms and line[last].terms and any(map(_is_ideograph, written)):
                    yield _Piece(starts[first], starts[last + 1], reading, last - first + 1)


def _wrong_kanji(text: str, is_right: Callable[[int], bool]) -> Iterator[Typo]:
    for place in range(len(text)):
        if _may_be_wrong(text, place) and not is_right(place) and (slip := _with_another_kanji(text, place)):
            yield slip


def _with_another_kanji(text: str, place: int) -> Typo | None:
    """The longest spelling around a place that has another kanji there."""
    patterns = _patterns()
    for size in range(min(LONGEST_SPELLING, len(text)), 2, -1):
        for start in range(max(0, place - size + 1), min(place, len(text) - size) + 1):
            end = start + size
            meant = patterns.get(f"{text[start:place]}\0{text[place + 1 : end]}")
            if meant and not _continues(text, start) and not _continues(text, end):
                return Typo(start, end, meant)
    return None


@lru_cache(maxsize=1)
def _patterns() -> dict[str, str]:
    patterns: dict[str, str] = {}
    for spelling in japanese_spellings():
        if 3 <= len(spelling) <= LONGEST_SPELLING:
            for place, sign in enumerate(spelling):
                if _is_ideograph(sign):
                    patterns.setdefault(f"{spelling[:place]}\0{spelling[place + 1 :]}", spelling)
    return patterns


def _continues(text: str, at: int) -> bool:
    """Whether a compound in kanji goes on over this place."""
    return 0 < at < len(text) and _is_ideograph(text[at - 1]) and _is_ideograph(text[at])


def _may_be_wrong(text: str, at: int) -> bool:
    sign, before = text[at], text[at - 1 : at]
    # 三次関数 is neither 二次関数 nor 三角関数.
    is_of_number = sign in DIGITS or (before in DIGITS and sign in _COUNTERS)
    return _is_ideograph(sign) and not is_of_number and _beside_kanji(text, at)


def _beside_kanji(text: str, at: int) -> bool:
    return any(_is_ideograph(sign) or sign.isdigit() for sign in (text[at - 1 : at], text[at + 1 : at + 2]) if sign)


def _is_ideograph(sign: str) -> bool:
    return "一" <= sign <= "鿿"
