"""The splitting of a string into overlapping chunks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import regex

from sakuin.errors import Invalid

CHUNK_SIZE = 1000
CHUNK_OVERLAP = 150

# The ranks of places to cut at; 0 is inside a grapheme.
_ANY, _WORD, _CLAUSE, _SENTENCE, _PARAGRAPH = range(1, 6)
_BEST_FIRST = (_PARAGRAPH, _SENTENCE, _CLAUSE, _WORD, _ANY)

_CLOSING = "」』）】〕〉》”’\"')\\]"
_SPACES = re.compile(r"\s+")
_SOLID = re.compile(r"\S")
_CR_LF = re.compile("\r\n")
_LINE_END = re.compile("\r\n|[\n\v\f\r\x85\u2028\u2029]")

# Not in 1,000 or a?b=1: a Latin sign ends a clause only before a space or a character that is not ASCII.
_CLAUSE_END = re.compile(r"[、，､；]|[,;](?![!-~])")

_SENTENCE_END = re.compile(
    rf"(?:[。｡！？]|．(?!\d))++[{_CLOSING}]*+"
    rf"|(?<![.!?])[.!?]++[{_CLOSING}]*+(?=\s)"
    r"|(?<![!?])[!?]++(?=[^\x00-\x7f])"
)

# Any two of these characters are two graphemes, except CR LF. Only the others need the pattern of graphemes.
_PLAIN = "\t\n\r -~\u3000-\u3029ぁ-ゖァ-ヿ㐀-䶿一-鿿！-｠"

_NOT_PLAIN = re.compile(f"[{_PLAIN}]?(?:[^{_PLAIN}]++[{_PLAIN}]?)++")

# UAX #29, with a pair of surrogates, which Python may store as two characters, as one. Flags are explicit, because
# `\X` looks back over all flags before it, which takes quadratic time for a row of flags.
_GRAPHEME = regex.compile(
    r"(?:\p{GCB=Prepend}*+[\ud800-\udbff][\udc00-\udfff]|\p{GCB=RI}{2})"
    r"[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*+|\X"
)


@dataclass(frozen=True, slots=True)
class ChunkText:
    """One window with its text, half-open, in code points. `index` counts from 0 to `total`."""

    index: int
    total: int
    text: str
    char_start: int
    char_end: int


def chunks(text: str, *, size: int = CHUNK_SIZE, overlap: int = CHUNK_OVERLAP) -> list[ChunkText]:
    """Returns windows of at most `size` code points, in order, that contain every character but white space.

    Always `text[char_start:char_end] == chunk.text`.

    Starts and ends increase, so that no window contains another; neighbours share at most `overlap` code points. A
    window ends at the last paragraph end in its second part, or else at a sentence, clause, word or grapheme; it begins
    in the overlap by the same rule. It has no white space at its ends: a blank text has no windows. A grapheme longer
    than `size` is cut. `Invalid` is raised for a `size` below 2, or an `overlap` that is not below `size`.
    """
    if size < 2 or not 0 <= overlap < size:
        raise Invalid("A chunk needs a size of at least 2 code points, and an overlap from 0 to less than the size.")
    places = _places(text, size)
    text_end = _at_or_after(places, len(text.rstrip()))
    spans: list[tuple[int, int]] = []
    # `fresh` is the first grapheme that is in no window yet.
    fresh = _solid(text, places, 0)
    while fresh < text_end:
        start = _start(text, places, fresh, *spans[-1], size, overlap) if spans else fresh
        end = text_end if text_end <= start + size else _end(text, places, fresh, start, size, overlap)
        spans.append((start, end))
        fresh = _solid(text, places, end)
    return [ChunkText(index, len(spans), text[start:end], start, end) for index, (start, end) in enumerate(spans)]


def _start(text: str, places: bytearray, fresh: int, start: int, end: int, size: int, overlap: int) -> int:
    """Returns the best start in the overlap with the window before from which a window still contains `fresh`."""
    earliest = max(start + 1, end - overlap, _at_or_after(places, fresh + 1) - size)
    for rank in _BEST_FIRST:
        if (place := places.find(rank, earliest, end)) >= 0:
            return _solid(text, places, place)
    return fresh


def _end(text: str, places: bytearray, fresh: int, start: int, size: int, overlap: int) -> int:
    """Returns the best end. At least half of the new part is used, so that the number of windows is bounded."""
    limit = start + size
    earliest = max(fresh + (size - overlap) // 2, _at_or_after(places, fresh + 1))
    for rank in _BEST_FIRST:
        if (place := places.rfind(rank, earliest, limit + 1)) >= 0:
            break
    else:
        place = _at_or_before(places, limit)
    return _at_or_after(places, start + len(text[start:place].rstrip()))


def _places(text: str, size: int) -> bytearray:
    """Returns the rank of each place from 0 to `len(text)`."""
    places = bytearray([_ANY]) * (len(text) + 1)
    for start, end in _long_graphemes(text):
        places[start + 1 : end] = bytes(end - start - 1)
        for place in range(start + size, end, size):
            places[place] = _ANY
    for match in _SPACES.finditer(text):
        rank = _rank_of_space(match[0])
        _raise(places, match.start(), rank)
        _raise(places, match.end(), rank)
    for match in _CLAUSE_END.finditer(text):
        _raise(places, match.end(), _CLAUSE)
    for match in _SENTENCE_END.finditer(text):
        _raise(places, match.end(), _SENTENCE)
    return places


def _rank_of_space(space: str) -> int:
    if space == " ":
        return _WORD
    lines = len(_LINE_END.findall(space))
    return _PARAGRAPH if lines > 1 else _SENTENCE if lines else _WORD


def _raise(places: bytearray, place: int, rank: int) -> None:
    """Raises the rank of a place, except inside a grapheme."""
    if 0 < places[place] < rank:
        places[place] = rank


def _long_graphemes(text: str) -> Iterator[tuple[int, int]]:
    """Yields start and end of every grapheme of more than one code point."""
    for pair in _CR_LF.finditer(text):
        yield pair.span()
    for run in _NOT_PLAIN.finditer(text):
        for match in _GRAPHEME.finditer(text, *run.span()):
            start, end = match.span()
            if end - start > 1:
                yield start, end


def _solid(text: str, places: bytearray, place: int) -> int:
    """Returns the start of the first grapheme from `place` on that is not white space, or the end of the text."""
    match = _SOLID.search(text, place)
    return _at_or_before(places, match.start()) if match else len(text)


def _at_or_before(places: bytearray, place: int) -> int:
    while not places[place]:
        place -= 1
    return place


def _at_or_after(places: bytearray, place: int) -> int:
    while not places[place]:
        place += 1
    return place
