"""A page as it was read."""

from dataclasses import dataclass
from typing import Literal, get_args

ChunkType = Literal["rule", "method", "definition", "example", "tip"]

CHUNK_TYPES: tuple[ChunkType, ...] = get_args(ChunkType)


TYPE_OF_PREFIX: dict[str, ChunkType] = {
    "rule": "rule",
    "method": "method",
    "def": "definition",
    "ex": "example",
    "tip": "tip",
}


# Which elements are boxes that explain something, as CSS selectors, where a deployment names no others.
DEFAULT_BOX_SELECTORS = (
    *(".rule-box", ".tip-box", ".method", ".method-box", ".definition", ".definition-box", ".def-box"),
    *(".example-box", ".theorem", ".formula-box"),
)


@dataclass(frozen=True, slots=True)
class Explanation:
    """One anchored element of a page: a rule, a method, a definition, an example or a tip.

    `anchor` is NFC. `title` is the concept's name without pictographs, numbering or link labels.
    `content` is plain text without what belongs to an anchored element inside it.
    `headings` are the titles of the sections around it, outermost first.
    `illustrates` are the anchors of the page's concepts that an example shows in use.
    `position` counts from 0 in the order of the page.
    """

    anchor: str
    type: ChunkType
    title: str
    content: str
    position: int
    headings: tuple[str, ...] = ()
    illustrates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnnamedBox:
    """A box that explains something and has no semantic id: nobody can link to it."""

    selector: str
    title: str


@dataclass(frozen=True, slots=True)
class Page:
    """What one HTML page explains, and what is needed to judge it.

    `ids` are all element ids in page order, duplicates included, NFC.
    `links` are the fragments of in-page links (`href="#…"`), percent-decoded, NFC.
    """

    title: str
    explanations: tuple[Explanation, ...]
    category: str | None = None
    level: str | None = None
    prerequisites: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    unnamed_boxes: tuple[UnnamedBox, ...] = ()


def type_of_anchor(anchor: str) -> ChunkType | None:
    """The type that an id's prefix names: `rule-…`, `method-…`, `def-…`, `ex-…`, `tip-…`."""
    prefix, dash, name = anchor.partition("-")
    return TYPE_OF_PREFIX.get(prefix) if dash and name else None
