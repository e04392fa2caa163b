"""The knowledge chunks, as agents read them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sakuin.domain.knowledge import Concept, Filters, Match, StoredChunk
from sakuin.domain.language.question import KnownWords, Slot, Sought
from sakuin.domain.recipe import Fingerprint
from sakuin.ports.embedding import Vector


@dataclass(frozen=True, slots=True)
class Question:
    """What a search asks of the index. `vector` None asks by words alone, no `slots` by meaning alone.

    `expected` is the id of a chunk that is judged like the others, wherever it ranks. `wants_example`: examples are
    judged by what they say alone, yet below the concepts they show.
    """

    vector: Vector | None
    slots: Sequence[Slot]
    fingerprint: Fingerprint
    filters: Filters
    limit: int
    expected: str | None = None
    wants_example: bool = False


class KnowledgeSearch(Protocol):
    """The knowledge chunks, as agents read them."""

    def matches(self, question: Question) -> Sequence[Match]:
        """The best `limit` chunks by falling similarity, ties by id; fewer only if the filters leave fewer.

        After them the expected one, if it is not among them and the filters let it through. Vectors of another
        model or recipe are never compared: such chunks, and all where `vector` is None, are found by words alone.
        """

    def chunk(self, id: str) -> StoredChunk:
        """One chunk in full; an id that is not there raises `NotFound`."""

    def concepts(self, filters: Filters, *, after: str | None, limit: int) -> tuple[Sequence[Concept], str | None]:
        """Chunks by material and anchor after the id `after`, and the cursor of the next page (None at the end)."""


class Lexicon(Protocol):
    """What the indexed texts themselves, and the site's author, say of words."""

    def look_up(self, query: str, sought: Sought) -> KnownWords:
        """What is known of the words that `query` may be made of; nothing known is not an error."""
