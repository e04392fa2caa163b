"""The markers of lists: bullets, numbers as authors and styles count them, and none where the text has its own."""

import re
from dataclasses import dataclass
from itertools import islice

from bs4 import Tag

from sakuin.knowledge.reading.parsing import attribute
from sakuin.knowledge.reading.rules import table
from sakuin.knowledge.reading.tree import steps

NUMBER = re.compile(r"-?\d{1,6}")
STYLE = re.compile(r"list-style(?:-type)?\s*:\s*(?P<style>[\w-]+)", re.IGNORECASE)
NO_MARKER = re.compile(r"(?:^|[\s_-])(?:list-none|list-unstyled|no-bullets?|ltx_enumerate)(?=$|\s)")

STYLES = table("lists_styles")
ROMAN = {
    **{1000: "m", 900: "cm", 500: "d", 400: "cd", 100: "c", 90: "xc", 50: "l", 40: "xl"},
    **{10: "x", 9: "ix", 5: "v", 4: "iv", 1: "i"},
}

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
        if "reversed" not in tag.attrs:
            return cls(int(start) if NUMBER.fullmatch(start) else 1, style=style)
        count = sum(isinstance(item, Tag) and item.name == "li" for item in tag.contents)
        return cls(int(start) if NUMBER.fullmatch(start) else count, -1, style)

    def marker(self, item: Tag) -> str:
        """Returns the marker of the next item: "- ", "7. ", "b. ", or none if its text begins with one."""
        value = attribute(item, "value").strip()
        if self.number is not None and NUMBER.fullmatch(value):
            self.number = int(value)
        number = self.number
        if number is not None:
            self.number = number + self.step
        style = (_style(item) if item.attrs else "") or self.style
        marker = "- " if number is None or style == "none" else f"{_written(number, style)}. "
        if self.style == style == "" and number is None:
            return marker
        begin = next((step.text.strip() for step in islice(steps(item), FIRST_STEPS) if step.text.strip()), "")
        has_own = begin.startswith(marker.strip()) if style != "none" else WRITTEN.match(begin) is not None
        return "" if has_own and number is not None else marker


def _style(tag: Tag) -> str:
    names = attribute(tag, "class")
    if NO_MARKER.search(names):
        return "none"
    written = STYLE.search(attribute(tag, "style"))
    candidates = (attribute(tag, "type"), written["style"].lower() if written else "", *names.split())
    return next((STYLES[one] for one in candidates if one in STYLES and (one != "none" or written)), "")


def _written(number: int, style: str) -> str:
    if 0 < number <= len(style) > 1:
        return style[number - 1]
    if style in ("i", "I") and 0 < number < 4000:
        numeral = ""
        for value, letters in ROMAN.items():
            numeral += letters * (number // value)
            number %= value
        return numeral if style == "i" else numeral.upper()
    if style in ("a", "A") and number > 0:
        letters = ""
        while number:
            number, place = divmod(number - 1, 26)
            letters = chr(ord(style) + place) + letters
        return letters
    return str(number)
