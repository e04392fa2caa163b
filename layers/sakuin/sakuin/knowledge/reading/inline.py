"""Inline elements: which are, and the marks around powers, notes, struck-out text and labels that styles set apart."""

import re
from functools import lru_cache
from itertools import islice

from bs4 import Tag
from bs4.element import NavigableString

from sakuin.knowledge.reading.parsing import attribute, written_names
from sakuin.knowledge.reading.rules import names, pattern
from sakuin.knowledge.reading.tree import steps

INLINE_TEXT = names("inline_text")

BLOCKS = names("blocks")

BLOCK_STYLE = re.compile(r"(?:^|;)\s*display\s*:\s*(?:block|flex|grid|table|list-item)\s*(?:;|$|!)", re.IGNORECASE)
STRUCK_STYLE = re.compile(r"text-decoration[\w-]*\s*:[^;]*line-through", re.IGNORECASE)

LINE_CLASS = re.compile(r"(?:^|[\s_-])line(?:$|\s)|[a-z]Line(?:$|\s)")

RAISED = {"sup": "^", "sub": "_"}
RAISED_STYLE = re.compile(r"(?:vertical-align\s*:\s*|(?:^|[\s_-]))(su[pb])(?:er|erscript|script)?(?=\s*(?:$|[\s;!]))")
STRUCK = frozenset({"del", "s", "strike"})

ORDINAL = re.compile(r"^(?:st|nd|rd|th|er|e|ère|ème|TM|®)$")
BRACKETED = re.compile(r"\[.*\]", re.DOTALL)

MOST_PARTS = 40  # of a superscript; more are a tag that was not closed
MOST_WRAPPERS = 3  # around the mark of a note

# The mark of a note, what generators call it, and its address.
NOTE_MARK = re.compile(
    r"(?:(?:note|fn|[注註※])\s*)?(?:\d{1,3}|[a-z]{1,4}|[*†‡§¶#※]{1,4})(?:\s*[,;–-]?\s*(?:\d{1,3}|[a-z]|[*†‡§¶#]))*",
    re.IGNORECASE,
)
LONGEST_MARK = 20  # characters
NOTE_NAME = pattern("note_name", re.IGNORECASE)
NOTE_ADDRESS = re.compile(r"#(?:user-content-)?_?(?:fn|ftn|foot-?note|footnotedef|endnote|note|cite_note)s?[-_:.]*\d")
NAMING = ("class", "role", "epub:type")
NOTE_ATTRIBUTES = (*NAMING, "id")

# Around the text of a link, and after the number of its address.
LINK, LINK_END, ADDRESS_END = "\ufddd", "\ufdde", "\ufddf"

# Between two words where a style sets them apart, and after struck-out text.
GAP = "\x1f"
_GAPS = re.compile(f"(?<=[\\w{ADDRESS_END}]){GAP}+(?={LINK}?\\w)|(?<=~~){GAP}+(?={LINK}?\\d)|{GAP}{GAP}+(?={LINK}?\\w)")

# Class names, the first that matches counts: struck-out text, the type after a parameter of Docutils, notes inside a
# sentence (LaTeXML, Tufte), marks of notes, and what a style sets apart from the words beside it.
CLASS_NAMES = (
    ("struck", re.compile(r"(?:^|\s)(?:line-through|strike|strikethrough|struck|ltx_text_strikethrough)(?=$|\s)")),
    ("type", re.compile(r"(?:^|\s)classifier(?=$|\s)")),
    ("aside", re.compile(r"(?:^|\s)(?:ltx_note_outer|sidenote|marginnote)(?=$|\s)")),
    ("note", NOTE_NAME),
    ("apart", re.compile(r"(?:^|[\s_-])(?:badge|pill|chip|tag|label|lozenge)(?=$|[\s_-])", re.IGNORECASE)),
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


def is_line(tag: Tag) -> bool:
    """Returns whether an element of code is a whole line of it: `<span class="gatsby-highlight-code-line">`."""
    return "class" in tag.attrs and LINE_CLASS.search(attribute(tag, "class")) is not None


def is_struck(tag: Tag) -> bool:
    """Returns whether a text is struck out."""
    if tag.name in STRUCK or not tag.attrs:
        return tag.name in STRUCK
    is_named = _kind(written_names(tag)) == "struck"
    return is_named or STRUCK_STYLE.search(attribute(tag, "style")) is not None


def marks_of(tag: Tag) -> tuple[str, str]:
    """Returns the marks around the text of an inline element, most often none.

    x<sup><i>nt</i></sup> is x^{nt}. "th" has none. The mark of a note stands in brackets.
    """
    name = tag.name
    if name in ("label", "cite"):
        return GAP, GAP
    if name == "span" and (raised := RAISED_STYLE.search(attribute(tag, "style") or attribute(tag, "class"))):
        return _raised(tag, RAISED[raised[1]])
    if name == "span" or (name == "a" and "#" not in attribute(tag, "href")):
        kind = _kind(written_names(tag)) if "class" in tag.attrs else ""
        if kind != "note":
            return SET_APART.get(kind, NOTHING)
    if name in RAISED or name in ("a", "span"):
        if is_note_mark(tag):
            return NOTHING if BRACKETED.fullmatch(_text_of(tag)[0]) else ("[", "]")
        return _raised(tag, RAISED[name]) if name in RAISED else SET_APART.get(_kind(written_names(tag)), NOTHING)
    before = tag.previous_sibling if name == "ins" else None
    return (GAP, "") if isinstance(before, Tag) and is_struck(before) else NOTHING


def is_note_mark(tag: Tag) -> bool:
    """Returns whether an element is the whole mark of a note: `<sup><a href="#fn2">2</a></sup>`."""
    if not _may_be_note(tag):
        return False
    around = tag
    for _ in range(MOST_WRAPPERS):
        if around.parent is None or around.parent.name not in INLINE_TEXT:
            break
        around = around.parent
        if _may_be_note(around):
            return False
    return True


def _may_be_note(tag: Tag) -> bool:
    name = tag.name
    if name not in ("a", "sup", "span"):
        return False
    if name == "sup":
        is_named = any(attribute(tag, one) and NOTE_NAME.search(attribute(tag, one)) for one in NOTE_ATTRIBUTES)
        text, is_linked = _text_of(tag)
        return bool(text) and (is_linked or is_named) and len(text) <= LONGEST_MARK and not ORDINAL.match(text)
    if name == "a":
        address = attribute(tag, "href")
        if "#" not in address:
            return False
        only = tag.contents[0] if len(tag.contents) == 1 else None
        is_raised = isinstance(only, Tag) and only.name == "sup"
        is_named = is_raised or NOTE_ADDRESS.search(address) is not None or _is_named(tag) or _follows_number(tag)
    else:
        is_named = _is_named(tag)
    return is_named and NOTE_MARK.fullmatch(_text_of(tag)[0].strip("[]()")) is not None


def _follows_number(tag: Tag) -> bool:
    before = tag.previous_element if any(map(str.isalnum, tag.get_text())) else None
    if isinstance(before, Tag) and before is tag.parent and before.name in INLINE_TEXT - {"td", "th"}:
        before = before.previous_element
    return isinstance(before, NavigableString) and before[-1:].isdigit()


def without_gaps(text: str) -> str:
    """Returns a text with a space for a gap between two words, and with nothing for any other."""
    return _GAPS.sub(" ", text).replace(GAP, "") if GAP in text else text


def _is_named(tag: Tag) -> bool:
    return any(_kind(written_names(tag, name)) == "note" for name in NAMING if name in tag.attrs)


def _text_of(tag: Tag) -> tuple[str, bool]:
    """Returns the text of a short element and whether it has a link; no text if it is long."""
    inside = list(islice(steps(tag), MOST_PARTS))
    text = "".join(step.text for step in inside).strip()
    return "" if len(inside) == MOST_PARTS else text, any(step.tag.name == "a" for step in inside)


def _raised(tag: Tag, sign: str) -> tuple[str, str]:
    text, is_linked = _text_of(tag)
    if not text or is_linked or _is_in_note(tag) or ORDINAL.match(text) or BRACKETED.fullmatch(text):
        return NOTHING
    return (sign, "") if len(text) == 1 else (sign + "{", "}")


def _is_in_note(tag: Tag) -> bool:
    around = tag.parent
    return around is not None and around.name in ("a", "span", "sup") and _may_be_note(around)


@lru_cache(maxsize=4096)
def _kind(names: str) -> str:
    """Returns what the value of a `class` says about a text; empty for most."""
    return next((kind for kind, pattern in CLASS_NAMES if pattern.search(names)), "")
