"""Replaces what is random or a moment in time, so that two recordings of the same product are equal."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

DIGITS = 4
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
# In this order: an earlier pattern may hold a part of what a later one describes.
_PATTERNS = tuple(
    (re.compile(pattern), shown)
    for pattern, shown in (
        (r"sk_sakuin_[A-Za-z0-9_-]{43}", "<key>"),
        (_UUID, "<uuid>"),
        # A doc id begins with the Table's id.
        (r"\b[0-9a-f]{8}(?=_[0-9a-f]{16}_[0-9a-f]{16}_\d)", "<table>"),
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d(:?\d\d)?)?", "<time>"),
        (r"\b(127\.0\.0\.1|localhost):\d+", "<host>"),
        (r"\bport \d+\b", "port <n>"),
        (r"\b\d+(\.\d+)? (ms|s)\b", "<n> \\2"),
        (r"\b\d+\.\d+ seconds\b", "<n> seconds"),
        (r"(X-Amz-[A-Za-z-]+=)[^&\"]+", "\\1<…>"),
    )
)
# Members whose value is random whatever it looks like. `hash` is a key's, made with a random pepper.
_BY_NAME = {
    "hash": "<hash>",
    "version_id": "<version>",
    "indexed_version_id": "<version>",
    "seconds": "<seconds>",
    "retry_after": "<seconds>",
}


@dataclass(slots=True)
class Normaliser:
    """Normalises values and texts. `known` are values of one deployment and what stands for them."""

    known: Mapping[str, str] = field(default_factory=dict)

    def name(self, value: str, shown: str) -> str:
        """Remembers what stands for a value from now on; returns the value."""
        self.known = {**self.known, value: shown}
        return value

    def text(self, text: str) -> str:
        """Returns the text with a placeholder for each value that differs between two deployments."""
        # The longest first: an address may be the beginning of another.
        for value in sorted(self.known, key=len, reverse=True):
            text = text.replace(value, self.known[value])
        for pattern, shown in _PATTERNS:
            text = pattern.sub(shown, text)
        return text

    def value(self, value: Any, name: str = "") -> Any:
        """Returns the JSON value with placeholders; numbers are rounded to four digits."""
        match value:
            case str() | int() | float() if name in _BY_NAME and not isinstance(value, bool):
                return _BY_NAME[name]
            case str() if name.endswith("_on"):
                return "<day>"
            case str():
                return self.text(value)
            case float():
                return round(value, DIGITS)
            case dict():
                return {self.text(key): self.value(each, key) for key, each in value.items()}
            case list() | tuple():
                return [self.value(each, name) for each in value]
            case _:
                return value


def lines(text: str) -> str | list[str]:
    """Returns a text of one line as it is, a longer one as its lines, so that differences show line by line."""
    split = [line.rstrip() for line in text.splitlines()]
    return split if len(split) > 1 else "".join(split)
