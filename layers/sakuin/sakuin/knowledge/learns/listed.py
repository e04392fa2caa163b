"""The list of indexed explanations with their `learns`, and what is missing or weak in these."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sakuin.knowledge.model import LearnsSource
from sakuin.knowledge.page import ChunkType
from sakuin.knowledge.validation import IndexedChunk, poor_learns
from sakuin.platform.supabase.client import Client, answer

_COLUMNS = "id,material,anchor,position,title,type,learns,learns_source,learns_given"

# provisional: a language model is still asked; written: neither an author nor a model gave any; the others are rules of
# validation: too few or too many items, and items that name no action.
LearnsMark = Literal["provisional", "written", "learns-completed", "learns-no-action"]


@dataclass(frozen=True, slots=True)
class ListedExplanation:
    """An explanation with its `learns`. `given` are the author's items as in the file, None without them."""

    id: str
    material: str
    anchor: str
    position: int
    title: str
    type: ChunkType
    learns: tuple[str, ...]
    source: LearnsSource
    given: tuple[str, ...] | None

    @property
    def marks(self) -> tuple[LearnsMark, ...]:
        """Returns what is missing or weak in its `learns`, nothing if they are good."""
        marks: list[Any] = [self.source] if self.source in ("provisional", "written") else []
        judged = self.learns if self.source == "model" else self.given
        marks += [found.rule for found in poor_learns(self.material, [IndexedChunk(self.anchor, self.learns, judged)])]
        return tuple(marks)


@dataclass(frozen=True, slots=True)
class Explanations:
    """Reads explanations of all pages. Each method reads at most `limit` rows."""

    client: Client

    def all(self, *, prefix: str = "", after: str = "", limit: int) -> Sequence[ListedExplanation]:
        """Returns explanations after the id `after`, by id; with a prefix those of the materials that begin with it."""
        request = self.client.table("knowledge_chunks").select(_COLUMNS).gt("id", after).order("id")
        if prefix:
            # The last code point ends the range of all names with this prefix.
            request = request.gte("id", prefix).lt("id", prefix + "\U0010ffff")
        return [_listed(row) for row in answer(request.limit(limit))]

    def of_material(self, material: str, *, after: int = -1, limit: int) -> Sequence[ListedExplanation]:
        """Returns the explanations of a material after a position, in the order of the page."""
        request = self.client.table("knowledge_chunks").select(_COLUMNS).eq("material", material).gt("position", after)
        return [_listed(row) for row in answer(request.order("position").limit(limit))]


def _listed(row: Any) -> ListedExplanation:
    given = row["learns_given"]
    return ListedExplanation(
        **{name: row[name] for name in ("id", "material", "anchor", "position", "title", "type")},
        learns=tuple(row["learns"]),
        source=row["learns_source"],
        given=None if given is None else tuple(given),
    )
