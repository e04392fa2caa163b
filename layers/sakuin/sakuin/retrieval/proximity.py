"""Proximity: of two long texts with the words of a question, the one that has them close together ranks first.

A text loses evidence in the measure in which its matches are scattered (Tao, Zhai: An Exploration of Proximity Measures
in Information Retrieval, SIGIR 2007). Character grams stand for the words: so the texts of results need no analysis.
Measured: docs/explanation/how-a-question-is-answered.md.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from sakuin.language.character_grams import PREFIX
from sakuin.language.model import Slot
from sakuin.language.unicode_text import folded
from sakuin.retrieval.passages import CLOSE, passages
from sakuin.retrieval.ranking import Frequencies, Ranked, WordMatch

# The first results, which are compared by their texts.
COMPARED = 10


@dataclass(frozen=True, slots=True)
class ComparedText:
    """The text of a result. Its `title` stands beside each of its passages."""

    text: str
    title: str = ""


def ranked_by_texts(
    ranked: Callable[..., list[Ranked]],
    words: Mapping[str, WordMatch],
    first: Sequence[Ranked],
    texts: Iterable[tuple[Sequence[Slot], Mapping[str, ComparedText]]],
    frequencies: Frequencies,
) -> list[Ranked]:
    """Returns the ranking by `ranked`, a `rank` that lacks the words, after the texts of its `first` were compared.

    `texts` are by id, with the slots that their chunks are searched by. No compared result falls below the last of
    them, so that those after it keep their places.
    """
    compared: dict[str, WordMatch] = {}
    for slots, some in texts:
        compared |= with_scattered(words, some, slots, frequencies)
    lowest = min((each.evidence for each in first if each.id in compared), default=0.0)
    return ranked({**words, **compared}, lowest=lowest)


def with_scattered(
    words: Mapping[str, WordMatch], texts: Mapping[str, ComparedText], slots: Sequence[Slot], frequencies: Frequencies
) -> dict[str, WordMatch]:
    """Returns what each of `texts` has of the question's words, and how much of that is scattered."""
    gains = _gains(slots, frequencies)
    return {
        id: replace(words[id], scattered=words[id].share * (1 - share_close_together(text, gains)))
        for id, text in texts.items()
    }


def share_close_together(text: ComparedText, gains: Mapping[str, float]) -> float:
    """Returns how much of what a text has of the keys of `gains` one passage has, 0-1; 1 without any.

    The keys are in the folded form of texts, the values say how much each counts.
    """
    title, parts = _folded_passages(text)

    def value(grams: set[str]) -> float:
        # A set has another order in every process, which would change the last digits of a plain sum.
        return math.fsum(gains[gram] for gram in grams)

    of_title = {gram for gram in gains if gram in title}
    of_parts = [of_title | {gram for gram in gains if gram in part} for part in parts]
    whole = value(set().union(*of_parts))
    return max(map(value, of_parts)) / whole if whole else 1.0


@lru_cache(maxsize=256)
def _folded_passages(text: ComparedText) -> tuple[str, tuple[str, ...]]:
    """Returns title and passages in their folded form. Results repeat; one takes about 4 kB."""
    return folded(text.title), tuple(passages(folded(text.text), wide=CLOSE))


def _gains(slots: Sequence[Slot], frequencies: Frequencies) -> dict[str, float]:
    """Returns the value of each character gram of a question."""
    grams = (gram for slot in slots if slot.kind == "gram" for gram in slot.terms)
    return {gram.removeprefix(PREFIX): frequencies.rarity(gram) for gram in grams}
