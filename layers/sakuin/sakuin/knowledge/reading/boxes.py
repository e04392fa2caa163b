"""Boxes that explain something and that nobody can link to."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice

import soupsieve
from bs4 import Tag

from sakuin.errors import Misconfigured
from sakuin.knowledge.page import UnnamedBox, type_of_anchor
from sakuin.knowledge.reading.names import concept_name, shortened
from sakuin.knowledge.reading.parsing import attribute
from sakuin.knowledge.reading.places import Place
from sakuin.knowledge.reading.titles import is_title, words_of
from sakuin.knowledge.reading.walking import HEADINGS, Step, steps
from sakuin.language.tex import plain_tex
from sakuin.language.unicode_text import one_line

ONE_CLASS = re.compile(r"\.([\w-]+)")


def unnamed_boxes(
    root: Tag, walk: Iterable[Step], found: Sequence[Place], selectors: Sequence[str]
) -> tuple[UnnamedBox, ...]:
    """The boxes that match a CSS selector and carry no semantic id, in page order.

    A box is named by an id on itself, on its heading or just before it, and by a named box of its own
    kind around it.
    """
    kind_of = _Kinds(root, selectors)
    named = {id(place.element) for place in found}
    headed = {id(place.element.parent) for place in found if place.element.name in HEADINGS}
    boxes: list[UnnamedBox] = []
    inside: list[tuple[Tag, str]] = []  # open named boxes
    depth: dict[str, int] = {}
    for step in walk:
        if step.kind == "close" and inside and inside[-1][0] is step.tag:
            depth[inside.pop()[1]] -= 1
        kind = kind_of(step.tag) if step.kind == "open" else None
        if kind is None:
            continue
        if id(step.tag) in named or id(step.tag) in headed or type_of_anchor(attribute(step.tag, "id")):
            inside.append((step.tag, kind))
            depth[kind] = depth.get(kind, 0) + 1
        elif not depth.get(kind):
            boxes.append(UnnamedBox(kind, _title(step.tag)))
    return tuple(boxes)


class _Kinds:
    """Which selector an element matches first; plain classes are looked up (100 times faster)."""

    def __init__(self, root: Tag, selectors: Sequence[str]) -> None:
        self._classes = {match[1]: text for text in selectors if (match := ONE_CLASS.fullmatch(text.strip()))}
        self._others: dict[int, str] = {}
        for selector in selectors:
            if not ONE_CLASS.fullmatch(selector.strip()):
                try:
                    for tag in soupsieve.select(selector, root):
                        self._others.setdefault(id(tag), selector)
                except soupsieve.SelectorSyntaxError as error:
                    raise Misconfigured(f"{selector!r} is no CSS selector: correct the box selectors.") from error

    def __call__(self, tag: Tag) -> str | None:
        if "class" in tag.attrs:
            for name in attribute(tag, "class").split():
                if name in self._classes:
                    return self._classes[name]
        return self._others.get(id(tag)) if self._others else None


def _title(tag: Tag) -> str:
    """The first words of the box that name it, a bare label ("練習1") included: it tells a person which box."""
    for step in islice(steps(tag), 40):
        if step.kind == "open" and is_title(step.tag) and (name := concept_name(words_of(step.tag))):
            return name
    # A bounded look: boxes may stand in boxes without end.
    words = " ".join(step.text.strip() for step in islice(steps(tag), 200) if step.kind == "text" and step.text.strip())
    return concept_name(shortened(plain_tex(one_line(words[:400]))))
