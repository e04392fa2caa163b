"""Boxes without a semantic id."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice

import soupsieve
from bs4 import Tag

from sakuin.errors import Misconfigured
from sakuin.knowledge.page import UnnamedBox, type_of_anchor
from sakuin.knowledge.reading.anchors import AnchoredElement
from sakuin.knowledge.reading.names import concept_name, shortened
from sakuin.knowledge.reading.parsing import attribute
from sakuin.knowledge.reading.titles import is_title, words_of
from sakuin.knowledge.reading.tree import HEADINGS, Step, steps
from sakuin.language.tex import plain_tex
from sakuin.language.unicode_text import one_line

ONE_CLASS = re.compile(r"\.([\w-]+)")


def unnamed_boxes(
    root: Tag, page_steps: Iterable[Step], found: Sequence[AnchoredElement], selectors: Sequence[str]
) -> tuple[UnnamedBox, ...]:
    """Returns the boxes that match a CSS selector and have no semantic id, in page order.

    The id may be on the box, on its heading or on an element just before it. A box inside a named box of the same
    kind needs none.
    """
    kind_of = _Kinds(root, selectors)
    named = {id(anchored.element) for anchored in found}
    headed = {id(anchored.element.parent) for anchored in found if anchored.element.name in HEADINGS}
    boxes: list[UnnamedBox] = []
    inside: list[tuple[Tag, str]] = []  # open named boxes
    depth: dict[str, int] = {}
    for step in page_steps:
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
    """The first selector that an element matches. Class names are looked up in a dict, which is 100 times faster."""

    def __init__(self, root: Tag, selectors: Sequence[str]) -> None:
        self._classes = {match[1]: text for text in selectors if (match := ONE_CLASS.fullmatch(text.strip()))}
        self._others: dict[int, str] = {}
        for selector in selectors:
            if not ONE_CLASS.fullmatch(selector.strip()):
                try:
                    for tag in soupsieve.select(selector, root):
                        self._others.setdefault(id(tag), selector)
                except soupsieve.SelectorSyntaxError as error:
                    raise Misconfigured(f"{selector!r} is not a CSS selector. Correct the box selectors.") from error

    def __call__(self, tag: Tag) -> str | None:
        if "class" in tag.attrs:
            for name in attribute(tag, "class").split():
                if name in self._classes:
                    return self._classes[name]
        return self._others.get(id(tag)) if self._others else None


def _title(tag: Tag) -> str:
    """Returns the first words that name a box. A mere label ("練習1") counts: it shows the author which box it is."""
    for step in islice(steps(tag), 40):
        if step.kind == "open" and is_title(step.tag) and (name := concept_name(words_of(step.tag))):
            return name
    # Bounded, since boxes may be nested without limit.
    words = " ".join(step.text.strip() for step in islice(steps(tag), 200) if step.kind == "text" and step.text.strip())
    return concept_name(shortened(plain_tex(one_line(words[:400]))))
