"""Which strings of a Table are large, and how large their chunks are."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TableCut:
    """Which strings are large, and how large their chunks are, in code points."""

    threshold: int = 1000
    chunk_size: int = 1000
    overlap: int = 150
