"""The outline of a page: the text, links and surrounding headings of every explanation."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from urllib.parse import unquote, urljoin, urlsplit

from bs4 import Tag

from sakuin.knowledge.markdown import linked, with_addresses
from sakuin.knowledge.names import encoded
from sakuin.knowledge.page import Explanation
from sakuin.knowledge.reading.anchors import AnchoredElement
from sakuin.knowledge.reading.inline import is_note_mark
from sakuin.knowledge.reading.layout import Layout
from sakuin.knowledge.reading.names import concept_name, is_link_label
from sakuin.knowledge.reading.parsing import attribute, classes
from sakuin.knowledge.reading.prose import Prose
from sakuin.knowledge.reading.rules import names
from sakuin.knowledge.reading.titles import words_of
from sakuin.knowledge.reading.tree import HEADINGS, Step, is_code_block, language_of, steps
from sakuin.language.unicode_text import one_line, visible

# A heading inside one of these does not apply to the text after it.
SECTIONS = names("sections")
MAY_BE_CODE = frozenset({"pre", "listing", "xmp", "plaintext", "div", "table", "code", "samp", "tt"})

LEAD_RANK = 7  # text before the first heading ends at any heading
LINKED_SHARE = 0.9  # of its text is in links: a section is a list of links
MOST_LABEL_STEPS, LONGEST_SOURCE, LONGEST_ADDRESS = 30, 12, 1000
NO_ADDRESS = names("no_address")  # to a reader elsewhere
LINE_BREAKS = re.compile(r"[\t\r\n]")  # which browsers leave out of an address
# In a text, the place of an explanation that has a text of its own, with its position in the page.
PLACE = re.compile("\ufddb(\\d+)\ufddc")


@dataclass(slots=True)
class Region:
    """The text of one element. `outer` is the region around it, `links` are its in-page links.

    `written`, `linked`: its characters beside those of its title, and those in links. `references`: those of links to
    parts of other pages. It ends when `tag` closes, or, with a rank, at a heading of that rank.
    """

    tag: Tag
    rank: int | None
    outer: "Region | None" = None
    section: AnchoredElement | None = None
    headings: tuple[str, ...] = ()
    prose: Prose = field(default_factory=Prose)
    links: list[str] = field(default_factory=list)
    written: int = 0
    linked: int = 0
    references: int = 0
    is_begun: bool = False
    is_term: bool = False

    @property
    def is_bare(self) -> bool:
        """Whether it has nothing but its title, and perhaps a link to its source."""
        return self.written == 0 and self.linked <= LONGEST_SOURCE and not PLACE.search(self.prose.text())

    @property
    def has_references(self) -> bool:
        """Whether it has nothing but links, most of them to parts of other pages: what a class inherits."""
        return not self.has_text and self.references > self.linked / 2 and not PLACE.search(self.prose.text())

    @property
    def has_text(self) -> bool:
        """Whether it says more than its title and links to other places."""
        return self.written > 0 and self.linked < LINKED_SHARE * (self.written + self.linked)


class Outline:
    """The regions of a page by the id of their element, the titles of its headings, and those of rank 1.

    The text of a heading runs to the next heading of any level, or to the end of its scope. Text after an inner section
    or a box belongs to the section around it again; where an author's box stood, the text has its place. Text in no
    section belongs to the `lead`.
    """

    def __init__(self, found: Sequence[AnchoredElement], root: Tag, lead: Tag, base: str = "") -> None:
        self.titles: list[str] = []
        self.page_titles: list[str] = []
        self._found = {id(section.element): (place, section) for place, section in enumerate(found)}
        self._lead = lead
        self._open = [Region(root, LEAD_RANK)]
        self.regions = {id(lead): self._open[0]}
        self._headings: list[tuple[int, str, int]] = []  # rank, title, serial number
        self._marks: list[int] = []  # the serial number at which each open section began
        self._serial = 0
        # Elements that are open: furniture, code, the title of a section, a link, and the text that has its address.
        self._muted: Tag | None = None
        self._pre: Tag | None = None
        self._code: Tag | None = None
        self._title: Tag | None = None
        self._link: Tag | None = None
        self._linked: Prose | None = None
        self._base = base
        self._layout = Layout()

    def read(self, page_steps: Iterable[Step]) -> "Outline":
        """Reads every step of a page and returns itself."""
        for step in page_steps:
            if step.kind == "open":
                self._enter(step.tag)
            elif step.kind == "close":
                self._leave(step.tag)
            elif self._muted is None:
                self._text(step)
        return self

    def _enter(self, tag: Tag) -> None:
        rank = HEADINGS.get(tag.name)
        _, element = self._found.get(id(tag), (0, None))
        if rank is not None or tag.name == "dt":
            self._end_runs(tag, rank, element)
        if element is not None or tag.name in SECTIONS:
            self._marks.append(self._serial)
        last = self._open[-1]
        is_own = element is not None or (last.is_term and tag.parent is last.tag)
        self._layout.enter(tag, last.prose, is_own=is_own, in_code=self._pre is not None)
        if element is not None and id(tag) != id(self._lead):
            self._begin(element, rank)
        if self._pre is None and tag.name in MAY_BE_CODE and is_code_block(tag):
            self._pre = tag
        if tag.name == "code" and self._code is None and "math" not in classes(tag):
            self._code = tag
        prose = self._open[-1].prose
        if self._pre is not None and (tag is self._pre or element is not None):
            prose.begin_code(language_of(self._pre))
        if self._title is None and element is not None and element.shape != "element":
            self._title = tag
        if self._link is None and tag.name == "a" and attribute(tag, "href"):
            self._link = tag
            around = (self._title, self._code, self._pre, self._muted, self._layout.heading)
            if around == (None,) * len(around) and (address := address_of(tag, self._base)):
                self._linked = prose
                prose.open_link(address)
        if rank is not None:
            self._note_heading(tag, rank, element)
        if self._muted is None and self._pre is not None:
            self._muted = tag if tag.name == "button" else None
        elif self._muted is None and tag.name == "a":
            self._note_link(tag)

    def _leave(self, tag: Tag) -> None:
        if tag is self._pre:
            self._pre = None
            for each in self._open:
                each.prose.end_code()
        around = (self._muted, self._code, self._title)
        self._muted, self._code, self._title = (None if tag is each else each for each in around)
        if tag is self._link:
            if self._linked is not None:
                self._linked.close_link()
            self._link = self._linked = None
        is_wrapper = False  # around nothing but a heading, whose text follows
        while len(self._open) > 1 and self._open[-1].tag is tag:
            ending = self._open[-1]
            if ending.rank is not None and not ending.is_begun and tag.parent is not None and tag.name != "body":
                ending.tag, is_wrapper = tag.parent, True
            else:
                self._open.pop()
        if tag.name in SECTIONS or id(tag) in self._found:
            mark = self._marks.pop()
            if tag.name not in HEADINGS and not is_wrapper:
                self._headings = [heading for heading in self._headings if heading[2] <= mark]
        self._layout.leave(tag, self._open[-1].prose, in_code=self._pre is not None)

    def _end_runs(self, tag: Tag, rank: int | None, section: AnchoredElement | None) -> None:
        """Ends the regions of the headings and the term before a heading or a term."""
        while len(self._open) > 1 and rank is not None:
            last = self._open[-1]
            is_section = section is not None and section.shape == "heading"
            is_over = last.tag is section.scope if section is not None and is_section else rank <= (last.rank or 0)
            if last.rank is None or not is_over:
                break
            self._open.pop()
        last = self._open[-1]
        if tag.name == "dt" and last.is_term and tag.parent is last.tag:
            before = tag.find_previous_sibling()
            if (section is not None and section.is_authored) or before is None or before.name != "dt":
                self._open.pop()  # else another name of the same

    def _begin(self, section: AnchoredElement, rank: int | None) -> None:
        around = self._open[-1]
        around.is_begun = True
        if section.is_authored and section.shape != "heading":
            around.prose.add_mark(f"\ufddb{self._found[id(section.element)][0]}\ufddc")
        path = tuple(title for level, title, _ in self._headings if rank is None or level < rank)
        rank = rank if section.shape == "heading" else None
        region = Region(section.scope or section.element, rank, around, section, path, Prose(self._layout.depth))
        region.is_term = section.shape == "term"
        self.regions[id(section.element)] = region
        self._open.append(region)

    def _note_heading(self, tag: Tag, rank: int, section: AnchoredElement | None) -> None:
        title = section.title if section is not None and not section.is_authored else concept_name(words_of(tag))
        self._serial += 1
        self._headings = [heading for heading in self._headings if heading[0] < rank]
        if title:
            self._headings.append((rank, title, self._serial))
            self.titles.append(title)
            self.page_titles += [title] * (rank == 1)

    def _note_link(self, tag: Tag) -> None:
        fragment, last = fragment_of(tag), self._open[-1]
        if not fragment:
            return
        last.links.append(fragment)
        label = one_line("".join(step.text for step in islice(steps(tag), MOST_LABEL_STEPS)))
        # The link at a heading, such as ¶; in a box also one to its example.
        is_furniture = not any(map(str.isalnum, label))
        is_authored = last.section is not None and last.section.is_authored
        is_furniture |= is_authored and not label.isalnum() and is_link_label(label)
        self._muted = tag if is_furniture and not _is_in_note_mark(tag) else None

    def _text(self, step: Step) -> None:
        region = self._open[-1]
        if self._title is None and any(map(str.isalnum, step.text)):
            region.is_begun = True
            length = len(step.text.strip())
            if self._link is None or self._pre is not None:
                region.written += length
            else:
                region.linked += length
                region.references += length * (attribute(self._link, "href").find("#") > 0)
        region.prose.add(step.text, is_code=self._code is not None)


def fragment_of(tag: Tag) -> str:
    """Returns the fragment of an in-page link, percent-decoded and NFC; empty for any other link and for `#`."""
    href = attribute(tag, "href").strip()
    return visible(unquote(href[1:].partition(":~:")[0])) if href.startswith("#") else ""


def _is_in_note_mark(tag: Tag) -> bool:
    return is_note_mark(tag) or (tag.parent is not None and is_note_mark(tag.parent))


def address_of(tag: Tag, base: str) -> str:
    """Returns the address that a link leads to, out of its page; empty for any other link and the mark of a note."""
    href = LINE_BREAKS.sub("", attribute(tag, "href")).strip()
    try:
        address = urljoin(base, href)
        scheme = urlsplit(address).scheme
    except ValueError:
        return ""
    is_inside = not href or href.startswith("#") or ("#" in href and _is_in_note_mark(tag))
    if is_inside or scheme in NO_ADDRESS or len(address) > LONGEST_ADDRESS:
        return ""
    return "".join(each if each in "#?%" else encoded(each) for each in address)


def without_places(text: str) -> str:
    """Returns a text without the places of other explanations and the addresses of links."""
    return with_addresses(PLACE.sub("", text))


def with_links(found: Sequence[AnchoredElement], explanations: Sequence[Explanation]) -> tuple[Explanation, ...]:
    """Returns the explanations with a link to each other explanation that stood in their texts."""
    titles = {each.anchor: each.title for each in explanations}

    def link(place: re.Match[str]) -> str:
        anchor = found[int(place[1])].anchor
        return linked(titles[anchor], f"#{anchor}") if anchor in titles else ""

    return tuple(replace(each, content=PLACE.sub(link, each.content)) for each in explanations)
