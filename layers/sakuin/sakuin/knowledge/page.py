"""A page as it was read: its explanations, and the texts that they are found by."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from sakuin.knowledge.markdown import plain_text
from sakuin.texts.catalogue import Reason, coded

Severity = Literal["error", "warning", "info"]
ChunkType = Literal["rule", "method", "definition", "example", "tip"]

TYPE_OF_PREFIX: dict[str, ChunkType] = {
    "rule": "rule",
    "method": "method",
    "def": "definition",
    "ex": "example",
    "tip": "tip",
}

# Meta tags of Sakuin, and filters: no names of fields that a page has for itself.
RESERVED = frozenset(
    {"type", "category", "level", "language", "material", "folder", "in"}
    | {"prerequisites", "content", "leave-out", "types", "index"}
)

# CSS selectors of the elements that explain something, for deployments that do not set their own.
DEFAULT_BOX_SELECTORS = (
    *(".rule-box", ".tip-box", ".method", ".method-box", ".definition", ".definition-box", ".def-box"),
    *(".example-box", ".theorem", ".formula-box"),
)


def css_selectors(text: str) -> tuple[str, ...]:
    """Returns the CSS selectors between commas, or the default ones. `:is(.a, .b)` is one selector."""
    selectors = (selector.strip() for selector in re.split(r",(?![^()\[\]]*[)\]])", text))
    return tuple(selector for selector in selectors if selector) or DEFAULT_BOX_SELECTORS


# What comes after so many characters of an explanation is found by its words alone.
EMBEDDED_LENGTH = 20_000


@dataclass(frozen=True, slots=True)
class Explanation:
    """One anchored element of a page: a rule, a method, a definition, an example or a tip.

    `anchor` is NFC. `title` is the name of the concept, without pictographs, numbering or link labels.
    `content` is Markdown without the text of other anchored elements inside it.
    `headings` are the titles of the sections around it, outermost first.
    `illustrates` are the anchors of the page's concepts that an example shows in use.
    `position` is its place in the page, from 0. `is_section`: no author gave it a semantic id.
    """

    anchor: str
    type: ChunkType
    title: str
    content: str
    position: int
    headings: tuple[str, ...] = ()
    illustrates: tuple[str, ...] = ()
    is_section: bool = False

    @property
    def text(self) -> str:
        """Returns the content without its structure, as it is embedded and searched."""
        return plain_text(self.content)


@dataclass(frozen=True, slots=True)
class UnnamedBox:
    """A box that explains something but has no semantic id, so that no link can lead to it."""

    selector: str
    title: str


@dataclass(frozen=True, slots=True)
class Words:
    """How many words of a page's main part are searched, lost, and left out by reason; the first lost texts.

    In Japanese and Chinese a sign counts as a word. `only_read` words are stored, and no question finds them.
    """

    searched: int = 0
    lost: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    first_lost: tuple[str, ...] = ()
    only_read: int = 0

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> "Words":
        """Returns the books with these `counts`."""
        left_out = dict(counts)
        searched, lost, only_read = (left_out.pop(name, 0) for name in ("searched", "lost", "only_read"))
        return cls(searched, lost, left_out, only_read=only_read)

    @classmethod
    def sum_of(cls, books: "Iterable[Words]") -> "Words":
        """Returns the books of several pages as one."""
        return cls.of(sum((Counter(each.counts) for each in books), Counter()))

    @property
    def counts(self) -> dict[str, int]:
        """Returns the numbers as the database has them: reasons are beside the others."""
        return {"searched": self.searched, "only_read": self.only_read, "lost": self.lost, **self.left_out}

    def __str__(self) -> Reason:
        """Returns the books in one line."""
        listed = ", ".join(f"{reason} {count:,}" for reason, count in sorted(self.left_out.items()))
        numbers = {"searched": self.searched, "only_read": self.only_read, "lost": self.lost}
        left_out, reasons = sum(self.left_out.values()), f" ({listed})" if listed else ""
        return coded("page.words", **numbers, left_out=left_out, reasons=reasons)


@dataclass(frozen=True, slots=True)
class Page:
    """What one HTML page explains, and what its validation needs.

    `ids` are all element ids in page order, duplicates included, NFC.
    `links` are the fragments of in-page links (`href="#…"`), percent-decoded, NFC.
    `language` is that of `<html lang>`, None without one.
    `by_headings`: it has no element with a semantic id, so that its sections alone are its explanations. `places` are
    ids that look semantic and only lead to a place, as those that site generators make of titles.
    `unanchored_headings` are the headings that no link can lead to. `problems` are about its meta tags. `words` are the
    books of the reading. `fields` are the values of its own meta tags that have no meaning here.
    """

    title: str
    explanations: tuple[Explanation, ...]
    category: str | None = None
    level: str | None = None
    prerequisites: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    unnamed_boxes: tuple[UnnamedBox, ...] = ()
    language: str | None = None
    by_headings: bool = False
    places: frozenset[str] = frozenset()
    unanchored_headings: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    words: Words = Words()
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to correct. `rule` is a fixed kebab-case name, `message` tells the author what to do."""

    severity: Severity
    rule: str
    material: str
    anchor: str | None
    message: str


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """An indexed chunk. `learns_given` are the author's items as in the file, None without them."""

    anchor: str
    learns: tuple[str, ...]
    learns_given: tuple[str, ...] | None = None


def type_of_anchor(anchor: str) -> ChunkType | None:
    """Returns the type that the prefix of an id names: `rule-…`, `method-…`, `def-…`, `ex-…`, `tip-…`."""
    prefix, dash, name = anchor.partition("-")
    return TYPE_OF_PREFIX.get(prefix) if dash and name else None


def titles_text(explanation: Explanation, page_title: str, learns: tuple[str, ...] = ()) -> str:
    """Returns title, headings and `learns` of an explanation; without `learns` it stands before its other passages."""
    parts = (explanation.title, _headings(explanation, page_title), "、".join(learns))
    return "\n".join(part for part in parts if part)


def body_text(explanation: Explanation, page_title: str) -> str:
    """Returns the whole text without title and `learns`, whose words have a greater weight."""
    return "\n".join(part for part in (_headings(explanation, page_title), explanation.text) if part)


def section_of(explanation: Explanation, page_title: str) -> str | None:
    """Returns the nearest heading around an explanation, other than the page's; None if there is none."""
    return next((heading for heading in reversed(explanation.headings) if heading != page_title), None)


def _headings(explanation: Explanation, page_title: str) -> str:
    return " > ".join(dict.fromkeys((page_title, *explanation.headings)))
