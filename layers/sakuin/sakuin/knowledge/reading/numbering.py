"""Numbers at the beginning of headings: those that count are numbering, all others are parts of names."""

import re
from collections.abc import Sequence

NUMBERS = (
    re.compile(r"(?P<number>\d{1,3}(?:[.-]\d{1,3})*)\s*[.．)）](?:\s+(?=\S)|(?=[^\d\s]))"),
    re.compile(r"(?P<number>\d{1,3}(?:\.\d{1,3})+)\s+(?=\S)"),
)

Number = tuple[int, ...]


def counting_numbers(titles: Sequence[str]) -> frozenset[Number]:
    """Returns the numbers that count titles in page order: 1., 2., 3. or 1.1, 1.2.

    Versions do not: they begin with 0, go down, or have no neighbours.
    """
    numbers = [_split(title)[0] for title in titles]
    first = {number: place for place, number in reversed(list(enumerate(numbers))) if number}
    last = {number: place for place, number in enumerate(numbers)}

    def counts(number: Number) -> bool:
        outer, place = number[:-1], number[-1]
        if outer in first:
            return counts(outer)
        if (*outer, 0) in first or len(outer) > 1:
            return False
        if not outer and (place, 1) in first and (place, 0) not in first:
            return True
        if place == 1:
            return last.get((*outer, 2), -1) > first[number]
        return (*outer, 1) in first and first.get((*outer, place - 1), len(numbers)) < last[number]

    return frozenset(number for number in first if counts(number))


def without_numbering(title: str, counting: frozenset[Number]) -> str:
    """Returns a title without its number if that is one of those that count."""
    number, name = _split(title)
    return name if number in counting else title


def without_number(title: str) -> str:
    """Returns a title without a number at its beginning, whether or not that counts."""
    return _split(title)[1]


def _split(title: str) -> tuple[Number, str]:
    for pattern in NUMBERS:
        if found := pattern.match(title):
            return tuple(map(int, re.split("[.-]", found["number"]))), title[found.end() :]
    return (), title
