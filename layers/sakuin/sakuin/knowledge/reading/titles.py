"""Where the name of an explanation is written."""

import re
from collections.abc import Iterator
from itertools import islice

from bs4 import Tag

from sakuin.knowledge.reading.names import concept_name, is_generic, is_label, shortened, without_example_link
from sakuin.knowledge.reading.parsing import attribute, classes
from sakuin.knowledge.reading.places import Place
from sakuin.knowledge.reading.prose import raised
from sakuin.knowledge.reading.walking import HEADINGS, Step, begins_with_text, steps
from sakuin.language.unicode_text import one_line

TITLE_CLASS = re.compile(r"(?:^|[-_])(?:title|heading|header|name|caption|headline|term)$", re.IGNORECASE)

TITLE_TAGS = HEADINGS.keys() | {"strong", "b", "dfn", "em", "th", "dt"}

TITLE_TAGS |= {"summary", "legend", "caption", "figcaption"}

FIRST_STEPS = 40  # a title stands at the beginning

TITLE_STEPS = 60  # and is short

LONGEST_TITLE = 120

LONGEST_TITLE_TEXT = 2000  # as it stands in the source, white space included


def title_of(place: Place, content: str) -> str:
    """An explanation's name, from the first of its sources that has one.

    Its heading, title element or first bold words; the attributes `data-title`, `title`, `aria-label`;
    a `figcaption`, `summary` or bold text anywhere in it; its first sentence, cut at about 40 characters;
    the words of its anchor.
    """
    fallback = ""
    for candidate in _candidates(place, content):
        name = concept_name(candidate)[:LONGEST_TITLE].rstrip()
        if name and not is_generic(name) and not is_label(name):
            return name
        fallback = fallback or name
    return fallback or place.anchor


def words_of(tag: Tag) -> str:
    """A heading or title element on one line, without badges ("例1") and link labels ("→ 例1")."""
    kept: list[str] = []
    for step in islice(steps(tag), TITLE_STEPS):
        if step.kind == "open":
            kept.append(raised(step.tag))
        elif step.kind == "text" and not _is_furniture(step, tag, first=not "".join(kept).strip()):
            # A title is short; its text may stand in headings within headings, each of which reads it.
            kept.append(step.text[:LONGEST_TITLE_TEXT])
    return one_line("".join(kept))


def _candidates(place: Place, content: str) -> Iterator[str]:
    if place.shape != "element":
        yield words_of(place.element)
    elif place.origin is not place.element and begins_with_text(place.origin):
        yield words_of(place.origin)
    else:
        yield from _leading_titles(place.element)
    for tag in (place.origin, place.element):
        for name in ("data-title", "title", "aria-label"):
            yield attribute(tag, name)
    if place.shape == "element":
        for step in islice(steps(place.element), FIRST_STEPS):
            if step.kind == "open" and step.tag.name in ("figcaption", "summary", "legend", "caption"):
                yield words_of(step.tag)
                break
    yield from (shortened(line.removeprefix("- ")) for line in content[:500].split("\n")[:3])
    yield place.anchor.partition("-")[2].replace("-", " ").replace("_", " ")


def _leading_titles(element: Tag) -> Iterator[str]:
    """Titles at the beginning of a box, before any other text than labels and decoration."""
    within: Tag | None = None
    for step in islice(steps(element), FIRST_STEPS):
        if within is not None:
            within = None if step.kind == "close" and step.tag is within else within
        elif step.kind == "open" and step.tag is not element and is_title(step.tag):
            within = step.tag
            yield words_of(step.tag)
        elif step.kind == "text" and not is_label(step.text):
            return


def is_title(tag: Tag) -> bool:
    """Whether an element's tag or class says that it titles what follows."""
    return tag.name in TITLE_TAGS or any(TITLE_CLASS.search(name) for name in classes(tag))


def _is_furniture(step: Step, title: Tag, *, first: bool) -> bool:
    if step.tag is title or not step.text.strip():
        return False
    if step.tag.name == "a" and attribute(step.tag, "href").startswith("#"):
        return is_label(step.text) or not without_example_link(" " + one_line(step.text)).strip()
    return first and is_label(step.text)
