"""Teasers: parts of a list of pages that have the beginning of another page."""

from itertools import islice

from bs4 import Tag

from sakuin.knowledge.reading.parsing import attribute
from sakuin.knowledge.reading.tree import HEADINGS, steps

# The heading of a teaser is among its first steps, and a teaser is short.
HEADING_STEPS, MOST_STEPS = 20, 300


def is_teaser(tag: Tag) -> bool:
    """Returns whether the only heading of an article or of an item of a list is a link to another page of the site.

    The archives, tags and home page of a blog are made of them. The page that they link to is indexed itself.
    """
    if tag.name not in ("article", "li"):
        return False
    has_heading = False
    for number, step in enumerate(islice(steps(tag), MOST_STEPS)):
        if step.kind == "close" and step.tag is tag:
            return has_heading
        if number == HEADING_STEPS and not has_heading:
            return False
        if step.kind == "open" and step.tag.name in HEADINGS:
            if has_heading or step.tag.name == "h1" or not _leads_away(step.tag):
                return False
            has_heading = True
    return False


def _leads_away(heading: Tag) -> bool:
    """Returns whether all of a heading is a link to another page of the site."""
    parts = [part for part in heading.children if isinstance(part, Tag) or str(part).strip()]
    link = heading.parent if len(parts) != 1 or not isinstance(parts[0], Tag) or parts[0].name != "a" else parts[0]
    if link is None or link.name != "a":
        return False
    href = attribute(link, "href")
    is_of_site = ":" not in href.partition("/")[0] or "bookmark" in attribute(link, "rel").split()
    return is_of_site and not href.startswith(("#", "//")) and href != ""
