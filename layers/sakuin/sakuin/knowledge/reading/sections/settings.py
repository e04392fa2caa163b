"""The settings of a page in its own meta tags: where its content is, and which of its elements have which type."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from bs4 import Tag

from sakuin.knowledge.page import ChunkType
from sakuin.knowledge.reading.parsing import attribute
from sakuin.texts.catalogue import coded

# More would slow down the reading of large pages.
MOST_SELECTORS = 30

SELECTOR = re.compile(r"(?P<name>[a-zA-Z][\w-]*)?(?P<marks>(?:[.#][\w-]+)*)")


@dataclass(frozen=True, slots=True)
class Selector:
    """A tag, an id and classes that an element must have: `div.recipe-step`, `#content`, `h2`."""

    name: str
    id: str
    classes: frozenset[str]

    def matches(self, tag: Tag) -> bool:
        return (
            self.name in ("", tag.name)
            and self.id in ("", attribute(tag, "id"))
            and (not self.classes or self.classes.issubset(attribute(tag, "class").split()))
        )


@dataclass(frozen=True, slots=True)
class PageSettings:
    """What a page says about itself. `problems` are sentences about settings that were left out.

    `by_headings`: index the page by its headings although it has semantic ids.
    """

    content: Sequence[Selector] = ()
    left_out: Sequence[Selector] = ()
    types: Sequence[tuple[Selector, ChunkType]] = ()
    by_headings: bool = False
    problems: tuple[str, ...] = ()

    def is_content(self, tag: Tag) -> bool:
        """Returns whether the element is named as the main content."""
        return any(selector.matches(tag) for selector in self.content)

    def leaves_out(self, tag: Tag) -> bool:
        """Returns whether the element is no content."""
        return any(selector.matches(tag) for selector in self.left_out)

    def type_of(self, tag: Tag) -> ChunkType | None:
        """Returns the type that the page gives to the element."""
        return next((chunk_type for selector, chunk_type in self.types if selector.matches(tag)), None)


def page_settings(metas: Mapping[str, str]) -> PageSettings:
    """Reads the meta tags `sakuin:content`, `sakuin:leave-out`, `sakuin:types` and `sakuin:index`, without `sakuin:`.

    An invalid part is left out; it never stops the page.
    """
    problems: list[str] = []
    types = []
    for part in _parts(metas, "types", problems):
        written, _, name = part.partition("=")
        selector = _selector(written.strip(), "types", problems)
        chunk_type = next((known for known in get_args(ChunkType) if known == name.strip().lower()), None)
        if selector is not None and chunk_type is not None:
            types.append((selector, chunk_type))
        elif selector is not None:
            known = ", ".join(get_args(ChunkType))
            problems.append(coded("setting.type", part=repr(part[:80]), known=known))
    index = metas.get("index", "").lower()
    if index not in ("", "headings"):
        problems.append(coded("setting.index", value=repr(index[:80])))
    return PageSettings(
        content=_selectors(metas, "content", problems),
        left_out=_selectors(metas, "leave-out", problems),
        types=types,
        by_headings=index == "headings",
        problems=tuple(problems),
    )


def _selectors(metas: Mapping[str, str], name: str, problems: list[str]) -> list[Selector]:
    read = (_selector(part, name, problems) for part in _parts(metas, name, problems))
    return [selector for selector in read if selector is not None]


def _parts(metas: Mapping[str, str], name: str, problems: list[str]) -> Iterator[str]:
    parts = [part.strip() for part in metas.get(name, "").split(",") if part.strip()]
    if len(parts) > MOST_SELECTORS:
        problems.append(coded("setting.many", name=name, count=len(parts), most=MOST_SELECTORS))
    yield from parts[:MOST_SELECTORS]


def _selector(written: str, name: str, problems: list[str]) -> Selector | None:
    match = SELECTOR.fullmatch(written)
    ids = re.findall(r"#([\w-]+)", match["marks"]) if match else []
    if match is None or not written or len(ids) > 1:
        problems.append(coded("setting.selector", name=name, part=repr(written[:80])))
        return None
    return Selector((match["name"] or "").lower(), "".join(ids), frozenset(re.findall(r"\.([\w-]+)", match["marks"])))
