"""The entries of the console's menu."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: the path below `/console`, the key of its text, and whether only admins see it."""

    path: str
    text: str
    admins_only: bool = False


ENTRIES = (Entry("/", "overview.title"),)
