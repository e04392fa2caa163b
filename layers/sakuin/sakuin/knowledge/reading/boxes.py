"""Boxes without a semantic id."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import soupsieve
from bs4 import Tag

from sakuin.errors import Misconfigured
from sakuin.knowledge.page import UnnamedBox, type_of_anchor
from sakuin.knowledge.reading.anchors import AnchoredElement
from sakuin.knowledge.reading.names import concept_name, shortened, without_number
from sakuin.knowledge.reading.parsing import attribute, classes, written_names
from sakuin.knowledge.reading.rules import pattern
from sakuin.knowledge.reading.titles import is_title, words_of
from sakuin.knowledge.reading.tree import HEADINGS, Step, steps
from sakuin.language.tex import plain_tex
from sakuin.language.unicode_text import one_line

TITLE_STEPS = 30  # a label is at the beginning

ONE_CLASS = re.compile(r"\.([\w-]+)")
EXERCISE_TITLE, SOLUTION_TITLE = pattern("exercise_title"), pattern("solution_title")
NO_EXERCISE, EXERCISE_CLASS = pattern("no_exercise"), pattern("exercise_class")


def names_exercise(title: str) -> bool:
    """Returns whether a heading is that of exercises or of their solutions."""
    return _is_exercise_title(title) or SOLUTION_TITLE.match(without_number(concept_name(title))) is not None


def _is_exercise_title(title: str) -> bool:
    name = without_number(concept_name(title))
    return EXERCISE_TITLE.search(name) is not None and not NO_EXERCISE.fullmatch(name)


class BoxWithoutId(NamedTuple):
    """A box without a semantic id, and whether readers answer it, by its class, its title or what is around it."""

    tag: Tag
    kind: str
    is_exercise: bool


def unnamed_boxes(
    root: Tag, page_steps: Iterable[Step], found: Sequence[AnchoredElement], selectors: Sequence[str]
) -> tuple[UnnamedBox, ...]:
    """Returns the boxes that match a CSS selector, explain something and have no semantic id, in page order."""
    # Sphinx describes a method in `<dl class="method">`, which is no box.
    places = page_steps if found else (step for step in page_steps if step.tag.name != "dl")
    boxes = boxes_without_id(places, found, BoxKinds(root, selectors))
    return tuple(UnnamedBox(box.kind, _title(box.tag)) for box in boxes if not box.is_exercise)


def boxes_without_id(
    page_steps: Iterable[Step], found: Sequence[AnchoredElement], kind_of: Callable[[Tag], str | None]
) -> Iterator[BoxWithoutId]:
    """Yields the elements with a kind that have no semantic id on them, in page order.

    Nor is it on their heading or just before them. A box inside a named box of the same kind needs none.
    """
    named = {id(anchored.element) for anchored in found}
    headed = {id(anchored.element.parent) for anchored in found if anchored.element.name in HEADINGS}
    headings: list[tuple[int, bool]] = []  # ranks, and whether exercises are below them
    inside: list[BoxWithoutId] = []
    named_around: Counter[str] = Counter()
    for step in page_steps:
        tag = step.tag
        if step.kind == "close" and inside and inside[-1].tag is tag:
            named_around[inside.pop().kind] -= id(tag) in named
        if step.kind != "open":
            continue
        if not inside and (rank := HEADINGS.get(tag.name)):
            is_exercise = _is_exercise_title(_first_words(tag, most=TITLE_STEPS))
            headings = [*(outer for outer in headings if outer[0] < rank), (rank, is_exercise)]
        if (kind := kind_of(tag)) is None:
            continue
        if id(tag) in headed or type_of_anchor(attribute(tag, "id")):
            named.add(id(tag))
        is_exercise = any(box.is_exercise for box in inside[-1:]) or any(is_above for _, is_above in headings)
        box = BoxWithoutId(tag, kind, is_exercise or _says_exercise(tag))
        inside.append(box)
        if id(tag) not in named and not named_around[kind]:
            yield box
        named_around[kind] += id(tag) in named


def _says_exercise(tag: Tag) -> bool:
    words = _first_words(tag, most=TITLE_STEPS)
    return bool(EXERCISE_CLASS.search(written_names(tag).lower()) or EXERCISE_TITLE.search(words))


class BoxKinds:
    """The first of some CSS selectors that an element matches. Raises `Misconfigured` if one is none.

    Class names are looked up in a dict, which is 100 times faster.
    """

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
        if "class" in tag.attrs and not classes(tag).isdisjoint(self._classes):
            for name in attribute(tag, "class").split():
                if name in self._classes:
                    return self._classes[name]
        return self._others.get(id(tag)) if self._others else None


def _title(tag: Tag) -> str:
    """Returns the first words that name a box. A mere label ("例1") counts: it shows the author which box it is."""
    inside = (step.tag for step in islice(steps(tag), 40) if step.kind == "open" and is_title(step.tag))
    title = next(filter(None, map(concept_name, map(words_of, inside))), "")
    return title or concept_name(shortened(_first_words(tag)))


def _first_words(tag: Tag, *, most: int = 200) -> str:
    # Bounded, since boxes may be nested without limit.
    texts = (step.text.strip() for step in islice(steps(tag), most) if step.kind == "text")
    words = " ".join(text for text in texts if text)
    return plain_tex(one_line(words[:400]))
