"""What differs between a recording and the answers of now."""

import difflib
import fnmatch
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# The embedding model gives the same text the same vector up to the last digits of a float.
TOLERANCE = 0.0002
_ABSENT = object()
_LONGEST = 300
# A member of this name maps ids to scores, best first.
RANKING = "ranking"


@dataclass(frozen=True, slots=True)
class Difference:
    """A place where answers differ; `place` is the kind of answer, the name of the entry and the path in it."""

    place: str
    recorded: str
    now: str

    @property
    def kind(self) -> str:
        return self.place.partition("/")[0]

    def __str__(self) -> str:
        return f"{self.place}\n    recorded: {self.recorded}\n    now:      {self.now}"


@dataclass(frozen=True, slots=True)
class Allowed:
    """Differences that a step makes on purpose: `place` and `now` are shell patterns."""

    place: str
    now: str = "*"

    def matches(self, difference: Difference) -> bool:
        return fnmatch.fnmatchcase(difference.place, self.place) and fnmatch.fnmatchcase(difference.now, self.now)


def read_allowed(file: Path) -> list[Allowed]:
    """Reads the patterns of a file: `place` or `place -> now` on each line; `#` begins a comment line."""
    written = (line.strip() for line in file.read_text(encoding="utf-8").splitlines())
    parts = (line.partition(" -> ") for line in written if line and not line.startswith("#"))
    return [Allowed(place.strip(), now.strip() or "*") for place, _, now in parts]


def separate(
    differences: Iterable[Difference], allowed: Sequence[Allowed]
) -> tuple[list[Difference], list[Difference], list[Allowed]]:
    """The differences that no pattern allows, those that one does, and the patterns that matched nothing."""
    refused: list[Difference] = []
    permitted: list[Difference] = []
    used: set[Allowed] = set()
    for each in differences:
        matching = [pattern for pattern in allowed if pattern.matches(each)]
        used.update(matching)
        (permitted if matching else refused).append(each)
    return refused, permitted, [pattern for pattern in allowed if pattern not in used]


def differences(recorded: Any, now: Any, place: str) -> Iterator[Difference]:
    """Yields every difference below a place."""
    if isinstance(recorded, dict) and isinstance(now, dict):
        if place.endswith(f"/{RANKING}"):
            yield from _ranking(recorded, now, place)
            return
        for name in [*recorded, *(name for name in now if name not in recorded)]:
            yield from differences(recorded.get(name, _ABSENT), now.get(name, _ABSENT), f"{place}/{name}")
    elif isinstance(recorded, list) and isinstance(now, list):
        yield from _lists(recorded, now, place)
    elif not _equal(recorded, now):
        yield Difference(place, _text(recorded), _text(now))


def _ranking(recorded: Mapping[str, float], now: Mapping[str, float], place: str) -> Iterator[Difference]:
    """Yields the first place in which a ranking differs. Neighbours with the same score may change places."""
    for rank, (first, second) in enumerate(zip(recorded, now, strict=False), 1):
        was = recorded[first]
        if first != second and not _near(was, recorded.get(second, now[second])):
            yield Difference(f"{place}/{rank}", f"{first} {was}", f"{second} {now[second]}")
            return
        if first == second and not _near(was, now[second]):
            yield Difference(f"{place}/{first}", str(was), str(now[second]))
    if len(recorded) != len(now):
        yield Difference(f"{place}/length", str(len(recorded)), str(len(now)))


def _lists(recorded: list[Any], now: list[Any], place: str) -> Iterator[Difference]:
    if len(recorded) == len(now):
        for number, (first, second) in enumerate(zip(recorded, now, strict=True)):
            yield from differences(first, second, f"{place}/{number}")
    elif all(isinstance(each, str) for each in [*recorded, *now]):
        changed = [line for line in difflib.ndiff(recorded, now) if line[0] in "-+"]
        gone, new = ([line[2:] for line in changed if line[0] == sign] for sign in "-+")
        yield Difference(place, _text(gone), _text(new))
    else:
        yield Difference(f"{place}/length", f"{len(recorded)}: {_text(recorded)}", f"{len(now)}: {_text(now)}")


def _equal(recorded: Any, now: Any) -> bool:
    # JSON does not tell 1 from 1.0, and in Python true equals both.
    if {type(recorded), type(now)} in ({float}, {int, float}):
        return _near(recorded, now)
    return type(recorded) is type(now) and bool(recorded == now)


def _near(first: float, second: float) -> bool:
    return abs(first - second) <= max(TOLERANCE, TOLERANCE * abs(first))


def _text(value: Any) -> str:
    text = "(nothing)" if value is _ABSENT else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"
