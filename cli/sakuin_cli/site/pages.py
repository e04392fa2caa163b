"""What the pages on this machine explain."""

from collections.abc import Sequence
from dataclasses import dataclass

from sakuin.errors import NotFound, UnreadablePage
from sakuin.knowledge.page import Explanation
from sakuin.knowledge.reading.page_reader import read_page

from sakuin_cli.files import read_bytes


@dataclass(frozen=True, slots=True)
class LocalPage:
    """A page on this machine: its explanations and how many headings have no id, or why it is unreadable."""

    explanations: tuple[Explanation, ...] = ()
    headings: int = 0
    error: str | None = None


def local_page(path: str, *, box_selectors: Sequence[str]) -> LocalPage:
    """Reads a page as the index would."""
    try:
        page = read_page(read_bytes(path), box_selectors=box_selectors)
    except (UnreadablePage, NotFound) as error:
        return LocalPage(error=str(error))
    return LocalPage(page.explanations, len(page.unanchored_headings))
