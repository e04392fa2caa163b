"""The settings of a page in its own meta tags: where its content is, and which of its elements have which type."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import get_args

import soupsieve
from bs4 import Tag

from sakuin.knowledge.page import ChunkType
from sakuin.texts.catalogue import coded

# More would slow down the reading of large pages.
MOST_SELECTORS = 30

# One element by its tag, classes and id.
SELECTOR = re.compile(r"(?:[a-zA-Z][\w-]*)?(?:\.[\w-]+)*(?:#[\w-]+)?(?:\.[\w-]+)*")


@dataclass(frozen=True, slots=True)
class PageSettings:
    """What a page says about itself, by the `id()` of elements. `problems` are sentences about settings left out.

    `index`: "headings" if semantic ids are like all others, "ids" if nothing without one is indexed.
    """

    content: frozenset[int] = frozenset()
    left_out: frozenset[int] = frozenset()
    types: Mapping[int, ChunkType] = field(default_factory=dict)
    index: str = ""
    problems: tuple[str, ...] = ()


def page_settings(metas: Mapping[str, str], root: Tag) -> PageSettings:
    """Reads the meta tags `sakuin:content`, `sakuin:leave-out`, `sakuin:types` and `sakuin:index`, without `sakuin:`.

    An invalid part is left out; it never stops the page.
    """
    problems: list[str] = []
    types: dict[int, ChunkType] = {}
    for part in _parts(metas, "types", problems):
        written, _, name = part.partition("=")
        elements = _elements(written.strip(), "types", root, problems)
        chunk_type = next((one for one in get_args(ChunkType) if one == name.strip().lower()), None)
        if chunk_type is not None:
            types = dict.fromkeys(elements, chunk_type) | types
        elif SELECTOR.fullmatch(written.strip()):
            known = ", ".join(get_args(ChunkType))
            problems.append(coded("setting.type", part=repr(part[:80]), known=known))
    index = metas.get("index", "").lower()
    if index not in ("", "headings", "ids"):
        problems.append(coded("setting.index", value=repr(index[:80])))
    content, left_out = (
        frozenset(
            element for part in _parts(metas, name, problems) for element in _elements(part, name, root, problems)
        )
        for name in ("content", "leave-out")
    )
    return PageSettings(content, left_out, types, index, tuple(problems))


def _parts(metas: Mapping[str, str], name: str, problems: list[str]) -> Iterator[str]:
    parts = [part.strip() for part in metas.get(name, "").split(",") if part.strip()]
    if len(parts) > MOST_SELECTORS:
        problems.append(coded("setting.many", name=name, count=len(parts), most=MOST_SELECTORS))
    yield from parts[:MOST_SELECTORS]


def _elements(selector: str, name: str, root: Tag, problems: list[str]) -> list[int]:
    if selector and SELECTOR.fullmatch(selector):
        return [id(tag) for tag in soupsieve.select(selector, root)]
    problems.append(coded("setting.selector", name=name, part=repr(selector[:80])))
    return []
