"""Insertions into a text, which keep every other character."""

from collections.abc import Iterable
from dataclasses import dataclass


class CannotEdit(Exception):
    """The text cannot be parsed, or the entry has no place in it; the message says why."""


@dataclass(frozen=True, slots=True)
class Insertion:
    """`length` characters at `start`, of the text after this insertion and before the next one."""

    start: int
    length: int


def without(text: str, insertions: Iterable[Insertion]) -> str:
    """Returns the text before the insertions, which are in the order in which they were made."""
    for one in reversed(list(insertions)):
        text = text[: one.start] + text[one.start + one.length :]
    return text


def line_end(text: str) -> str:
    """Returns the line end of a text."""
    return "\r\n" if "\r\n" in text else "\n"
