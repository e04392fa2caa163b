"""The sections of a page: its headings, described terms, admonitions and authors' boxes, each with an anchor."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, takewhile

from bs4 import Tag

from sakuin.knowledge.markdown import without_code
from sakuin.knowledge.names import LONGEST_ANCHOR, UNREACHABLE, is_anchor
from sakuin.knowledge.page import ChunkType, Explanation
from sakuin.knowledge.reading.anchors import INLINE, AnchoredElement, is_member, shape_of
from sakuin.knowledge.reading.names import concept_name, shortened
from sakuin.knowledge.reading.outline import LEAD_RANK, SECTIONS, Region
from sakuin.knowledge.reading.parsing import attribute, classes
from sakuin.knowledge.reading.sections.admonitions import admonition_type, is_kind
from sakuin.knowledge.reading.sections.settings import PageSettings
from sakuin.knowledge.reading.titles import TITLE_STEPS, leading_titles, name_of_title, title_words
from sakuin.knowledge.reading.tree import HEADINGS, Step, steps
from sakuin.language.unicode_text import INVISIBLE, is_japanese, nfc

# How many elements around a heading may carry its id, and the characters in them before it: a date, a link to a source.
MOST_WRAPPERS, LONGEST_BEFORE = 4, 80
# Characters of a sentence that becomes a title, and of a slug.
JAPANESE_TITLE, OTHER_TITLE, LONGEST_SLUG = 40, 80, 60
BOX_STEPS = 20  # the heading of a box is at its beginning


@dataclass(slots=True)
class _Open:
    """An element that is being read, how many characters are in it so far, and whether a heading is."""

    tag: Tag
    length: int = 0
    has_heading: bool = False


def sections_of(
    content_steps: Sequence[Step],
    authored: Sequence[AnchoredElement],
    first_of: Mapping[str, Tag],
    settings: PageSettings,
    page_title: str,
) -> tuple[list[AnchoredElement], Tag]:
    """Returns the sections of the main content with the `authored` elements in page order, and the element of the lead.

    `first_of` has the first element of repeated ids. A section without an anchor of its own has the one before it, the
    mark that browsers ignore, and a name. The lead, text in no section, belongs to the page's own heading if that is
    the first; otherwise it is a section named as the page.
    """
    root = content_steps[0].tag
    reader = _Reader(root, authored, first_of, settings)
    reader.read(content_steps)
    sections = reader.sections
    headings = [each for each in sections if each.shape == "heading"]
    of_page = [each for each in headings if each.element.name == "h1"]
    is_of_page = len(of_page) == 1 and (of_page[0].title in page_title or not page_title)
    if of_page and headings[0] is of_page[0] and (is_of_page or not reader.has_lead):
        return sections, of_page[0].element
    anchor = reader.name_of(page_title, "page", near="")
    return [AnchoredElement(anchor, "definition", root, root, "element", root, page_title), *sections], root


def section_title(section: AnchoredElement, content: str) -> str:
    """Returns the title of a section; of an admonition without one its first sentence."""
    if section.title:
        return section.title
    for line in without_code(content[:1000]).split("\n"):
        limit = JAPANESE_TITLE if is_japanese(line) else OTHER_TITLE
        name = concept_name(shortened(line.removeprefix("- "), limit=limit)).removesuffix(".")
        if name and not is_kind(name, section.element):
            return name
    return section.type


def add_small_sections(found: Sequence[AnchoredElement], regions: Mapping[str, Region]) -> set[str]:
    """Adds sections that say nothing alone to the text of the heading around them, or of the lead.

    Below their title is nothing, or links to parts of other pages. A title without an id is added to a text alone.
    Returns their anchors.
    """
    added: set[str] = set()
    titles = [each for each in found if each.shape != "element"]
    ranks = [HEADINGS.get(each.element.name, LEAD_RANK) for each in titles]
    above = [(1, regions[each.anchor]) for each in found[:1] if each.shape == "element" and not each.is_authored]
    for each, rank, following in zip(titles, ranks, [*ranks, 0][1:], strict=True):
        region = regions[each.anchor]
        above = [outer for outer in above if outer[0] < rank]
        outer = above[-1][1] if above and following <= rank and not each.is_authored else None
        is_small = region.has_references or (region.is_bare and UNREACHABLE not in each.anchor)
        if outer is not None and (is_small or (region.is_bare and outer.has_text)):
            outer.prose.append(region.prose.text())
            outer.written += len(each.title)
            added.add(each.anchor)
        else:
            above.append((rank, region))
    return added


def unanchored_headings(sections: Sequence[AnchoredElement], explanations: Sequence[Explanation]) -> tuple[str, ...]:
    """Returns the titles of the headings that no link can lead to. To the page's own heading the page's link leads."""
    pairs = zip(sections, explanations, strict=True)
    headings = [(section, each.title) for section, each in pairs if section.shape == "heading"]
    is_of_page = bool(headings) and headings[0][0].element.name == "h1"
    return tuple(title for section, title in headings[is_of_page:] if UNREACHABLE in section.anchor)


class _Reader:
    """Finds the sections in one pass. `has_lead`: there is text before the first heading."""

    def __init__(
        self, root: Tag, authored: Sequence[AnchoredElement], first_of: Mapping[str, Tag], settings: PageSettings
    ) -> None:
        self.sections: list[AnchoredElement] = []
        self.has_lead = False
        self._authored = {id(each.element): each for each in authored}
        self._first_of = first_of
        self._settings = settings
        self._open = [_Open(root)]
        self._title: Tag | None = None  # the heading or the term that is open
        self._boxes: list[Tag] = []
        self._before = ""  # the anchor of an empty element just before
        self._last = ""
        self._term: Tag | None = None  # the last term that is a section, or another name of it
        self._taken = {each.anchor for each in authored}
        self._numbers: Counter[str] = Counter()

    def read(self, content_steps: Sequence[Step]) -> None:
        for place, step in enumerate(content_steps):
            if step.kind == "open":
                self._enter(step.tag, content_steps[place : place + TITLE_STEPS])
            elif step.kind == "close":
                self._leave(step.tag)
            elif text := step.text.strip():
                self._open[-1].length += len(text)
                self._before = ""
                self.has_lead |= not self.sections and self._title is None

    def name_of(self, title: str, otherwise: str, *, near: str) -> str:
        """Returns an anchor for what has none: links to it lead to the anchor `near` it, or to the page."""
        slug = re.sub(r"[\W_]+", "-", nfc(title.casefold())).strip("-")[:LONGEST_SLUG].strip("-") or otherwise
        if len(near) + len(slug) > LONGEST_ANCHOR - 10:
            near = ""
        anchor = name = f"{near}{UNREACHABLE}{slug}"
        while anchor in self._taken:
            self._numbers[name] += 1
            anchor = f"{name}-{self._numbers[name] + 1}"
        self._taken.add(anchor)
        return anchor

    def _enter(self, tag: Tag, following: Sequence[Step]) -> None:
        authored = self._authored.get(id(tag))
        in_authored = bool(self._boxes) and id(self._boxes[-1]) in self._authored
        if authored is not None and authored.shape == "element":
            self._boxes.append(tag)
            self.sections.append(authored)
            self._last = authored.anchor
        elif self._title is None and shape_of(tag) != "element" and (not self._boxes or authored is not None):
            self._title = tag
            before = tag.find_previous_sibling() if tag.name == "dt" and authored is None else None
            if before is not None and before is self._term:
                self._term = tag  # another name of the same: its text belongs to the first
            else:
                self._add_title(tag, following)
        elif self._title is None and not in_authored and (chunk_type := self._box_type(tag)):
            self._add_box(tag, chunk_type)
        elif self._title is None and tag.name in INLINE and not tag.contents:
            self._before = next(self._names(tag), self._before)
        self._open.append(_Open(tag))

    def _leave(self, tag: Tag) -> None:
        closed = self._open.pop()
        if self._boxes and self._boxes[-1] is tag:
            self._boxes.pop()
        is_title = self._title is tag
        self._title = None if is_title else self._title
        if self._open:
            self._open[-1].length += closed.length
            self._open[-1].has_heading |= closed.has_heading or is_title

    def _wrappers(self) -> Iterator[Tag]:
        """Yields the elements, innermost first, at whose beginning a heading opens now."""
        for outer in islice(reversed(self._open), MOST_WRAPPERS):
            if outer.length > LONGEST_BEFORE or outer.has_heading or outer.tag.name in ("article", "[document]"):
                return
            yield outer.tag

    def _box_type(self, tag: Tag) -> ChunkType | None:
        if tag.name != "dt" and is_member(tag):
            return "definition"
        return self._settings.types.get(id(tag)) or admonition_type(tag)

    def _add_box(self, tag: Tag, chunk_type: ChunkType) -> None:
        self._boxes.append(tag)
        # Starlight hides the title from screen readers, which get it from the label.
        written = (*leading_titles(tag), attribute(tag, "aria-label"))
        title = next((name for words in written if (name := name_of_title(words)) and not is_kind(name, tag)), "")
        begin = (step.tag for step in islice(steps(tag), BOX_STEPS) if step.kind == "open")
        names = [name for inner in begin if inner is tag or inner.name in HEADINGS for name in self._names(inner)]
        anchor = self._usable(names) or self.name_of(title, chunk_type, near=self._last)
        self.sections.append(AnchoredElement(anchor, chunk_type, tag, tag, "element", tag, title))

    def _add_title(self, tag: Tag, following: Sequence[Step]) -> None:
        inside = list(takewhile(lambda step: step.kind != "close" or step.tag is not tag, following))
        names = list(self._names(tag))
        if tag.name in HEADINGS:
            names += (*(name for wrapper in self._wrappers() for name in self._names(wrapper)), self._before)
        names += (name for step in inside[1:] if step.kind == "open" for name in self._names(step.tag))
        section = self._authored.get(id(tag))
        anchor = section.anchor if section is not None else self._usable(names)
        if tag.name == "dt" and not anchor:
            return
        name = name_of_title(title_words(inside))
        if "sig" in classes(tag):
            name = _signature_title(name, anchor)
        self._before = ""
        self._last, anchor = anchor or self._last, anchor or self.name_of(name, "section", near=self._last)
        scope = next((outer for outer in tag.parents if outer.name in SECTIONS), self._open[0].tag)
        if tag.name == "dt":
            self._term, scope = tag, tag.parent or scope
        chunk_type = self._settings.types.get(id(tag)) or "definition"
        section = section or AnchoredElement(anchor, chunk_type, tag, tag, shape_of(tag))
        self.sections.append(replace(section, scope=scope, title=name))

    def _names(self, tag: Tag) -> Iterator[str]:
        """Yields the names by which a link can lead to the element."""
        for name in ("id", "name") if tag.name == "a" else ("id",):
            if name in tag.attrs:
                anchor = nfc(attribute(tag, name))
                if is_anchor(anchor) and not INVISIBLE.search(anchor) and self._first_of.get(anchor, tag) is tag:
                    yield anchor

    def _usable(self, names: Sequence[str]) -> str:
        usable = next((name for name in names if name and name not in self._taken), "")
        self._taken.add(usable)
        return usable


def _signature_title(words: str, anchor: str) -> str:
    """Returns the title of a signature in an API reference: its full name if that is its id, or without parameters."""
    name = re.split(r"[(:=]|\s→", words, maxsplit=1)[0].strip()
    is_full = anchor.rpartition(".")[2] == name.rpartition(" ")[2].rpartition(".")[2]
    return anchor if is_full else name or words
