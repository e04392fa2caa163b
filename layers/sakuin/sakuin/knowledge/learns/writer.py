"""Lists of `learns`: three plain items where nobody wrote a list, and the completion of short lists."""

import re
from collections.abc import Iterable, Iterator

from sakuin.knowledge.learns.actions import language_of_text
from sakuin.knowledge.page import Explanation, Page, section_of
from sakuin.language.unicode_text import nfkc, one_line
from sakuin.texts.catalogue import LANGUAGES, texts_in

LEARNS_MIN = 3
LEARNS_MAX = 5


def plain_learns(explanation: Explanation, page: Page) -> tuple[str, ...]:
    """Returns three items made of title, heading and page, in the page's language; none for a section."""
    return () if explanation.is_section else complete_learns((), explanation, page)


def complete_learns(items: Iterable[str], explanation: Explanation, page: Page) -> tuple[str, ...]:
    """Returns the first five items of an author or a language model, completed to three with plain ones."""
    items_given = clean_learns(items)
    if len(items_given) >= LEARNS_MIN:
        return items_given[:LEARNS_MAX]
    return _distinct((*items_given, *_plain_items(explanation, page)))[:LEARNS_MIN]


def clean_learns(items: Iterable[str]) -> tuple[str, ...]:
    """Returns the items, each on one line, without bullets, empty items and repetitions."""
    return _distinct(re.sub(r"^(?:[-*•・●]\s+|[•・●])+", "", one_line(item)) for item in items)


def _plain_items(explanation: Explanation, page: Page) -> Iterator[str]:
    title, kind, anchor = explanation.title, explanation.type, explanation.anchor
    places = [place for place in (section_of(explanation, page.title), page.title) if place and place != title]
    language = language_of_text("\n".join((page.title, title, explanation.text)))
    if language == "other" or (page.language or "en").partition("-")[0].lower() not in LANGUAGES:
        # No sentence is known in this language.
        yield from (title, *(f"{place} › {title}" for place in places))
        yield from (f"{title} ({kind})", f"{title} (#{anchor})", f"#{anchor}")
        return
    texts = texts_in(language)
    name, *names = (_quotable(part) if language == "ja" else part for part in (title, *places))
    yield texts(f"learns.{kind}", title=name)
    yield from (texts("learns.place", title=name, place=place) for place in names)
    yield from (texts(f"learns.{code}", title=name) for code in ("occasion", "check"))


def _quotable(name: str) -> str:
    return name.replace("「", "『").replace("」", "』")


def _distinct(items: Iterable[str]) -> tuple[str, ...]:
    distinct: dict[str, str] = {}
    for item in items:
        key = "".join(nfkc(item).casefold().split())
        if key:
            distinct.setdefault(key, item)
    return tuple(distinct.values())
