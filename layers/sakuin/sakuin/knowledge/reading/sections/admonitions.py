"""The types of admonitions: the boxes that site generators make for notes, tips, warnings and examples."""

from functools import lru_cache
from typing import cast

from bs4 import Tag
from bs4.element import PageElement

from sakuin.knowledge.page import ChunkType
from sakuin.knowledge.reading.parsing import attribute, written_names
from sakuin.knowledge.reading.rules import names, pattern, table

BOX_TAGS = frozenset({"div", "aside", "section", "details", "blockquote", "p"})
CONTAINERS, AFFIX = names("admonitions_containers"), pattern("admonition_affix")
TYPE_OF_KIND = table("admonition_types")
ALONE, TRANSLATED = names("admonitions_alone"), names("admonitions_translated")
AFFIXED = ALONE | names("admonitions_affixed")
OF_DETAILS = AFFIXED | names("admonitions_of_details")


def admonition_type(tag: Tag) -> ChunkType | None:
    """Returns the type of an admonition, None if `tag` is none. What is no tip, example or the like is a rule."""
    if tag.name not in BOX_TAGS or "class" not in tag.attrs or all(map(_is_code, tag.contents)):
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
    return next((cast(ChunkType, each) for kind, each in TYPE_OF_KIND.items() if kind in kinds.values()), "rule")


def _is_code(part: PageElement) -> bool:
    """Returns whether a part is code: Texinfo's `example` of nothing else stands in the middle of a sentence."""
    return part.name == "pre" if isinstance(part, Tag) else not str(part).strip()


def is_kind(title: str, tag: Tag) -> bool:
    """Returns whether a title only repeats the kind of its admonition, such as "Warning"."""
    label = "".join(title.casefold().split())
    kinds = OF_DETAILS | TRANSLATED | set(map(_kind, attribute(tag, "class").lower().split()))
    return not kinds.isdisjoint((label, label.removesuffix("s")))


@lru_cache(maxsize=4096)
def _kind(name: str) -> str:
    return AFFIX.sub("", name)
