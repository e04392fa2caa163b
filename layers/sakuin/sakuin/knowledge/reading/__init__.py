"""The reader of HTML pages."""

from sakuin.knowledge.reading.page_reader import MOST_EXPLANATIONS, read_page

__all__ = ["MOST_EXPLANATIONS", "read_page"]
