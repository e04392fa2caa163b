"""What an index over Tables was built with, and how the words of its chunks and of questions are weighed."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from sakuin.domain.chunking import CHUNKER
from sakuin.domain.index_settings import IndexSettings
from sakuin.domain.language.question import Slot
from sakuin.domain.recipe import ANALYZER, EmbeddingModel, digest
from sakuin.domain.table_cut import TableCut

# What a reading that is found counts beside a word.
READING_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class TableFingerprint:
    """Everything that changes its chunks, vectors or words. Only vectors of one `space` are ever compared."""

    model: EmbeddingModel
    cut: TableCut
    chunker: str = CHUNKER
    analyzer: str = ANALYZER

    @property
    def id(self) -> str:
        """16 hex digits, the same for the same parts everywhere."""
        return digest(asdict(self))

    @property
    def space(self) -> str:
        """16 hex digits of what makes vectors comparable: of a text that stays, the vector does too."""
        return digest(asdict(self.model))


def tables_of(settings: IndexSettings) -> TableFingerprint:
    """What an index's part over Tables is built with."""
    return TableFingerprint(settings.model, settings.cut, settings.chunker, settings.analyzer)


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
