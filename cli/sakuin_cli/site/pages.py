"""The pages on this machine."""

from collections.abc import Sequence

from sakuin.errors import NotFound, UnreadablePage
from sakuin.knowledge.page import DEFAULT_BOX_SELECTORS, Page
from sakuin.knowledge.reading.page_reader import read_page

from sakuin_cli.files import read_bytes


def local_page(path: str, box_selectors: Sequence[str] = DEFAULT_BOX_SELECTORS) -> Page | str:
    """Returns a page as the index would read it, or the reason why it cannot be read."""
    try:
        return read_page(read_bytes(path), box_selectors=box_selectors)
    except (UnreadablePage, NotFound) as error:
        return str(error)
