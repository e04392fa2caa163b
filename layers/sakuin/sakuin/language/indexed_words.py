"""What the index keeps of a text's words."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IndexedWords:
    """`impacts`: how much a text is about each term, (0-1]; times how rare the term is, it is the term's part of BM25F.

    `readings`: pairs of a reading in katakana and how it is written in this text, for questions written in kana.
    """

    impacts: Mapping[str, float]
    readings: frozenset[tuple[str, str]]
