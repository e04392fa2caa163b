"""The tree of a page in reading order: elements that open and close, visible text, and the language of code."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from bs4 import Tag
from bs4.element import NavigableString, PreformattedString

from sakuin.knowledge.reading.mathematics import MATHEMATICS, rendered_tex
from sakuin.knowledge.reading.parsing import OPAQUE, attribute, classes
from sakuin.knowledge.reading.rules import names, pattern

HEADINGS = {f"h{rank}": rank for rank in range(1, 7)}

NUMBERS, UNSEEN = names("tree_numbers"), names("unseen")
ADDED = NUMBERS | names("tree_copies")
HIDDEN_CLASSES = ADDED | UNSEEN
SKIPPED = OPAQUE | names("skipped")
HIDING_STYLE, PANEL = pattern("hiding_style"), pattern("tab_panel")
HIDING = frozenset({"hidden", "style", "class"})
# All other elements without an attribute are text.
LOOKED_AT = SKIPPED | MATHEMATICS
MOST_NUMBERS = 1000
LANGUAGE_CLASS, NO_LANGUAGE = pattern("code_language"), names("no_language")
CODE_STYLE, CODE_CLASSES = pattern("code_style"), names("code_classes")
MOST_WRAPPERS = 3  # around the lines of code may name their language: Sphinx and Rouge have two
# Of a cell with nothing but icons.
MOST_ICON_PARTS, LONGEST_ICON = 30, 40
NO_ICONS = MATHEMATICS | {"input", "table", "pre"}
ICONS = {"✓": pattern("icon_yes"), "✗": pattern("icon_no")}


@dataclass(eq=False, slots=True)
class Step:
    """`tag` opens, closes, or contains `text`. A page has many thousands: a frozen one takes twice the time to make."""

    kind: Literal["open", "close", "text"]
    tag: Tag
    text: str = ""


def steps(root: Tag) -> Iterator[Step]:
    """Yields every visible element and text under `root`, `root` first. Iterative, so that any depth works."""
    yield Step("open", root)
    path = [(root, iter(root.contents))]
    while path:
        parent, children = path[-1]
        for child in children:
            if isinstance(child, Tag):
                if child.name in ("td", "th") and (label := icon_label(child)) and not is_hidden(child):
                    yield from (Step("open", child), Step("text", child, label), Step("close", child))
                    continue
                is_text = not child.attrs and child.name not in LOOKED_AT
                instead = None if is_text else rendered_tex(child)
                if instead is not None:
                    yield Step("text", parent, instead)
                elif is_text or not is_hidden(child):
                    yield Step("open", child)
                    path.append((child, iter(child.contents)))
                    break
            elif isinstance(child, NavigableString) and not isinstance(child, PreformattedString):
                yield Step("text", parent, str(child))
        else:
            path.pop()
            yield Step("close", parent)


def begins_with_text(tag: Tag) -> bool:
    """Returns whether there is text near the beginning of an element. Bounded, since pages may nest without limit."""
    return any(step.kind == "text" and step.text.strip() for step in islice(steps(tag), 20))


def is_hidden(tag: Tag) -> bool:
    """Returns whether no person sees the text of an element on the page, so that it must never reach an agent."""
    return _is_unseen(tag, HIDDEN_CLASSES) or attribute(tag, "aria-hidden").lower() == "true"


def _is_unseen(tag: Tag, hidden_classes: frozenset[str]) -> bool:
    if tag.name in SKIPPED:
        return True
    if HIDING.isdisjoint(tag.attrs):
        return False
    return (
        ("hidden" in tag.attrs and attribute(tag, "hidden").lower() != "until-found")
        or ("style" in tag.attrs and HIDING_STYLE.search(attribute(tag, "style")) is not None)
        or (not hidden_classes.isdisjoint(classes(tag)) and _is_added(tag))
    )


def _is_added(tag: Tag) -> bool:
    """Returns whether an element has numbers of lines, is a button that copies, or has words for screen readers."""
    names = classes(tag)
    text = "".join(child for child in islice(tag.descendants, MOST_NUMBERS) if isinstance(child, NavigableString))
    if not UNSEEN.isdisjoint(names):
        return any(map(str.isalnum, text))  # the bar of a fraction is none
    return NUMBERS.isdisjoint(names) or not any(map(str.isalpha, text))


def icon_label(cell: Tag) -> str:
    """Returns what the icons of a cell without text show: words for screen readers, a label, a sign or a known icon."""
    if not cell.contents or (isinstance(cell.contents[0], NavigableString) and cell.contents[0].strip()):
        return ""
    labels: dict[str, list[str]] = {"spoken": [], "label": [], "sign": [], "icon": []}
    for tag, is_silent in islice(_shown_inside(cell), MOST_ICON_PARTS):
        words = "".join(child for child in tag.contents if type(child) is NavigableString).strip()
        if tag.name in NO_ICONS or (words and not is_silent and UNSEEN.isdisjoint(classes(tag))):
            return ""
        labels["sign" if is_silent else "spoken"].append(words)
        if tag is not cell:
            labels["label"] += (attribute(tag, name).strip() for name in ("aria-label", "title"))
            labels["icon"] += (sign for sign, names in ICONS.items() if names.search(attribute(tag, "class")))
    label = next((word for words in labels.values() for word in words if word), "")
    return label if len(label) <= LONGEST_ICON else ""


def _shown_inside(cell: Tag) -> Iterator[tuple[Tag, bool]]:
    """Yields the elements of a cell that a person sees or hears, and whether screen readers leave them out."""
    waiting = deque([(cell, False)])
    while waiting:
        tag, is_silent = waiting.popleft()
        yield tag, is_silent
        for child in tag.contents:
            if isinstance(child, Tag) and (child.name == "svg" or not _is_unseen(child, ADDED)):
                waiting.append((child, is_silent or attribute(child, "aria-hidden").lower() == "true"))


def reveal_panels(tags: Sequence[Tag]) -> None:
    """Shows what a click on the page shows: panels of several tabs, and what a button controls or stands above."""
    marked = [tag for tag in tags if tag.attrs]
    tabs = [tag for tag in marked if attribute(tag, "role") == "tabpanel" or tag.name.endswith("-tab-panel")]
    tabs += [tag for tag in marked if PANEL.search(attribute(tag, "class"))]
    controlled = {name for tag in marked for name in attribute(tag, "aria-controls").split()}
    panels = [tag for tag in marked if attribute(tag, "id") in controlled]
    above = [tag for tag in marked if "aria-expanded" in tag.attrs and "aria-controls" not in tag.attrs]
    panels += filter(None, (tag.find_next_sibling() for tag in above))
    for tag in (*(tabs if len(tabs) > 1 else ()), *panels):
        tag.attrs = {name: value for name, value in tag.attrs.items() if name not in ("hidden", "aria-hidden", "style")}


def language_of(pre: Tag) -> str:
    """Returns the language of a block of code, as its classes or attributes name it; empty if none does."""
    inner = pre.find("code")
    for tag in (inner if isinstance(inner, Tag) else pre, pre, *islice(pre.parents, MOST_WRAPPERS)):
        named = LANGUAGE_CLASS.search(attribute(tag, "class"))
        candidates = (attribute(tag, "data-lang"), attribute(tag, "data-language"), named["language"] if named else "")
        if language := next(filter(None, candidates), ""):
            return "" if language.lower() in NO_LANGUAGE or not language.isprintable() else language.lower()
    return ""


def is_code_block(tag: Tag) -> bool:
    """Returns whether white space counts in an element.

    Other blocks than `pre`: the fragments of Doxygen, files of GitHub, code of several lines in a line of its own.
    """
    name = tag.name
    if name in ("pre", "listing", "xmp", "plaintext"):
        return True
    if name == "div":
        return attribute(tag, "class") == "fragment" and tag.find("div", class_="line", recursive=False) is not None
    if name == "table":
        return "highlight" in classes(tag) and tag.find("td", class_="blob-code") is not None
    if name not in ("code", "samp", "tt"):
        return False
    is_preformatted = CODE_STYLE.search(attribute(tag, "style")) or not CODE_CLASSES.isdisjoint(classes(tag))
    return tag.find("br") is not None or (bool(is_preformatted) and "\n" in tag.get_text())
