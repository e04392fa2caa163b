"""The types of admonitions: the boxes that site generators make for notes, tips, warnings and examples."""

import re
from functools import lru_cache

from bs4 import Tag

from sakuin.knowledge.page import ChunkType
from sakuin.knowledge.reading.parsing import attribute, written_names
from sakuin.knowledge.reading.rules import names

CONTAINERS = names("admonitions_containers")

BOX_TAGS = frozenset({"div", "aside", "section", "details", "blockquote", "p"})

# "theme-admonition-tip", "alert--success", "notice--info" (Minimal Mistakes), "prompt-tip" (Chirpy), "tip-box".
PREFIX = re.compile(
    r"^(?:theme-admonition|admonition|markdown-alert|starlight-aside|callout|blockquote-tag|alert|notice|prompt)--?(?=[a-z])"
)
SUFFIX = re.compile(r"[-_]?(?:box|block)$")

TYPE_OF_KIND: dict[str, ChunkType] = {
    **dict.fromkeys(("tip", "hint"), "tip"),
    **dict.fromkeys(("example", "examples"), "example"),
    **dict.fromkeys(("definition", "def"), "definition"),
    "method": "method",
}

# Admonitions by their class alone; "info" and "success" mean other things elsewhere.
ALONE = frozenset({"note", "tip", "hint", "important", "warning", "caution", "danger", "attention", "example"})
# With a prefix or a suffix.
AFFIXED = ALONE | TYPE_OF_KIND.keys() | {"info", "success", "error", "question", "theorem", "rule", "formula"}
# `<details class="info">` of MkDocs.
OF_DETAILS = AFFIXED | {"abstract", "summary", "todo", "failure", "bug", "quote", "faq", "help", "check", "seealso"}

TRANSLATED = names("admonitions_translated")


def admonition_type(tag: Tag) -> ChunkType | None:
    """Returns the type of an admonition, None if `tag` is none. What is no tip, example or the like is a rule."""
    if tag.name not in BOX_TAGS or "class" not in tag.attrs:
        return None
    kinds = {name: _kind(name) for name in written_names(tag).lower().split()}
    is_admonition = (
        not CONTAINERS.isdisjoint(kinds)
        or not ALONE.isdisjoint(kinds)
        or (tag.name == "details" and not OF_DETAILS.isdisjoint(kinds))
        or any(name != kind and kind in AFFIXED for name, kind in kinds.items())
    )
    if not is_admonition:
        return None
    return next((chunk_type for kind, chunk_type in TYPE_OF_KIND.items() if kind in kinds.values()), "rule")


def is_kind(title: str, tag: Tag) -> bool:
    """Returns whether a title only repeats the kind of its admonition, such as "Warning"."""
    label = "".join(title.casefold().split())
    kinds = OF_DETAILS | TRANSLATED | set(map(_kind, attribute(tag, "class").lower().split()))
    return not kinds.isdisjoint((label, label.removesuffix("s")))


@lru_cache(maxsize=4096)
def _kind(name: str) -> str:
    return SUFFIX.sub("", PREFIX.sub("", name))
