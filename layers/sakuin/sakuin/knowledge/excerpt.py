"""What a result shows of its text: how it spells the terms of a question, and a short part around them."""

import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate

from sakuin.knowledge.markdown import closing, open_fence, parts, with_addresses
from sakuin.language.analysis import AnalyzedText, analyze
from sakuin.language.vocabulary import NO_VOCABULARY, Vocabulary

EXCERPT_LENGTH = 100
_SPACE = re.compile(r"\s+")
_SENTENCE_START = re.compile(r"(?<=[。！？!?\n])\s*")
# Further occurrences of a frequent word do not help to choose a place.
_MOST_PLACES = 20
MOST_SHOWN = 8
_ANALYZED = 1500  # characters; more would cost more time than it improves the display
# Which Sudachi takes for a part of the word.
_PUNCTUATION = " ।॥،؛؟۔።፣"
# The results of a library repeat. An analysis takes most of the time, and about 12 kB.
_analyzed = lru_cache(maxsize=256)(analyze)

Span = tuple[int, int]


def excerpt(text: str, *, around: Sequence[str] = (), length: int = EXCERPT_LENGTH, keeps_lines: bool = False) -> str:
    """Returns the part of `text` with most words of `around`, where earlier words have more weight.

    It starts with a sentence if possible, has single spaces, and `…` where text is left out: at most `length` + 4
    characters. Code keeps its lines, without fences; a line is cut only if it is longer than the excerpt. With
    `keeps_lines` all text keeps its lines, and a row of a table is not cut either.
    """
    flat, code = _flat(text, keeps_lines=keeps_lines)
    if len(flat) <= length:
        return flat
    start, end = _span(flat, code, around, length)
    closing = "" if end == len(flat) else "\n…" if "\n" in flat[end - 1 : end + 1] else "…"
    piece = flat[start:end].rstrip()
    start += len(piece) - len(piece := piece.lstrip("\n"))
    if start not in {line[0] for line in code}:
        return ("…" if start else "") + piece.lstrip() + closing
    return ("…\n" if start else "") + piece + closing


def part_of(text: str, *, around: Sequence[str], length: int) -> str:
    """Returns the whole lines of Markdown with most words of `around`, of about `length` characters.

    Code keeps its fences. A line that is too long is cut.
    """
    lines = text.split("\n")
    ends = [*accumulate(len(line) + 1 for line in lines)]
    words = [word.lower() for word in around]

    def weight(first: int) -> float:
        begins = ends[first] - len(lines[first]) - 1
        seen = with_addresses(text[begins : begins + length]).lower()
        return sum(1 / (rank + 2) for rank, word in enumerate(words) if word in seen)

    first = max(range(len(lines)), key=lambda line: (weight(line), -line))
    begins = ends[first] - len(lines[first]) - 1
    last = max(bisect(ends, begins + length), first)
    # Without a part of the next line the text would be too short. Its links have no addresses, so that none is cut.
    left = begins + length - (ends[last - 1] if last > first else begins)
    beginning = (
        [excerpt(with_addresses(lines[last]), around=around, length=left)]
        if last < len(lines) and 2 * left > length
        else []
    )
    opened = open_fence("\n".join(lines[:first]))
    shown = [*([opened] if opened else []), *lines[first:last], *beginning]
    fence = open_fence("\n".join(shown))
    return "\n".join([*(["…"] if first else []), *shown, *([closing(fence)] if fence else [])])


def _flat(text: str, *, keeps_lines: bool) -> tuple[str, list[Span]]:
    """Returns a text with a line for each line of code and one for all text between, and the spans of whole lines."""
    lines: list[str] = []
    code: list[Span] = []
    length = 0
    for is_code, part in parts(text):
        for line in part.split("\n") if is_code or keeps_lines else (_SPACE.sub(" ", part).strip(),):
            if is_code or (keeps_lines and line.startswith("|")):
                code.append((length, length + len(line)))
            if is_code or keeps_lines or line:
                lines.append(line)
                length += len(line) + 1
    return "\n".join(lines), code


def _span(flat: str, code: Sequence[Span], around: Sequence[str], length: int) -> Span:
    lowered = flat.lower()
    words = [word.lower() for word in around if word]
    if len(lowered) != len(flat) or not words:
        # A few letters change their length in lower case, which would shift all positions.
        lowered = flat
    starts = {0, *(_from(flat, place, length) for word in words for place in _places(lowered, word))}

    def weight(span: Span) -> float:
        seen = lowered[slice(*span)]
        return sum(1 / (rank + 2) for rank, word in enumerate(words) if word in seen)

    spans = (_whole_lines(start, min(start + length, len(flat)), code) for start in starts)
    return min(spans, key=lambda span: (-weight(span), span))


def _whole_lines(start: int, end: int, code: Sequence[Span]) -> Span:
    """Returns a span that cuts no line of code, unless the line is longer than the span."""
    if not code:
        return start, end
    first = _line(code, start)
    if first and first[1] - first[0] <= end - start:
        start, end = first[0], first[0] + end - start
    last = _line(code, end)
    return start, last[0] if last and last[0] > start else end


def _line(code: Sequence[Span], place: int) -> Span | None:
    """Returns the line of code that a cut at `place` would divide."""
    line = code[bisect(code, (place,)) - 1]
    return line if line[0] < place < line[1] else None


def _places(text: str, word: str) -> list[int]:
    places: list[int] = []
    place = text.find(word)
    while place >= 0 and len(places) < _MOST_PLACES:
        places.append(place)
        place = text.find(word, place + len(word))
    return places


def _from(flat: str, place: int, length: int) -> int:
    """Returns the start of an excerpt around `place`: the start of its sentence, unless that is too far away."""
    # The additional character is the space after the end of a sentence.
    begins = [match.end() for match in _SENTENCE_START.finditer(flat, max(0, place - length // 2 - 1), place)]
    start = begins[-1] if begins else 0
    if place - start > length // 2:
        start = place - length // 4
    return max(0, min(start, len(flat) - length))


def matched_words(text: str, terms: Sequence[str], vocabulary: Vocabulary = NO_VOCABULARY) -> tuple[str, ...]:
    """Returns the spellings in `text` of index terms, adjacent ones joined, without repetition.

    `terms` come with the highest weight first, and so do the spellings, at most `MOST_SHOWN`.
    """
    if not terms:
        return ()
    weight = {term: place for place, term in enumerate(terms)}
    read = _analyzed(text[:_ANALYZED], mathematics=vocabulary.mathematics)
    best: dict[str, int] = {}
    for start, end, place in _joined(sorted(_spans(read, weight, vocabulary))):
        words = read.text[start:end].strip(_PUNCTUATION)
        best[words] = min(place, best.get(words, place))
    # Ties keep the order of the text, which starts with the title.
    ordered = sorted(best, key=lambda words: best[words])
    # A part of a longer spelling is redundant (公式 beside 解の公式), and so is a single character.
    whole = [words for words in ordered if not any(words != other and words in other for other in ordered)]
    return tuple(([words for words in whole if len(words) > 1] or whole)[:MOST_SHOWN])


def _spans(text: AnalyzedText, weight: Mapping[str, int], vocabulary: Vocabulary) -> Iterator[tuple[int, int, int]]:
    """Yields start, end and rank (0 is the highest weight) of each span with one of the terms."""
    at = 0
    for morpheme in (morpheme for line in text.lines for morpheme in line if morpheme.terms):
        start = text.text.find(morpheme.surface, at)
        if start >= 0:
            at = start + len(morpheme.surface)
            yield from _span_of(start, at, morpheme.terms, weight)
    for start, end, terms in text.formulas:
        yield from _span_of(start, end, terms, weight)
    for named in vocabulary.mentions(text.text):
        yield from _span_of(named.start, named.end, (concept.term for concept in named.concepts), weight)


def _span_of(start: int, end: int, terms: Iterable[str], weight: Mapping[str, int]) -> Iterator[tuple[int, int, int]]:
    places = [weight[term] for term in terms if term in weight]
    if places:
        yield start, end, min(places)


def _joined(places: Iterable[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Returns spans from left to right, adjacent and overlapping ones joined."""
    joined: list[tuple[int, int, int]] = []
    for start, end, place in places:
        if joined and start <= joined[-1][1]:
            first, last, best = joined.pop()
            joined.append((first, max(end, last), min(place, best)))
        else:
            joined.append((start, end, place))
    return joined
