"""A short part of a text around its matched words."""

import re
from collections.abc import Sequence

EXCERPT_LENGTH = 100

_SPACE = re.compile(r"\s+")

_SENTENCE_START = re.compile(r"(?<=[。！？!?])\s*")

# A word that stands everywhere says nothing about where to look.
_MOST_PLACES = 20


def excerpt(text: str, *, around: Sequence[str] = (), length: int = EXCERPT_LENGTH) -> str:
    """The stretch of `text` that has the most of `around`, the earlier of them counting more, from a sentence's start.

    White space is folded; what is left out is marked with `…`; the result has at most `length` + 2 characters.
    """
    flat = _SPACE.sub(" ", text).strip()
    if len(flat) <= length:
        return flat
    start = _start(flat, around, length)
    piece = flat[start : start + length].strip()
    return ("…" if start else "") + piece + ("…" if start + length < len(flat) else "")


def _start(flat: str, around: Sequence[str], length: int) -> int:
    lowered = flat.lower()
    words = [word.lower() for word in around if word]
    if len(lowered) != len(flat) or not words:
        # A few letters change their length with their case: then places would not be the same.
        lowered = flat
    starts = {0, *(_from(flat, place, length) for word in words for place in _places(lowered, word))}

    def weight(start: int) -> float:
        seen = lowered[start : start + length]
        return sum(1 / (rank + 2) for rank, word in enumerate(words) if word in seen)

    return min(starts, key=lambda start: (-weight(start), start))


def _places(text: str, word: str) -> list[int]:
    places: list[int] = []
    place = text.find(word)
    while place >= 0 and len(places) < _MOST_PLACES:
        places.append(place)
        place = text.find(word, place + len(word))
    return places


def _from(flat: str, place: int, length: int) -> int:
    """Where a stretch begins that shows what stands at `place`: with its sentence, unless that is too long."""
    # A sentence that begins before is too long; the one more is the space after its mark.
    begins = [match.end() for match in _SENTENCE_START.finditer(flat, max(0, place - length // 2 - 1), place)]
    start = begins[-1] if begins else 0
    if place - start > length // 2:
        start = place - length // 4
    return max(0, min(start, len(flat) - length))
