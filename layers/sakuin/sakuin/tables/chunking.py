"""The splitting of a string into overlapping chunks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import regex

from sakuin.errors import Invalid

CHUNK_SIZE = 1000
CHUNK_OVERLAP = 150

# Words are many, so that the one at a place is looked for in so few characters first.
_NEAR = 40

_CLOSING = "」』）】〕〉》”’\"')]"
_LINE_ENDS = "\n\v\f\r\x85\u2028\u2029"
_SOLID = re.compile(r"\S")
_WORD_EDGE = re.compile(r"\s(?<=\S.)|\S(?<=\s.)", re.DOTALL)
_LINE_END = re.compile(rf"[{_LINE_ENDS}]\s*+")
# Python finds a pattern faster if it begins with a class of characters; the class of each is looked up behind it.
_BLANK_LINE = re.compile(rf"[{_LINE_ENDS}](?:(?<=\r)\n)?+[^\S{_LINE_ENDS}]*+[{_LINE_ENDS}]\s*+")

# Not in 1,000 or a?b=1: a Latin sign ends a clause only before a space or a character that is not ASCII.
_CLAUSE_END = re.compile(r"[、，､；,;](?:(?<=[、，､；])|(?![!-~]))")

# The end is the same from every sign of a row on.
_CLOSINGS = f"[{re.escape(_CLOSING)}]*+"
_SENTENCE_END = re.compile(
    rf"[。｡！？．.!?](?:(?<=[。｡！？．])(?<!．(?=\d))(?:[。｡！？]|．(?!\d))*+{_CLOSINGS}"
    rf"|(?<=[.!?])(?:{_CLOSINGS}(?=\s)|(?<!\.)(?=[^\x00-\x7f])))"
)
_NO_CLOSING = re.compile(rf"[^{re.escape(_CLOSING)}]")
_NO_CLOSING_BEFORE = regex.compile(rf"(?r){_NO_CLOSING.pattern}")

# A grapheme begins at each of these characters, except behind CR, single letters of Hangul (GCB=L) and some signs of
# Arabic and Indian scripts (GCB=Prepend). Graphemes are read at other characters alone.
PLAIN = "\t\n\r -~À-ÖØ-öø-ʯͰ-ͷΆΈ-ϿА-ҁҊ-ԯא-תؠ-يก-ะเ-ๆḀ-ỿ\u3000-\u3029ぁ-ゖァ-ヿ㐀-䶿一-鿿가-힣！-｠"
JOINING = "\r\u1100-\u115f\ua960-\ua97c\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u0d4e\U000110bd\U000110cd"
JOINING += "\U000111c2\U000111c3\U000113d1\U0001193f\U00011941\U00011a84-\U00011a89\U00011d46\U00011f02"
_BEGINNING = re.compile(f"(?<![{JOINING}])[{PLAIN}]")
_BEGINNING_BEFORE = regex.compile(f"(?r){_BEGINNING.pattern}")

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
    graphemes = _Graphemes(text, size)
    text_end = graphemes.at_or_after(len(text.rstrip()))
    spans: list[tuple[int, int]] = []
    # `fresh` is the first grapheme that is in no window yet.
    start = end = fresh = graphemes.solid(0)
    while fresh < text_end:
        after_fresh = graphemes.at_or_after(fresh + 1)
        if spans:
            earliest = max(start + 1, end - overlap, after_fresh - size)
            place = _first(graphemes, start, earliest, end - 1)
            start = fresh if place is None else graphemes.solid(place)
        if text_end <= start + size:
            end = text_end
        else:
            # At least half of the new part is used, so that the number of windows is bounded.
            earliest = max(fresh + (size - overlap) // 2, after_fresh)
            place = _last(graphemes, fresh, earliest, start + size)
            end = graphemes.at_or_after(_before_spaces(text, start, place))
        spans.append((start, end))
        fresh = graphemes.solid(end)
    return [ChunkText(index, len(spans), text[start:end], start, end) for index, (start, end) in enumerate(spans)]


class _Graphemes:
    """The places of a text that are not inside a grapheme, read where they are needed."""

    def __init__(self, text: str, size: int) -> None:
        self.text = text
        self._line_ends = [sign for sign in _LINE_ENDS if sign in text]
        self._size = size
        # The last row of graphemes that was read: its start, and 1 for each place that is not inside one.
        self._start, self._places = 0, b""
        self._closing = (0, 0)  # the last row of closing characters

    def is_place(self, place: int) -> bool:
        if _BEGINNING.match(self.text, place):
            return True
        self._read(place)
        return self._places[place - self._start] == 1

    def at_or_before(self, place: int) -> int:
        if _BEGINNING.match(self.text, place):
            return place
        self._read(place)
        return self._start + self._places.rfind(1, 0, place - self._start + 1)

    def at_or_after(self, place: int) -> int:
        if _BEGINNING.match(self.text, place):
            return place
        self._read(place)
        return self._start + self._places.find(1, place - self._start)

    def solid(self, place: int) -> int:
        """Returns the start of the first grapheme from `place` on that is not white space, or the end of the text."""
        match = _SOLID.search(self.text, place)
        return self.at_or_before(match.start()) if match else len(self.text)

    def closing_row(self, place: int) -> tuple[int, int]:
        """Returns start and end of the row of closing characters around `place`. Each row is read once."""
        start, end = self._closing
        if not start <= place < end:
            before = _NO_CLOSING_BEFORE.search(self.text, 0, place)
            after = _NO_CLOSING.search(self.text, place)
            self._closing = before.end() if before else 0, after.start() if after else len(self.text)
        return self._closing

    def has_line_end(self, start: int, end: int) -> bool:
        return any(self.text.find(sign, start, end) >= 0 for sign in self._line_ends)

    def _read(self, place: int) -> None:
        """Reads the graphemes around `place`, from one `_BEGINNING` to the next."""
        if self._start <= place < self._start + len(self._places):
            return
        before = _BEGINNING_BEFORE.search(self.text, 0, place)
        after = _BEGINNING.search(self.text, place)
        self._start, end = before.start() if before else 0, after.start() if after else len(self.text)
        places = bytearray(end - self._start + 1)
        places[0] = places[-1] = 1
        for match in _GRAPHEME.finditer(self.text, self._start, end):
            # One that no window can hold is cut.
            for start in range(match.start(), match.end(), self._size):
                places[start - self._start] = 1
        self._places = bytes(places)


def _first(graphemes: _Graphemes, solid: int, earliest: int, latest: int) -> int | None:
    """Returns the first place of the best rank from `earliest` to `latest`."""
    for places in _best_first(graphemes, solid, earliest, latest, near=earliest):
        for place in places:
            if earliest <= place <= latest and graphemes.is_place(place):
                return place
    place = graphemes.at_or_after(earliest)
    return place if place <= latest else None


def _last(graphemes: _Graphemes, solid: int, earliest: int, latest: int) -> int:
    """Returns the last place of the best rank from `earliest` to `latest`, or else the last one before."""
    if earliest <= latest:
        for places in _best_first(graphemes, solid, earliest, latest, near=latest):
            for place in reversed(places):
                if earliest <= place <= latest and graphemes.is_place(place):
                    return place
    return graphemes.at_or_before(latest)


def _best_first(graphemes: _Graphemes, solid: int, earliest: int, latest: int, *, near: int) -> Iterator[list[int]]:
    """Yields places of each rank in order: paragraphs, sentences, clauses, words.

    They contain all from `earliest` to `latest`, but first those words that are `near` a place. `solid` is the start of
    a grapheme before `earliest` that is not white space.
    """
    text = graphemes.text
    begin, end = _part(graphemes, solid, earliest, latest)
    lines: list[int] = []
    if graphemes.has_line_end(begin, end):
        yield [place for row in _BLANK_LINE.finditer(text, begin, end) for place in _edges(text, solid, row)]
        lines = [place for row in _LINE_END.finditer(text, begin, end) for place in _edges(text, solid, row)]
    sentences = [match.end() for match in _SENTENCE_END.finditer(text, begin, end)]
    yield sorted(lines + sentences) if lines else sentences
    yield [match.end() for match in _CLAUSE_END.finditer(text, begin, end)]
    yield [match.start() for match in _WORD_EDGE.finditer(text, max(near - _NEAR, 1), near + _NEAR)]
    yield [match.start() for match in _WORD_EDGE.finditer(text, max(begin, 1), end)]


def _edges(text: str, solid: int, row: re.Match[str]) -> tuple[int, int]:
    """Returns start and end of the white space around a line end."""
    return _before_spaces(text, solid, row.start()), row.end()


def _before_spaces(text: str, solid: int, place: int) -> int:
    """Returns the end of the text before `place` without white space at its end."""
    return solid + len(text[solid:place].rstrip()) if text[place - 1].isspace() else place


def _part(graphemes: _Graphemes, solid: int, earliest: int, latest: int) -> tuple[int, int]:
    """Returns start and end of what has to be read to find all places from `earliest` to `latest`."""
    text = graphemes.text
    begin, end = earliest - 1, latest + 2
    if text[begin].isspace():
        begin = _before_spaces(text, solid, earliest)
    elif text[begin] in _CLOSING and (row := graphemes.closing_row(begin))[1] <= latest:
        begin = max(row[0] - 1, 0)
    if text[latest].isspace():
        match = _SOLID.search(text, latest)
        end = match.start() if match else len(text)
    elif text[latest] in _CLOSING and (row := graphemes.closing_row(latest))[0] > begin:
        end = row[1] + 1
    return begin, end
