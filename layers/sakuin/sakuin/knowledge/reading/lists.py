"""The markers of lists: bullets, numbers as authors and styles count them, and none where the text has its own."""

import re
from dataclasses import dataclass
from itertools import islice

from bs4 import Tag

from sakuin.knowledge.reading.parsing import attribute
from sakuin.knowledge.reading.rules import pattern, table
from sakuin.knowledge.reading.tree import steps

STYLE, NO_MARKER, STYLES = pattern("list_style"), pattern("no_marker"), table("lists_styles")
NUMBER = re.compile(r"-?\d{1,6}")
# A marker that an author wrote: "5.", "(a)", "iv)", "•".
WRITTEN = re.compile(r"[(\[]?(?:\d{1,4}|[A-Za-z]|[ivxIVX]{1,5})[.)\]]|[•‣–]")
FIRST_STEPS = 12


@dataclass(slots=True)
class ItemNumbers:
    """The numbers of the items of a list. `number` is that of the next one, None in a list of bullets."""

    number: int | None
    step: int = 1
    style: str = ""

    @classmethod
    def of(cls, tag: Tag) -> "ItemNumbers":
        """Returns the numbers that an `ol`, or any other list, begins with."""
        style = _style(tag)
        if tag.name != "ol":
            return cls(None, style=style)
        start = attribute(tag, "start").strip()
        is_reversed = "reversed" in tag.attrs
        count = sum(isinstance(item, Tag) and item.name == "li" for item in tag.contents) if is_reversed else 1
        return cls(int(start) if NUMBER.fullmatch(start) else count, -1 if is_reversed else 1, style)

    def marker(self, item: Tag) -> str:
        """Returns the marker of the next item: "- ", "7. ", "b. ", or none if its text begins with one."""
        if self.number is None:
            return "- "
        style = (_style(item) if item.attrs else "") or self.style
        value = attribute(item, "value").strip()
        number = int(value) if NUMBER.fullmatch(value) else self.number
        self.number = number + self.step
        marker = "- " if style == "none" else f"{_written(number, style)}. "
        begin = next((step.text.strip() for step in islice(steps(item), FIRST_STEPS) if step.text.strip()), "")
        has_own = begin.startswith(marker.strip()) if style != "none" else WRITTEN.match(begin) is not None
        return "" if has_own else marker


def _style(tag: Tag) -> str:
    names = attribute(tag, "class")
    if NO_MARKER.search(names):
        return "none"
    written = STYLE.search(attribute(tag, "style"))
    candidates = (attribute(tag, "type"), written["style"].lower() if written else "", *names.split())
    return next((STYLES[one] for one in candidates if one in STYLES and (one != "none" or written)), "")


def _written(number: int, style: str) -> str:
    signs = style.split() if " " in style else style
    return signs[number - 1] if 0 < number <= len(signs) else str(number)
