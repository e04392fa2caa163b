"""The settings of a page in its own meta tags: where its content is, and which of its elements have which type."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast, get_args

import soupsieve
from bs4 import Tag

from sakuin.knowledge.page import ChunkType
from sakuin.texts.catalogue import coded

MOST_SELECTORS = 30  # more would slow down the reading of large pages

TYPES: tuple[str, ...] = get_args(ChunkType)
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
    """Reads the meta tags `content`, `leave-out`, `types`, `index` of Sakuin. An invalid part never stops the page."""
    problems: list[str] = []
    elements: dict[str, list[tuple[int, str]]] = {}  # by setting, with what is after "="
    for name in ("types", "content", "leave-out"):
        parts = [part.strip() for part in metas.get(name, "").split(",") if part.strip()]
        if len(parts) > MOST_SELECTORS:
            problems.append(coded("setting.many", name=name, count=len(parts), most=MOST_SELECTORS))
        elements[name] = []
        for part in parts[:MOST_SELECTORS]:
            selector, _, value = map(str.strip, part.partition("=" if name == "types" else "\n"))
            if not selector or not SELECTOR.fullmatch(selector):
                problems.append(coded("setting.selector", name=name, part=repr(selector[:80])))
            elif name == "types" and value.lower() not in TYPES:
                problems.append(coded("setting.type", part=repr(part[:80]), known=", ".join(TYPES)))
            else:
                elements[name] += [(id(tag), value.lower()) for tag in soupsieve.select(selector, root)]
    index = metas.get("index", "").lower()
    if index not in ("", "headings", "ids"):
        problems.append(coded("setting.index", value=repr(index[:80])))
    content, left_out = (frozenset(dict(elements[name])) for name in ("content", "leave-out"))
    types = {element: cast(ChunkType, value) for element, value in reversed(elements["types"])}  # the first counts
    return PageSettings(content, left_out, types, index, tuple(problems))
