"""Proximity: of two long texts with the words of a question, the one that has them close together ranks first.

Only texts of several sentences can lose evidence, in the measure in which their matches are scattered (Tao, Zhai: An
Exploration of Proximity Measures in Information Retrieval, SIGIR 2007). Rare character grams stand for the words: so
the texts of results need no analysis. Measured: docs/decisions/0081-words-close-together.md.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from sakuin.language.character_grams import PREFIX
from sakuin.language.model import Slot
from sakuin.language.unicode_text import folded
from sakuin.retrieval.ranking import Frequencies, Ranked, with_similarity
from sakuin.retrieval.weights import Scale, Weights

# The first results, which are compared by their texts.
COMPARED = 10
# The part of the value of the rarest gram of a question that a gram needs. More frequent ones stand everywhere.
_LEAST_VALUE = 0.3
# Words are close if they occur within this many consecutive sentences.
_SENTENCES = 3
_SENTENCE_END = re.compile(r"(?<=[。!?])(?![。!?])|(?<=\.)\s+|\n+")


def ordered_by_proximity(
    ranking: Sequence[Ranked],
    texts: Mapping[str, str],
    slots: Sequence[Slot],
    frequencies: Frequencies,
    weights: Weights,
    scale: Scale,
) -> list[Ranked]:
    """Returns `ranking` with its first `COMPARED` results in the order of the evidence that is left to them.

    `texts` has the texts of these results by id. The best result keeps its evidence. Each other result loses evidence
    for words that are more scattered than those of the best. No result gets less evidence than the last of `COMPARED`
    results had, so that the evidence falls over the whole ranking.
    """
    if not ranking:
        return []
    first, rest = ranking[:COMPARED], ranking[COMPARED:]
    gains = _gains(slots, frequencies)
    scattered = {each.id: each.words * (1 - share_close_together(texts[each.id], gains)) for each in first}
    losses = {id: -weights.scattered * share for id, share in scattered.items()}
    best = max(first, key=lambda each: each.evidence - losses[each.id])
    lowest = first[-1].evidence if len(first) == COMPARED else -math.inf
    lowered = [
        replace(
            each,
            evidence=max(each.evidence - max(0.0, losses[each.id] - losses[best.id]), lowest),
            scattered=scattered[each.id],
        )
        for each in first
    ]
    return with_similarity([*sorted(lowered, key=lambda each: -each.evidence), *rest], scale)


def share_close_together(text: str, gains: Mapping[str, float]) -> float:
    """Returns how much of what a text has of the keys of `gains` three sentences in a row have, 0-1; 1 without any.

    The keys are in the folded form of texts, the values say how much each counts.
    """
    words_of_sentences = [{part for part in gains if part in sentence} for sentence in _sentences(text)]

    def value(some: Sequence[Collection[str]]) -> float:
        # A set has another order in every process, which would change the last digits of a plain sum.
        return math.fsum(gains[part] for part in set().union(*some))

    whole = value(words_of_sentences)
    starts = range(max(1, len(words_of_sentences) - _SENTENCES + 1))
    return max(value(words_of_sentences[start : start + _SENTENCES]) for start in starts) / whole if whole else 1.0


@lru_cache(maxsize=256)
def _sentences(text: str) -> tuple[str, ...]:
    """Returns the sentences of a text in its folded form. The results of a Table repeat; a text takes about 3 kB."""
    return tuple(sentence for sentence in _SENTENCE_END.split(folded(text)) if sentence.strip())


def _gains(slots: Sequence[Slot], frequencies: Frequencies) -> dict[str, float]:
    """Returns the value of each rare character gram of a question."""
    grams = (each for slot in slots if slot.kind == "gram" for each in slot.terms)
    gains = {each.term.removeprefix(PREFIX): each.weight * frequencies.rarity(each.term) for each in grams}
    least = _LEAST_VALUE * max(gains.values(), default=0.0)
    return {gram: gain for gram, gain in gains.items() if gain >= least}
