"""Portions of items that fit into one request."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar
from urllib.parse import quote

_SUBJECTS_A_REQUEST = 50
# API Gateway accepts 10,240 bytes for the request line and headers.
_ADDRESS_BYTES = 6_000

Item = TypeVar("Item")


def portions(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Yields portions of at most `size`; no items are one empty portion, since an empty request checks the key."""
    for start in range(0, len(items) or 1, size):
        yield items[start : start + size]


def addressable(subjects: Iterable[str]) -> Iterator[list[str]]:
    """Yields portions that fit into a URL; no subjects are one empty portion."""
    some: list[str] = []
    size = 0
    for subject in subjects:
        length = len(quote(subject, safe="")) + len("&subject=")
        if some and (len(some) == _SUBJECTS_A_REQUEST or size + length > _ADDRESS_BYTES):
            yield some
            some, size = [], 0
        some.append(subject)
        size += length
    yield some
