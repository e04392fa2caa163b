"""The outline of a page without a semantic id: the text of each of its sections."""

from collections.abc import Sequence
from itertools import islice

from bs4 import Tag

from sakuin.knowledge.reading.anchors import AnchoredElement
from sakuin.knowledge.reading.outline import OpenRegion, Outline, Region, fragment_of
from sakuin.knowledge.reading.parsing import attribute
from sakuin.knowledge.reading.prose import Prose
from sakuin.knowledge.reading.tree import Step, steps

# Text before the first heading ends at any heading.
LEAD_RANK = 7

# A section is a list of links if this share of its text is in links.
LINKED_SHARE = 0.9

MOST_LABEL_STEPS = 30


class SectionOutline(Outline):
    """The regions of sections: the text of a heading runs to the next heading of any level, or to the end of its scope.

    Text after an inner section or an admonition belongs to the section around it again.
    """

    def __init__(self, found: Sequence[AnchoredElement], root: Tag) -> None:
        super().__init__(found)
        self._root = root
        self._found = {id(section.element): section for section in found}
        self._written: dict[int, int] = {}
        self._linked: dict[int, int] = {}
        self._title: Tag | None = None
        self._link: Tag | None = None

    def has_text(self, section: AnchoredElement) -> bool:
        """Returns whether a section says more than its title and links to other places."""
        region = id(self.regions[id(section.element)])
        written, linked = self._written.get(region, 0), self._linked.get(region, 0)
        return written > 0 and linked < LINKED_SHARE * (written + linked)

    def _enter(self, tag: Tag) -> None:
        super()._enter(tag)
        if self._title is None and id(tag) in self._found and self._found[id(tag)].shape != "element":
            self._title = tag
        if self._link is None and tag.name == "a" and attribute(tag, "href"):
            self._link = tag

    def _leave(self, tag: Tag) -> None:
        super()._leave(tag)
        self._title = None if tag is self._title else self._title
        self._link = None if tag is self._link else self._link

    def _end_runs(self, tag: Tag, rank: int | None) -> None:
        section = self._found.get(id(tag))
        while section is not None and section.shape == "heading" and self._open:
            last = self._open[-1]
            if last.rank != LEAD_RANK and (last.rank is None or last.tag is not section.scope):
                break
            self._open.pop()
        if tag.name == "dt" and self._open and self._open[-1].is_term and tag.parent is self._open[-1].tag:
            before = tag.find_previous_sibling()
            if before is None or before.name != "dt":  # else another name of the same
                self._open.pop()

    def _begin(self, tag: Tag, rank: int | None) -> None:
        section = self._found[id(tag)]
        path = tuple(title for level, title, _ in self._headings if rank is None or level < rank)
        region = Region(Prose(), path, self._open[-1].region if self._open else None)
        self.regions[id(tag)] = region
        if self._open:
            self._open[-1].started = True
        rank = LEAD_RANK if tag is self._root else rank
        self._open.append(OpenRegion(region, section.scope or tag, rank=rank, is_term=section.shape == "term"))

    def _heading_title(self, tag: Tag) -> str:
        section = self._found.get(id(tag))
        return section.title if section is not None else super()._heading_title(tag)

    def _note_link(self, tag: Tag) -> None:
        if fragment := fragment_of(tag):
            self._open[-1].region.links.append(fragment)
            texts = (step.text for step in islice(steps(tag), MOST_LABEL_STEPS))
            if not any(map(str.isalnum, "".join(texts))):
                self._muted = tag  # the link at a heading, such as ¶

    def _text(self, step: Step) -> None:
        current = self._open[-1]
        if self._title is None and any(map(str.isalnum, step.text)):
            current.started = True
            counts = self._written if self._link is None else self._linked
            counts[id(current.region)] = counts.get(id(current.region), 0) + len(step.text.strip())
        super()._text(step)
