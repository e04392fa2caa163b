"""How the words of chunks and questions are weighed in the search engine."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sakuin.language.model import Slot

# What a reading that is found counts beside a word.
READING_SHARE = 0.5


def repeated_terms(impacts: Mapping[str, float]) -> tuple[str, ...]:
    """Each term as often as it stands in the text, for an engine that counts by itself.

    An impact is count / (count + c), so impact / (1 - impact) is the count but for a factor that the whole text
    shares; the rarest term of a chunk stands there once.
    """
    counts = {term: impact / (1 - impact) for term, impact in impacts.items() if 0 < impact < 1}
    once = min(counts.values(), default=1.0)
    return tuple(term for term, count in counts.items() for _ in range(round(count / once)))


def asked_slots(slots: Sequence[Slot]) -> tuple[Slot, ...]:
    """The slots as a Table's words' leg sums them: words first, readings for less."""
    words = (slot for slot in slots if slot.kind == "word")
    readings = (slot for slot in slots if slot.kind == "reading")
    return (*words, *map(_lighter, readings))


def _lighter(slot: Slot) -> Slot:
    return replace(slot, terms=tuple(replace(each, weight=each.weight * READING_SHARE) for each in slot.terms))
