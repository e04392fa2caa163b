"""About a hundred characters of a text, around what matched."""

import re
from collections.abc import Sequence

EXCERPT_LENGTH = 100
_SPACE = re.compile(r"\s+")
_SENTENCE_START = re.compile(r"(?<=[。！？!?])\s*")


def excerpt(text: str, *, around: Sequence[str] = (), length: int = EXCERPT_LENGTH) -> str:
    """The stretch of `text` that begins with the sentence in which one of `around` first stands.

    White space is folded; what is left out is marked with `…`; the result has at most `length` + 2 characters.
    """
    flat = _SPACE.sub(" ", text).strip()
    if len(flat) <= length:
        return flat
    start = _start(flat, around, length)
    piece = flat[start : start + length].strip()
    return ("…" if start else "") + piece + ("…" if start + length < len(flat) else "")


def _start(flat: str, around: Sequence[str], length: int) -> int:
    places = [place for word in around if word and (place := flat.find(word)) >= 0]
    if not places or min(places) + max(map(len, around)) <= length:
        return 0
    first = min(places)
    begins = [match.end() for match in _SENTENCE_START.finditer(flat, 0, first)]
    start = begins[-1] if begins else 0
    # A sentence may be longer than the excerpt: then the match itself matters more.
    if first - start > length // 2:
        start = first - length // 4
    return max(0, min(start, len(flat) - length))
