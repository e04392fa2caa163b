"""The outline of a page: the text, links and surrounding headings of every explanation."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from bs4 import Tag

from sakuin.knowledge.reading.anchors import AnchoredElement
from sakuin.knowledge.reading.layout import Layout
from sakuin.knowledge.reading.names import concept_name, is_label, without_example_link
from sakuin.knowledge.reading.parsing import attribute, classes
from sakuin.knowledge.reading.prose import Prose
from sakuin.knowledge.reading.titles import words_of
from sakuin.knowledge.reading.tree import HEADINGS, Step, language_of
from sakuin.language.unicode_text import one_line, visible

# A heading inside one of these does not apply to the text after it.
SECTIONS = frozenset(
    {"section", "article", "aside", "details", "li", "dd", "td", "th", "blockquote", "figure", "fieldset"}
)

BADGE = re.compile(r"badge|number|label|(?:^|[-_ ])(?:no|num|step)(?:$|[-_ ])", re.IGNORECASE)

LONGEST_CLASS = 500  # characters, searched for every text in the element


@dataclass(slots=True)
class Region:
    """The text of one element. `outer` is the region around it, `links` are its in-page links."""

    prose: Prose
    headings: tuple[str, ...]
    outer: "Region | None"
    links: list[str] = field(default_factory=list)


@dataclass(slots=True)
class OpenRegion:
    """A region that is being read. It ends when `tag` closes, or, with a rank, at a heading of that rank."""

    region: Region
    tag: Tag
    rank: int | None = None
    is_term: bool = False
    started: bool = False


class Outline:
    """The regions of a page by the id of their element, the titles of its headings, and those of rank 1."""

    def __init__(self, found: Sequence[AnchoredElement]) -> None:
        self.regions: dict[int, Region] = {}
        self.titles: list[str] = []
        self.page_titles: list[str] = []
        self._shapes = {id(anchored.element): anchored.shape for anchored in found}
        self._open: list[OpenRegion] = []
        self._headings: list[tuple[int, str, int]] = []  # rank, title, serial number
        self._marks: list[int] = []  # the serial number at which each open section began
        self._serial = 0
        self._muted: Tag | None = None
        self._pre: Tag | None = None
        self._code: Tag | None = None
        self._layout = Layout()

    def read(self, page_steps: Iterable[Step]) -> "Outline":
        """Reads every step of a page and returns itself."""
        for step in page_steps:
            if step.kind == "open":
                self._enter(step.tag)
            elif step.kind == "close":
                self._leave(step.tag)
            elif self._open and self._muted is None:
                self._text(step)
        return self

    def _enter(self, tag: Tag) -> None:
        rank = HEADINGS.get(tag.name)
        is_found = id(tag) in self._shapes
        self._end_runs(tag, rank)
        if is_found or tag.name in SECTIONS:
            self._marks.append(self._serial)
        last = self._open[-1] if self._open else None
        is_own = last is None or is_found or (last.is_term and tag.parent is last.tag)
        prose = last.region.prose if last else None
        self._layout.enter(tag, prose, is_own=is_own, in_code=self._pre is not None)
        if is_found:
            self._begin(tag, rank)
            self._open[-1].region.prose.depth = self._layout.depth
        if tag.name == "pre" and self._pre is None:
            self._pre = tag
        if tag.name == "code" and self._code is None and "math" not in classes(tag):
            self._code = tag
        if self._pre is not None and self._open and (tag is self._pre or is_found):
            self._open[-1].region.prose.begin_code(language_of(self._pre))
        if rank is not None:
            self._note_heading(tag, rank)
        if self._muted is not None or not self._open:
            return
        if self._pre is not None:
            self._muted = tag if tag.name == "button" else None
        elif tag.name == "a":
            self._note_link(tag)

    def _leave(self, tag: Tag) -> None:
        if tag is self._pre:
            self._pre = None
            for each in self._open:
                each.region.prose.end_code()
        self._muted = None if tag is self._muted else self._muted
        self._code = None if tag is self._code else self._code
        is_wrapper = False  # around nothing but a heading, whose text follows
        while self._open and self._open[-1].tag is tag:
            ending = self._open[-1]
            if ending.rank is not None and not ending.started and tag.parent is not None and tag.name != "body":
                ending.tag, is_wrapper = tag.parent, True
            else:
                self._open.pop()
        if tag.name in SECTIONS or id(tag) in self._shapes:
            mark = self._marks.pop()
            if tag.name not in HEADINGS and not is_wrapper:
                self._headings = [heading for heading in self._headings if heading[2] <= mark]
        prose = self._open[-1].region.prose if self._open else None
        self._layout.leave(tag, prose, in_code=self._pre is not None)

    def _end_runs(self, tag: Tag, rank: int | None) -> None:
        """Ends the region of a heading at a heading of its rank, at the next anchor or at the footer."""
        if not self._open:
            return
        last = self._open[-1]
        if (
            last.rank is not None
            and ((rank is not None and rank <= last.rank) or id(tag) in self._shapes or tag.name == "footer")
        ) or (last.is_term and (id(tag) in self._shapes or (tag.name == "dt" and tag.parent is last.tag))):
            self._open.pop()

    def _begin(self, tag: Tag, rank: int | None) -> None:
        shape = self._shapes[id(tag)]
        path = tuple(title for level, title, _ in self._headings if rank is None or level < rank)
        region = Region(Prose(), path, self._open[-1].region if self._open else None)
        self.regions[id(tag)] = region
        if shape == "element" or tag.parent is None:
            self._open.append(OpenRegion(region, tag))
        else:
            self._open.append(OpenRegion(region, tag.parent, rank=rank, is_term=shape == "term"))

    def _note_heading(self, tag: Tag, rank: int) -> None:
        title = self._heading_title(tag)
        self._serial += 1
        self._headings = [heading for heading in self._headings if heading[0] < rank]
        if title:
            self._headings.append((rank, title, self._serial))
            self.titles.append(title)
            self.page_titles += [title] * (rank == 1)

    def _heading_title(self, tag: Tag) -> str:
        return concept_name(words_of(tag))

    def _note_link(self, tag: Tag) -> None:
        fragment = fragment_of(tag)
        if not fragment:
            return
        self._open[-1].region.links.append(fragment)
        label = one_line("".join(child for child in tag.contents if isinstance(child, str)))
        if not without_example_link(" " + label).strip() or (is_label(label) and not label.isalnum()):
            self._muted = tag

    def _text(self, step: Step) -> None:
        current = self._open[-1]
        if current.rank is not None and not current.started and step.text.strip() and not _inside_heading(step.tag):
            current.started = True
        text = step.text
        names = attribute(step.tag, "class") if self._pre is None else ""
        if names and BADGE.search(names[:LONGEST_CLASS]) and is_label(text):
            text += " "  # the badge "例1" is separate from the text after it
        current.region.prose.add(text, is_code=self._code is not None)


def fragment_of(tag: Tag) -> str:
    """Returns the fragment of an in-page link, percent-decoded and NFC; empty for any other link and for `#`."""
    href = attribute(tag, "href").strip()
    return visible(unquote(href[1:].partition(":~:")[0])) if href.startswith("#") else ""


def _inside_heading(tag: Tag) -> bool:
    outer: Tag | None = tag
    for _ in range(6):
        if outer is None:
            return False
        if outer.name in HEADINGS:
            return True
        outer = outer.parent
    return False
