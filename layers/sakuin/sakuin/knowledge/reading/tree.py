"""The tree of a page in reading order: elements that open and close, visible text, and the language of code."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Literal, NamedTuple

from bs4 import Tag
from bs4.element import NavigableString, PreformattedString

from sakuin.knowledge.reading.mathematics import MATHEMATICS, rendered_tex
from sakuin.knowledge.reading.parsing import OPAQUE, attribute, classes

# Numbers of lines by Pygments, Rouge, Chroma, GitHub, Prism and highlight.js; buttons that copy.
ADDED = frozenset(
    {"linenos", "linenodiv", "lineno", "rouge-gutter", "gutter", "lnt", "ln", "blob-num", "line-numbers-rows"}
    | {"hljs-ln-numbers", "linenumber", "react-syntax-highlighter-line-number"}
    | {"copybtn", "copy-button", "clipboard-button", "md-clipboard", "copy-code-button"}
)

# How many elements around the lines may name their language: Sphinx and Rouge have two.
MOST_WRAPPERS = 3

LANGUAGE_CLASS = re.compile(
    r"(?:^|\s)(?:(?:language|lang|highlight-source|highlight)-|sourceCode |code (?=\S+ literal-block))"
    r"(?P<language>[A-Za-z][\w+#.-]*)"
)

NO_LANGUAGE = frozenset({"default", "none", "text", "txt", "plain", "plaintext", "nohighlight"})


def language_of(pre: Tag) -> str:
    """Returns the language of a block of code, as its classes or attributes name it; empty if none does."""
    inner = pre.find("code")
    around = [inner if isinstance(inner, Tag) else pre, pre]
    while len(around) < MOST_WRAPPERS + 2 and around[-1].parent is not None:
        around.append(around[-1].parent)
    for tag in around:
        named = LANGUAGE_CLASS.search(attribute(tag, "class"))
        language = (
            attribute(tag, "data-lang") or attribute(tag, "data-language") or (named["language"] if named else "")
        )
        if language:
            return "" if language.lower() in NO_LANGUAGE or not language.isprintable() else language.lower()
    return ""


HEADINGS = {f"h{rank}": rank for rank in range(1, 7)}

# Not part of the text, or rendered by the browser in another way. A head is read: without a body tag, the parser leaves
# `main` in it.
SKIPPED = OPAQUE | {"title", "nav", "rp", "rt", "dialog", "menu", "option", "annotation", "annotation-xml"}

# All other elements without an attribute are text.
LOOKED_AT = SKIPPED | MATHEMATICS

MOST_TABS = 40

HIDING = frozenset({"hidden", "aria-hidden", "style", "class"})
HIDING_STYLE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE)


class Step(NamedTuple):
    """`tag` opens, closes, or contains `text`."""

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
                if not child.attrs and child.name not in LOOKED_AT:
                    yield Step("open", child)
                    path.append((child, iter(child.contents)))
                    break
                instead = rendered_tex(child)
                if instead is not None:
                    yield Step("text", parent, instead)
                elif not is_hidden(child):
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


def is_tab(tag: Tag) -> bool:
    """Returns whether an element is a panel of tabs: a click shows it in the place of the panel beside it."""
    if attribute(tag, "role") != "tabpanel" or tag.parent is None:
        return False
    beside = (panel for panel in islice(tag.parent.children, MOST_TABS) if isinstance(panel, Tag))
    return any(attribute(panel, "role") == "tabpanel" and "hidden" not in panel.attrs for panel in beside)


def is_hidden(tag: Tag) -> bool:
    """Returns whether the text of an element is hidden by its tag, an attribute or a style, or is a number of a line.

    Hidden text must never reach an agent, since a person cannot see it on the page.
    """
    if tag.name in SKIPPED:
        return True
    if HIDING.isdisjoint(tag.attrs):
        return False
    return (
        ("hidden" in tag.attrs and attribute(tag, "hidden").lower() != "until-found" and not is_tab(tag))
        or attribute(tag, "aria-hidden").lower() == "true"
        or HIDING_STYLE.search(attribute(tag, "style")) is not None
        or ("class" in tag.attrs and not ADDED.isdisjoint(classes(tag)))
    )
