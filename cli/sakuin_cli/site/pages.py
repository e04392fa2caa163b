"""What the pages on this machine explain."""

from collections.abc import Sequence
from dataclasses import dataclass

from sakuin.errors import NotFound, UnreadablePage
from sakuin.knowledge.page import Explanation
from sakuin.knowledge.reading.anchors import usable_type
from sakuin.knowledge.reading.decoding import html_text
from sakuin.knowledge.reading.page_reader import read_page
from sakuin.knowledge.reading.parsing import attribute, parsed
from sakuin.knowledge.reading.tree import HEADINGS

from sakuin_cli.files import read_bytes


@dataclass(frozen=True, slots=True)
class LocalPage:
    """A page on this machine: its explanations, or why it cannot be read."""

    explanations: tuple[Explanation, ...] = ()
    error: str | None = None


def local_page(path: str, *, box_selectors: Sequence[str]) -> LocalPage:
    """Reads a page as the index would."""
    try:
        return LocalPage(read_page(read_bytes(path), box_selectors=box_selectors).explanations)
    except (UnreadablePage, NotFound) as error:
        return LocalPage(error=str(error))


def unusable_headings(path: str) -> int:
    """Returns how many headings of a page nothing can link to: neither they nor an element around them has an id."""
    try:
        root, _ = parsed(html_text(read_bytes(path)))
    except (UnreadablePage, NotFound):
        return 0
    return sum(
        not any(usable_type(attribute(tag, "id")) for tag in (heading, *heading.parents))
        for heading in root.find_all(list(HEADINGS))
    )
