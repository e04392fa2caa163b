"""Code in pages: its language, and what highlighters add to its lines."""

import re

from bs4 import Tag

from sakuin.knowledge.reading.parsing import attribute

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
