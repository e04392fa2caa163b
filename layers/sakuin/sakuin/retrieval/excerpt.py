"""Excerpts: a short part of a text around its matched words."""

import re
from collections.abc import Sequence

EXCERPT_LENGTH = 100
PASSAGE_LENGTH = 390
_SPACE = re.compile(r"\s+")
_SENTENCE_START = re.compile(r"(?<=[。！？!?])\s*")
# Further occurrences of a frequent word do not help to choose a place.
_MOST_PLACES = 20


def excerpt(text: str, *, around: Sequence[str] = (), length: int = EXCERPT_LENGTH) -> str:
    """Returns the part of `text` with most words of `around`, where earlier words have more weight.

    It starts with a sentence if possible, has single spaces, and `…` where text is left out: at most `length` + 2
    characters.
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
        # A few letters change their length in lower case, which would shift all positions.
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
    """Returns the start of an excerpt around `place`: the start of its sentence, unless that is too far away."""
    # The additional character is the space after the end of a sentence.
    begins = [match.end() for match in _SENTENCE_START.finditer(flat, max(0, place - length // 2 - 1), place)]
    start = begins[-1] if begins else 0
    if place - start > length // 2:
        start = place - length // 4
    return max(0, min(start, len(flat) - length))
