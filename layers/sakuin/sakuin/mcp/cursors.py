"""Cursors of answers that continue: a position, signed with what was asked, so that any other text is an error."""

import hashlib
import json

from sakuin.errors import Invalid

_DIGITS = 8


def cursor_of(position: str, *asked: object) -> str:
    """Returns the cursor of a position in the answer to what was `asked`."""
    return f"{_digest(position, asked)}.{position}"


def position_of(cursor: str, *asked: object, name: str = "cursor") -> str:
    """Returns the position of a cursor, which is the argument `name`.

    Raises `Invalid` if it does not belong to what was `asked`.
    """
    digest, _, position = cursor.partition(".")
    if digest != _digest(position, asked):
        raise Invalid(
            f"'{name}' does not belong to this call. Use the cursor of the last answer with the same other arguments, "
            f"or leave '{name}' out to begin again"
        )
    return position


def numbers_of(cursor: str, *asked: object) -> tuple[int, int]:
    """Returns the position of a cursor that is two numbers."""
    first, _, second = position_of(cursor, *asked).partition("-")
    return int(first), int(second)


def _digest(position: str, asked: tuple[object, ...]) -> str:
    return hashlib.sha256(json.dumps([position, *asked]).encode()).hexdigest()[:_DIGITS]
