"""How a built HTML page becomes a `Page`."""

from sakuin.knowledge.reading.page_reader import MOST_EXPLANATIONS, read_page

__all__ = ["MOST_EXPLANATIONS", "read_page"]
