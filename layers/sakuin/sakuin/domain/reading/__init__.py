"""How a built HTML page becomes a `Page`."""

from sakuin.domain.reading.boxes import DEFAULT_BOX_SELECTORS
from sakuin.domain.reading.page_reader import read_page

__all__ = ["DEFAULT_BOX_SELECTORS", "read_page"]
