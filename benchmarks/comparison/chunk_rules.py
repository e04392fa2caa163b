"""What chunks have to keep of their string, and how often some do not."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import regex

_GRAPHEME = regex.compile(r"\X")
_SOLID = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Cut:
    """A chunk. `start` and `end` are what its splitter says, or None where it says nothing."""

    text: str
    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class Broken:
    """How often the rules are broken: characters, chunks, chunks, places and chunks.

    `lost` are characters, but for white space, at no place of a chunk. `inside` are chunks that another one contains.
    `unplaced` are chunks that are not `text[start:end]` in code points, or not behind the start of the chunk before.
    `graphemes` are cut through. `long` are chunks of more than the wanted size.
    """

    lost: int = 0
    inside: int = 0
    unplaced: int = 0
    graphemes: int = 0
    long: int = 0

    def __add__(self, other: "Broken") -> "Broken":
        return Broken(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


def broken(text: str, cuts: Sequence[Cut], *, size: int) -> Broken:
    """Compares the chunks of a string with it. A chunk without a true place counts where its text is, if anywhere."""
    spans: list[tuple[int, int]] = []
    unplaced = 0
    for cut in cuts:
        before = spans[-1] if spans else (-1, 0)
        start = cut.start if _is_true(text, cut, before[0]) else None
        unplaced += start is None
        start = _found(text, cut.text, *before) if start is None else start
        if start >= 0:
            spans.append((start, start + len(cut.text)))
    kept = bytearray(len(text))
    for start, end in spans:
        kept[start:end] = b"\1" * (end - start)
    places = {match.start() for match in _GRAPHEME.finditer(text)} | {len(text)}
    return Broken(
        lost=sum(not kept[match.start()] for match in _SOLID.finditer(text)),
        inside=_inside(spans),
        unplaced=unplaced,
        graphemes=sum(place not in places for span in spans for place in span),
        long=sum(len(cut.text) > size for cut in cuts),
    )


def _is_true(text: str, cut: Cut, start_before: int) -> bool:
    if cut.start is None or cut.end is None:
        return False
    return cut.start > start_before and text[cut.start : cut.end] == cut.text


def _found(text: str, chunk: str, start: int, end: int) -> int:
    """Returns where a chunk may be that follows the one from `start` to `end`: behind it, overlapping, or -1."""
    behind = _SOLID.search(text, end)
    solid = len(chunk) - len(chunk.lstrip())
    if behind and text.startswith(chunk, place := max(0, behind.start() - solid)):
        return place
    near = text.find(chunk, max(start + 1, end - len(chunk) // 2))
    return near if near >= 0 else text.find(chunk, start + 1)


def _inside(spans: Sequence[tuple[int, int]]) -> int:
    count, furthest = 0, -1
    for _, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        count += end <= furthest
        furthest = max(furthest, end)
    return count
