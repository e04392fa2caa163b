"""The element that each semantic id of a page names.

An id usually names the element that has it. In these places it names what a reader sees after following the link:

- on a heading, or inside one: the heading and what follows it;
- on a `dt`: the term and its `dd`s; on a `summary`, `caption`, `legend`, `figcaption`: what they title;
- on an empty element: what comes next (a heading, a box, the rest of the paragraph);
- on the first words of a paragraph, list item or cell: all of it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from bs4 import Tag
from bs4.element import NavigableString

from sakuin.knowledge.names import is_anchor
from sakuin.knowledge.page import ChunkType, type_of_anchor
from sakuin.knowledge.reading.parsing import attribute
from sakuin.knowledge.reading.tree import HEADINGS, Step, begins_with_text, steps
from sakuin.language.unicode_text import visible

INLINE = frozenset(
    {"a", "abbr", "b", "cite", "code", "dfn", "em", "font"}
    | {"i", "kbd", "label", "mark", "q", "ruby", "s", "small"}
    | {"span", "strong", "sub", "sup", "u", "var"}
)

TITLES_PARENT = {"summary": "details", "caption": "table", "legend": "fieldset", "figcaption": "figure"}

FIRST_WORDS_NAME = frozenset({"p", "li", "td", "th", "dd"})

MOST_INLINE_LEVELS = 8


@dataclass(frozen=True, slots=True)
class AnchoredElement:
    """The `element` that `anchor` names; for a heading or a term also what follows it. `origin` has the id.

    Only the sections of pages without a semantic id have a `scope`, where the text of a heading ends at the latest.
    """

    anchor: str
    type: ChunkType
    origin: Tag
    element: Tag
    shape: Literal["element", "heading", "term"]
    scope: Tag | None = None
    title: str = ""


def anchored_elements(page_steps: Sequence[Step]) -> list[AnchoredElement]:
    """Returns the elements with a semantic id in page order. Of duplicate ids the first counts."""
    visible_elements: set[int] = set()
    elements: dict[str, AnchoredElement] = {}
    for step in page_steps:
        if step.kind == "open" and "id" in step.tag.attrs:
            anchor = visible(attribute(step.tag, "id"))
            chunk_type = usable_type(anchor)
            if chunk_type is not None and anchor not in elements:
                named = _named(step.tag)
                if named is not step.tag and not visible_elements:
                    visible_elements = {id(step.tag) for step in page_steps if step.kind == "open"}
                element = named if id(named) in visible_elements else step.tag
                elements[anchor] = AnchoredElement(anchor, chunk_type, step.tag, element, _shape(element))
    return list(elements.values())


def usable_type(anchor: str) -> ChunkType | None:
    """Returns the type that an id names, None if it cannot be part of a chunk id (white space, `#`, too long)."""
    return type_of_anchor(anchor) if is_anchor(anchor) else None


def _shape(element: Tag) -> Literal["element", "heading", "term"]:
    if element.name in HEADINGS:
        return "heading"
    return "term" if element.name == "dt" else "element"


def _named(tag: Tag) -> Tag:
    parent = tag.parent
    if TITLES_PARENT.get(tag.name, "-") == (parent.name if parent else ""):
        return parent or tag
    if _is_empty(tag):
        return _next_to(tag)
    return _block_of(tag) if tag.name in INLINE else tag


def _block_of(tag: Tag) -> Tag:
    """Returns the heading, term or paragraph that the inline element `tag` stands for, or `tag`."""
    outer, leads = tag, True
    for _ in range(MOST_INLINE_LEVELS):
        parent = outer.parent
        if parent is None:
            return tag
        leads = leads and not any(str(sibling).strip() for sibling in _before(outer))
        outer = parent
        if outer.name not in INLINE:
            break
    if outer.name in HEADINGS or outer.name == "dt":
        return tag if type_of_anchor(attribute(outer, "id")) else outer
    if outer.name == "summary" and outer.parent is not None and outer.parent.name == "details":
        return outer.parent
    if leads and outer.name in FIRST_WORDS_NAME and not type_of_anchor(attribute(outer, "id")):
        inner = (step.tag for step in islice(steps(outer), 40) if step.kind == "open" and step.tag is not tag)
        return tag if any(type_of_anchor(attribute(other, "id")) for other in inner) else outer
    return tag


def _next_to(tag: Tag) -> Tag:
    """Returns the element after an empty one, which a link to it leads to."""
    outer = tag
    for _ in range(MOST_INLINE_LEVELS):
        for sibling in outer.next_siblings:
            if isinstance(sibling, Tag):
                if sibling.name in INLINE | {"br"}:
                    return outer.parent if outer.parent is not None and not _is_root(outer.parent) else tag
                return sibling
            if isinstance(sibling, NavigableString) and sibling.strip():
                return outer.parent if outer.parent is not None and not _is_root(outer.parent) else tag
        if outer.parent is None or _is_root(outer.parent):
            return tag
        outer = outer.parent
        if outer.name in HEADINGS or outer.name == "dt" or begins_with_text(outer):
            return outer
    return tag


def _is_root(tag: Tag) -> bool:
    return tag.name in ("body", "html", "main", "article", "[document]")


def _is_empty(tag: Tag) -> bool:
    return all(isinstance(child, NavigableString) and not child.strip() for child in tag.contents) and (
        tag.name in INLINE or tag.name in ("div", "p", "section")
    )


def _before(tag: Tag) -> Iterable[object]:
    parent = tag.parent
    if parent is None:
        return ()
    before: list[object] = []
    for sibling in parent.contents[:3]:  # only white space and one decoration may come before
        if sibling is tag:
            return before
        before.append(sibling)
    return ["too far"]
