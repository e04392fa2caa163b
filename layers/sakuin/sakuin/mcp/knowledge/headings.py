"""The headings of a page: the path of each explanation, and the section that an end of a path names."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sakuin.knowledge.model import PagePart
from sakuin.knowledge.postgres_search import ReadKnowledge

_IN_PATH = re.compile(r"\s+[›>]\s+")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading with its path, the page's title first, and the positions from `start` to `end` that are below it.

    `anchor` is that of its explanation; empty for a heading without a text of its own.
    """

    path: tuple[str, ...]
    anchor: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PageOutline:
    """The headings of a page in their order. `start` is the position where the reading begins."""

    material: str
    title: str
    headings: Sequence[Heading]
    start: int

    def lines(self, position: int, around: Heading | None = None) -> Iterator[tuple[str, str]]:
        """Yields the Markdown of the headings that begin at a position, below `around`, and their anchors."""
        least = len(around.path) if around else 0
        for each in self.headings:
            if each.start == position and len(each.path) >= least and each.path[-1]:
                yield f"{'#' * min(len(each.path), 6)} {each.path[-1]}", each.anchor

    def named(self, name: str) -> list[Heading]:
        """Returns the headings that an anchor, or an end of a path such as `Guide › Options`, names."""
        if by_anchor := [each for each in self.headings if each.anchor and each.anchor == name]:
            return by_anchor
        for names in ([name], _IN_PATH.split(name)):
            end = tuple(map(_folded, names))
            paths = [(tuple(map(_folded, each.path)), each) for each in self.headings]
            if same := [each for path, each in paths if path[-len(end) :] == end]:
                whole = [each for path, each in paths if path == end]
                return whole if len(whole) == 1 else same
        return []


def outline_of(read: ReadKnowledge, name: str) -> PageOutline | None:
    """Returns the outline of a page, named as for `ReadKnowledge.outline`; None if there is no such page."""
    parts, anchor = read.outline(name)
    if not parts:
        return None
    paths = [*_paths(parts)]
    headings: list[Heading] = []
    before: tuple[str, ...] = ()
    for number, (part, path) in enumerate(zip(parts, paths, strict=True)):
        for size in range(1, len(path) + 1):
            is_own = size == len(path)
            if is_own or path[:size] != before[:size]:
                following = (
                    later.position
                    for later, other in zip(parts[number + 1 :], paths[number + 1 :], strict=True)
                    if other[:size] != path[:size] or (is_own and len(other) == size)
                )
                end = next(following, parts[-1].position + 1)
                headings.append(Heading(path[:size], part.anchor if is_own else "", part.position, end))
        before = path
    start = next((part.position for part in parts if anchor and part.anchor == anchor), parts[0].position)
    return PageOutline(parts[0].material, parts[0].page_title, headings, start)


def _paths(parts: Sequence[PagePart]) -> Iterator[tuple[str, ...]]:
    """Yields the path of each explanation. Only the nearest heading is stored: its own path is that of the last one."""
    above: list[str] = []
    has_title = False
    for part in parts:
        if part.section in above:
            above = above[: len(above) - above[::-1].index(part.section)]
        else:
            above = [part.section] if part.section else []
        # A title that says little has that of its section before it.
        title = part.title.rpartition(" › ")[2]
        if title == part.page_title and not above and not has_title:
            has_title = True
            yield (part.page_title,)
        else:
            yield (part.page_title, *above, title)
            above.append(title)


def _folded(heading: str) -> str:
    return " ".join(heading.casefold().split())
