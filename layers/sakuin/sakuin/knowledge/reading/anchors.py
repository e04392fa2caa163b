"""The element that each semantic id of a page names, and the ids that only lead to a place.

An id usually names the element that has it. On or in a heading, a `dt`, a `summary` or a caption, on an empty element
or the first words of a paragraph, it names what a reader sees after following the link. Site generators make ids of
titles, so that `method-syntax` says nothing about "Method syntax": an id that is the slug of its section or heading
leads to a place, as that of a form field, a note or a member of a class.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from bs4 import Tag
from bs4.element import NavigableString

from sakuin.knowledge.names import is_anchor
from sakuin.knowledge.page import TYPE_OF_PREFIX, ChunkType, type_of_anchor
from sakuin.knowledge.reading.parsing import attribute, classes
from sakuin.knowledge.reading.rules import names, pattern
from sakuin.knowledge.reading.tree import HEADINGS, Step, begins_with_text, steps
from sakuin.language.unicode_text import one_line, visible

INLINE, FIELDS, PLACE_ROLES = names("anchors_inline"), names("anchors_fields"), names("place_roles")
PLACE_CLASS = pattern("place_class")
NAMED = {prefix: pattern(f"named_{prefix}") for prefix in TYPE_OF_PREFIX}
TITLES_PARENT = {"summary": "details", "caption": "table", "legend": "fieldset", "figcaption": "figure"}
FIRST_WORDS_NAME = frozenset({"p", "li", "td", "th", "dd"})
ROOTS = frozenset({"body", "html", "main", "article", "[document]"})
# Of RDoc: `method-i-each`, `method-c-new`.
MEMBER = re.compile(r"method-[ic]-")
MOST_INLINE_LEVELS = 8
BEGINNING = 20  # steps: the heading of a section is at its beginning
SHORTEST_CUT = 8  # letters of a slug that a generator cut
GERMAN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
REPEATED = re.compile(r"[-_]\d+$")


@dataclass(frozen=True, slots=True)
class AnchoredElement:
    """The `element` that `anchor` names; for a heading or a term also what follows it. `origin` has the id.

    `scope` is where the text of a heading or a term ends at the latest. `is_authored`: an author gave it a semantic id;
    all others are sections of the page.
    """

    anchor: str
    type: ChunkType
    origin: Tag
    element: Tag
    shape: Literal["element", "heading", "term"]
    scope: Tag | None = None
    title: str = ""
    is_authored: bool = False


def anchored_elements(page_steps: Sequence[Step]) -> tuple[list[AnchoredElement], frozenset[str]]:
    """Returns the elements with a semantic id in page order, and those that only lead to a place. The first counts."""
    visible_elements: set[int] = set()
    elements: dict[str, AnchoredElement] = {}
    places: dict[str, None] = {}
    for tag in (step.tag for step in page_steps if step.kind == "open" and "id" in step.tag.attrs):
        anchor = visible(attribute(tag, "id"))
        chunk_type = type_of_anchor(anchor) if is_anchor(anchor) else None
        if chunk_type is None or anchor in elements or anchor in places:
            continue
        element = _named(tag)
        if element is not tag:
            visible_elements = visible_elements or {id(step.tag) for step in page_steps if step.kind == "open"}
            element = element if id(element) in visible_elements else tag
        if _is_place(anchor, tag, element, places):
            places[anchor] = None
        else:
            elements[anchor] = AnchoredElement(anchor, chunk_type, tag, element, shape_of(element), is_authored=True)
    return list(elements.values()), frozenset(places)


def is_member(tag: Tag) -> bool:
    """Returns whether an element describes a member of a class in an API reference."""
    return MEMBER.match(attribute(tag, "id")) is not None or (tag.name == "dt" and "sig" in classes(tag))


def shape_of(element: Tag) -> Literal["element", "heading", "term"]:
    """Returns what the text of an element is: its own, or for a heading and a term also what follows."""
    return "heading" if element.name in HEADINGS else "term" if element.name == "dt" else "element"


def _is_place(anchor: str, tag: Tag, element: Tag, places: Iterable[str]) -> bool:
    role, names = attribute(tag, "role"), attribute(tag, "class")
    if tag.name in FIELDS or tag.name == "sup" or role in PLACE_ROLES or PLACE_CLASS.search(names) or is_member(tag):
        return True
    if anchor.startswith(tuple(place + sign for place in places for sign in "-_.")):
        return True  # Javadoc: `method-summary-table` in the section `method-summary`
    heading: Tag | None = element if element.name in HEADINGS else None
    if tag.name == "section" or "section" in classes(tag):
        inside = (step.tag for step in islice(steps(tag), BEGINNING) if step.kind == "open")
        heading = next((inner for inner in inside if inner.name in HEADINGS), None)
    if heading is None:
        return False
    title = one_line("".join(step.text for step in islice(steps(heading), BEGINNING)))
    return is_slug(anchor, title) and not NAMED[anchor.partition("-")[0]].match(title)


def is_slug(anchor: str, title: str) -> bool:
    """Returns whether a generator made an id of a title: GitHub, docutils, Pandoc, Hugo, MkDocs and others.

    They leave out or replace different signs, and accents, number repeated ids, and may cut them.
    """
    letters = _letters(anchor)
    written = {_letters(title), _letters(title.replace("&", " and ")), _letters(title.casefold().translate(GERMAN))}
    written |= {each.lstrip("0123456789") for each in written}
    written |= {"".join(sign for sign in each if sign.isascii()) for each in written}
    is_cut = len(letters) >= SHORTEST_CUT and any(each.startswith(letters) for each in written)
    return is_cut or not written.isdisjoint((letters, _letters(REPEATED.sub("", anchor))))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", text.casefold())))


def _named(tag: Tag) -> Tag:
    parent = tag.parent
    if parent is not None and TITLES_PARENT.get(tag.name) == parent.name:
        return parent
    is_empty = all(isinstance(child, NavigableString) and not child.strip() for child in tag.contents)
    if is_empty and (tag.name in INLINE or tag.name in ("div", "p", "section")):
        return _next_to(tag)
    return _block_of(tag) if tag.name in INLINE else tag


def _block_of(tag: Tag) -> Tag:
    """Returns the heading, term or paragraph that the inline element `tag` stands for, or `tag`."""
    outer, leads = tag, True
    for parent in islice(tag.parents, MOST_INLINE_LEVELS):
        before = outer.previous_sibling
        leads = leads and (before is None or (before.previous_sibling is None and not str(before).strip()))
        outer = parent
        if outer.name not in INLINE:
            break
    if outer.parent is not None and outer.name == "summary" and outer.parent.name == "details":
        return outer.parent
    if type_of_anchor(attribute(outer, "id")):
        return tag
    if outer.name in HEADINGS or outer.name == "dt":
        return outer
    if leads and outer.name in FIRST_WORDS_NAME:
        inner = (step.tag for step in islice(steps(outer), 40) if step.kind == "open" and step.tag is not tag)
        return tag if any(type_of_anchor(attribute(other, "id")) for other in inner) else outer
    return tag


def _next_to(tag: Tag) -> Tag:
    """Returns the element after an empty one, which a link to it leads to."""
    for outer in (tag, *islice(tag.parents, MOST_INLINE_LEVELS - 1)):
        if outer.name in ROOTS:
            break
        if outer is not tag and (shape_of(outer) != "element" or begins_with_text(outer)):
            return outer
        beside = next((other for other in outer.next_siblings if isinstance(other, Tag) or str(other).strip()), None)
        if isinstance(beside, Tag) and beside.name not in INLINE | {"br"}:
            return beside
        if beside is not None:
            return outer.parent if outer.parent is not None and outer.parent.name not in ROOTS else tag
    return tag
