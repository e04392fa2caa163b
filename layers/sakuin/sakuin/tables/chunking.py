"""Cuts a string into chunks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import regex

from sakuin.errors import Invalid

CHUNK_SIZE = 1000

CHUNK_OVERLAP = 150


# How good a place to cut is; 0 is inside a grapheme.
_ANY, _WORD, _CLAUSE, _SENTENCE, _PARAGRAPH = range(1, 6)

_BEST_FIRST = (_PARAGRAPH, _SENTENCE, _CLAUSE, _WORD, _ANY)


_CLOSING = "」』）】〕〉》”’\"')\\]"

_SPACES = re.compile(r"\s+")

_SOLID = re.compile(r"\S")

_CR_LF = re.compile("\r\n")

_LINE_END = re.compile("\r\n|[\n\v\f\r\x85\u2028\u2029]")

# 1,000 and a?b=1 are no pauses: a Latin sign counts before a space or a letter that is not ASCII.
_CLAUSE_END = re.compile(r"[、，､；]|[,;](?![!-~])")

_SENTENCE_END = re.compile(
    rf"(?:[。｡！？]|．(?!\d))++[{_CLOSING}]*+"
    rf"|(?<![.!?])[.!?]++[{_CLOSING}]*+(?=\s)"
    r"|(?<![!?])[!?]++(?=[^\x00-\x7f])"
)

# Characters of which any two in a row are two graphemes, but for CR LF; the others are looked at one by one.
_PLAIN = "\t\n\r -~\u3000-\u3029ぁ-ゖァ-ヿ㐀-䶿一-鿿！-｠"

_NOT_PLAIN = re.compile(f"[{_PLAIN}]?(?:[^{_PLAIN}]++[{_PLAIN}]?)++")

# UAX #29, with two surrogates in a row, which Python may hold as two characters, as one. Flags are spelled out, since
# `\X` looks back over all flags before it: a row of them would take quadratic time.
_GRAPHEME = regex.compile(
    r"(?:\p{GCB=Prepend}*+[\ud800-\udbff][\udc00-\udfff]|\p{GCB=RI}{2})"
    r"[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*+|\X"
)


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a text, half-open, in code points."""

    char_start: int
    char_end: int


@dataclass(frozen=True, slots=True)
class ChunkText:
    """One window with its text, and which of how many it is, from 0."""

    index: int
    total: int
    text: str
    char_start: int
    char_end: int


def chunks(text: str, *, size: int = CHUNK_SIZE, overlap: int = CHUNK_OVERLAP) -> list[ChunkText]:
    """The windows of `text` with their texts: always `text[char_start:char_end] == chunk.text`."""
    found = windows(text, size=size, overlap=overlap)
    return [
        ChunkText(index, len(found), text[at.char_start : at.char_end], at.char_start, at.char_end)
        for index, at in enumerate(found)
    ]


def windows(text: str, *, size: int = CHUNK_SIZE, overlap: int = CHUNK_OVERLAP) -> list[Window]:
    """Windows of at most `size` code points that hold every character but white space, in order.

    Both starts and ends rise, so that none lies in another; two neighbours share at most `overlap` code points. Each
    ends at the last paragraph end in its later part, else sentence, clause, word, any grapheme; it begins likewise
    in the overlap. White space at either end is left out: a text of nothing else has no windows. A grapheme of more
    than `size` code points is cut every `size` of them, since no window could hold it.
    """
    if size < 2 or not 0 <= overlap < size:
        raise Invalid("A chunk needs a size of at least 2 code points, and an overlap from 0 to less than that.")
    places = _places(text, size)
    text_end = len(text.rstrip())
    text_end = _at_or_after(places, text_end)
    found: list[Window] = []
    # `fresh` is the first grapheme that no window holds yet.
    fresh = _solid(text, places, 0)
    while fresh < text_end:
        start = _start(text, places, fresh, found[-1], size, overlap) if found else fresh
        end = text_end if text_end <= start + size else _end(text, places, fresh, start, size, overlap)
        found.append(Window(start, end))
        fresh = _solid(text, places, end)
    return found


def _start(text: str, places: bytearray, fresh: int, last: Window, size: int, overlap: int) -> int:
    """The best place to begin again within the overlap, from where `fresh` can still be reached."""
    earliest = max(last.char_start + 1, last.char_end - overlap, _at_or_after(places, fresh + 1) - size)
    for rank in _BEST_FIRST:
        if (place := places.find(rank, earliest, last.char_end)) >= 0:
            return _solid(text, places, place)
    return fresh


def _end(text: str, places: bytearray, fresh: int, start: int, size: int, overlap: int) -> int:
    """The best place to end: half of what can be new is new, so that the number of windows is bounded."""
    limit = start + size
    earliest = max(fresh + (size - overlap) // 2, _at_or_after(places, fresh + 1))
    for rank in _BEST_FIRST:
        if (place := places.rfind(rank, earliest, limit + 1)) >= 0:
            break
    else:
        place = _at_or_before(places, limit)
    return _at_or_after(places, start + len(text[start:place].rstrip()))


def _places(text: str, size: int) -> bytearray:
    """How good each place from 0 to `len(text)` is to cut at."""
    places = bytearray([_ANY]) * (len(text) + 1)
    for start, end in _long_graphemes(text):
        places[start + 1 : end] = bytes(end - start - 1)
        for place in range(start + size, end, size):
            places[place] = _ANY
    for found in _SPACES.finditer(text):
        rank = _rank_of_space(found[0])
        _raise(places, found.start(), rank)
        _raise(places, found.end(), rank)
    for found in _CLAUSE_END.finditer(text):
        _raise(places, found.end(), _CLAUSE)
    for found in _SENTENCE_END.finditer(text):
        _raise(places, found.end(), _SENTENCE)
    return places


def _rank_of_space(space: str) -> int:
    if space == " ":
        return _WORD
    lines = len(_LINE_END.findall(space))
    return _PARAGRAPH if lines > 1 else _SENTENCE if lines else _WORD


def _raise(places: bytearray, place: int, rank: int) -> None:
    """What is inside a grapheme stays so."""
    if 0 < places[place] < rank:
        places[place] = rank


def _long_graphemes(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of every grapheme of more than one code point."""
    for pair in _CR_LF.finditer(text):
        yield pair.span()
    for run in _NOT_PLAIN.finditer(text):
        for found in _GRAPHEME.finditer(text, *run.span()):
            start, end = found.span()
            if end - start > 1:
                yield start, end


def _solid(text: str, places: bytearray, place: int) -> int:
    """Where the first grapheme from `place` on begins that is not white space; the text's end if there is none."""
    found = _SOLID.search(text, place)
    return _at_or_before(places, found.start()) if found else len(text)


def _at_or_before(places: bytearray, place: int) -> int:
    while not places[place]:
        place -= 1
    return place


def _at_or_after(places: bytearray, place: int) -> int:
    while not places[place]:
        place += 1
    return place
