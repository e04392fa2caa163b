"""How a built HTML page becomes a `Page`."""

from sakuin.domain.reading.page_reader import read_page

__all__ = ["read_page"]
