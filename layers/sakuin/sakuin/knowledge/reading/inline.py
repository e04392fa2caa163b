"""Inline elements: which are, and the marks around powers, notes, struck-out text and labels that styles set apart."""

import re
from functools import lru_cache
from itertools import islice

from bs4 import Tag
from bs4.element import NavigableString

from sakuin.knowledge.reading.parsing import attribute, written_names
from sakuin.knowledge.reading.rules import names, pattern
from sakuin.knowledge.reading.tree import steps

INLINE_TEXT, BLOCKS = names("inline_text"), names("blocks")
BLOCK_STYLE, STRUCK_STYLE, RAISED_STYLE = pattern("block_style"), pattern("struck_style"), pattern("raised_style")
KINDS = {kind: pattern(f"text_{kind}") for kind in ("struck", "type", "aside", "note", "apart")}
STRUCK = frozenset({"del", "s", "strike"})
RAISED = {"sup": "^", "sub": "_"}
ORDINAL = pattern("ordinal")
BRACKETED = re.compile(r"\[.*\]", re.DOTALL)
NOTE_MARK, NOTE_ADDRESS = pattern("note_mark"), pattern("note_address")
NAMING = ("class", "role", "epub:type")
MOST_PARTS = 40  # of a superscript; more are a tag that was not closed
MOST_WRAPPERS, LONGEST_MARK = 3, 20  # around the mark of a note, and its characters
# Around the text of a link, and after the number of its address.
LINK, LINK_END, ADDRESS_END = "\ufddd", "\ufdde", "\ufddf"
# Between two words where a style sets them apart, and after struck-out text.
GAP = "\x1f"
CODE_EDGE = "\ufde0"  # around code in a title, whose signs belong to the name: panic!, #[test]
_GAPS = re.compile(
    rf"(?<=[\w'’′{ADDRESS_END}{CODE_EDGE}]){GAP}+(?={LINK}?{CODE_EDGE}?[\w\\「『])|(?<=~~){GAP}+(?={LINK}?\d)|{GAP}{GAP}+(?={LINK}?\w)"
)

NOTHING = ("", "")
SET_APART = {"type": (" : ", ""), "aside": (" [", "]"), "apart": (GAP, GAP)}


def is_inline(tag: Tag) -> bool:
    """Returns whether an element is a part of a line. As in browsers, all unknown ones are.

    Custom elements that stand side by side with nothing between them are laid out by a style.
    """
    name = tag.name
    if name in BLOCKS:
        return False
    if name in INLINE_TEXT:
        return "style" not in tag.attrs or name in ("td", "th") or not BLOCK_STYLE.search(attribute(tag, "style"))
    beside = (tag.previous_sibling, tag.next_sibling)
    return not any(isinstance(other, Tag) and other.name == name for other in beside)


def is_struck(tag: Tag) -> bool:
    """Returns whether a text is struck out."""
    if tag.name in STRUCK or not tag.attrs:
        return tag.name in STRUCK
    return _kind(written_names(tag)) == "struck" or STRUCK_STYLE.search(attribute(tag, "style")) is not None


def marks_of(tag: Tag) -> tuple[str, str]:
    """Returns the marks around an inline element, most often none: x^{nt} for x<sup>nt</sup>, [1] for a note."""
    name = tag.name
    if name in ("label", "cite"):
        return GAP, GAP
    if name == "ins":
        before = tag.previous_sibling
        return (GAP, "") if isinstance(before, Tag) and is_struck(before) else NOTHING
    if is_note_mark(tag):
        return NOTHING if BRACKETED.fullmatch(_text_of(tag)[0]) else ("[", "]")
    if name in RAISED:
        return _raised(tag, RAISED[name])
    if name == "span" and (raised := RAISED_STYLE.search(attribute(tag, "style") or attribute(tag, "class"))):
        return _raised(tag, RAISED[raised[1]])
    return SET_APART.get(_kind(written_names(tag)), NOTHING)


def is_note_mark(tag: Tag) -> bool:
    """Returns whether an element is the whole mark of a note: `<sup><a href="#fn2">2</a></sup>`."""
    if not _may_be_note(tag):
        return False
    for around in islice(tag.parents, MOST_WRAPPERS):
        if around.name not in INLINE_TEXT:
            break
        if _may_be_note(around):
            return False
    return True


def _may_be_note(tag: Tag) -> bool:
    name = tag.name
    if name == "sup":
        names = (attribute(tag, name) for name in (*NAMING, "id"))
        text, is_linked = _text_of(tag)
        is_named = is_linked or any(KINDS["note"].search(written) for written in names)
        return bool(text) and is_named and len(text) <= LONGEST_MARK and not ORDINAL.match(text)
    address = attribute(tag, "href")
    if name not in ("a", "span", "fn") or (name == "a" and "#" not in address):
        return False
    is_named = name == "fn" or any(_kind(written_names(tag, naming)) == "note" for naming in NAMING)
    if name == "a":
        only = tag.contents[0] if len(tag.contents) == 1 else None
        is_raised = isinstance(only, Tag) and only.name == "sup"
        is_named = is_named or is_raised or NOTE_ADDRESS.search(address) is not None or _follows_number(tag)
    return is_named and NOTE_MARK.fullmatch(_text_of(tag)[0].strip("[]()")) is not None


def _follows_number(tag: Tag) -> bool:
    before = tag.previous_element if any(map(str.isalnum, tag.get_text())) else None
    if isinstance(before, Tag) and before is tag.parent and before.name in INLINE_TEXT - {"td", "th"}:
        before = before.previous_element
    return isinstance(before, NavigableString) and before[-1:].isdigit()


def without_gaps(text: str) -> str:
    """Returns a text with a space for a gap between two words, and with nothing for any other."""
    return _GAPS.sub(" ", text).replace(GAP, "") if GAP in text else text


def _text_of(tag: Tag) -> tuple[str, bool]:
    """Returns the text of a short element and whether it has a link; no text if it is long."""
    inside = list(islice(steps(tag), MOST_PARTS))
    text = "".join(step.text for step in inside).strip()
    return "" if len(inside) == MOST_PARTS else text, any(step.tag.name == "a" for step in inside)


def _raised(tag: Tag, sign: str) -> tuple[str, str]:
    text, is_linked = _text_of(tag)
    is_in_note = tag.parent is not None and _may_be_note(tag.parent)
    if not text or is_linked or is_in_note or ORDINAL.match(text) or BRACKETED.fullmatch(text):
        return NOTHING
    return (sign, "") if len(text) == 1 else (sign + "{", "}")


@lru_cache(maxsize=4096)
def _kind(names: str) -> str:
    """Returns what the value of a `class` says about a text; empty for most."""
    return next((kind for kind, pattern in KINDS.items() if pattern.search(names)), "") if names else ""
