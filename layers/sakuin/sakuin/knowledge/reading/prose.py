"""Plain text of explanations: a line for each block, nothing between inline elements, code as it is."""

import re
from itertools import islice

from bs4 import Tag

from sakuin.knowledge.reading.names import PICTOGRAPH
from sakuin.knowledge.reading.tree import steps
from sakuin.language.tex import readable_tex
from sakuin.language.unicode_text import INVISIBLE, visible
from sakuin.retrieval.fenced_code import fenced

INLINE_TEXT = frozenset(
    {"a", "abbr", "acronym", "b", "bdi", "bdo", "big", "button"}
    | {"cite", "code", "data", "del", "dfn", "em", "font"}
    | {"i", "ins", "kbd", "label", "mark", "meter", "output"}
    | {"progress", "q", "rb", "rtc", "ruby", "s", "samp"}
    | {"small", "span", "strong", "sub", "sup", "time", "tt"}
    | {"u", "var", "wbr", "input", "img", "math", "picture"}
    | {"source", "svg", "td", "th"}
)

# Marks between pieces of text. `INVISIBLE` removes control characters from the text of the page.
BREAK, CELL = "\x1e", "\x1f"

# What makes code look like TeX, as characters that no text has (noncharacters of Unicode).
NOT_TEX = {ord("\\"): "\ufdd0", ord("$"): "\ufdd1"}
AS_WRITTEN = {0xFDD0: "\\", 0xFDD1: "$"}

SPACE = "\t\r\n\f\v\u00a0\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"

# Not a single space, which stays.
SPACES = re.compile(f"[ {SPACE}](?:[ {SPACE}]+|(?<! ))")

WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff01-\uff60\U00020000-\U0003ffff]")

# Possessive, so that a page of only pictographs does not cause backtracking.
DECORATION = re.compile(rf"^(?:{PICTOGRAPH.pattern}\s*+)++", re.MULTILINE)

AFTER_DECORATION = re.compile(r"[\w「『（(\\]")

ORDINAL = re.compile(r"^(?:st|nd|rd|th|er|e|ère|ème|TM|®)$")

MOST_PARTS = 40  # of a superscript; more are a tag that was not closed


class Prose:
    """The growing text of one explanation."""

    def __init__(self) -> None:
        self._blocks: list[str] = []
        self._pieces: list[str] = []
        self._lead = ""
        self._language: str | None = None  # of the code that is being read

    def add(self, text: str, *, is_code: bool = False) -> None:
        """Adds text of the page, with the white space of the source. In code, `\\d` and `$x$` are no TeX."""
        text = INVISIBLE.sub("", text.replace("\r\n", "\n"))
        if self._lead and text.strip():
            self._pieces.append(BREAK + self._lead)
            self._lead = ""
        if text:
            self._pieces.append(text.translate(NOT_TEX) if is_code and self._language is None else text)

    def add_break(self) -> None:
        """Begins a new line."""
        if self._language is None:
            self._pieces.append(BREAK)
        elif not "".join(self._pieces[-1:]).endswith("\n"):
            self._pieces.append("\n")

    def add_cell(self) -> None:
        """Adds the border between two cells of a row."""
        if self._language is None:
            self._pieces.append(CELL)

    def lead(self, marker: str) -> None:
        """Sets the marker of a list item, which is written before the first text of the item."""
        self._lead = marker

    def begin_code(self, language: str) -> None:
        """Begins a block of code: white space is a part of the text until it ends."""
        self._pieces.append(BREAK + self._lead)
        self._lead = ""
        self._end_block()
        self._language = language

    def end_code(self) -> None:
        """Ends the block of code, if there is one."""
        if self._language is not None:
            self._end_block()

    def text(self) -> str:
        """Returns the plain text: readable TeX, a line for each block, cells joined with " | ", code in fences."""
        self._end_block()
        return "\n".join(self._blocks)

    def _end_block(self) -> None:
        joined, self._pieces = "".join(self._pieces), []
        block = _flowing(joined) if self._language is None else fenced(visible(joined), self._language)
        self._language = None
        if block:
            self._blocks.append(block)


def raised(tag: Tag) -> tuple[str, str]:
    """Returns the marks around a superscript or subscript: x<sup><i>nt</i></sup> is x^{nt}. "th" has none."""
    sign = {"sup": "^", "sub": "_"}.get(tag.name, "")
    inside = list(islice(steps(tag), MOST_PARTS)) if sign else []
    text = "".join(step.text for step in inside).strip()
    is_note = any(step.tag.name == "a" for step in inside)
    if not text or len(inside) == MOST_PARTS or is_note or ORDINAL.match(text):
        return "", ""
    return (sign, "") if len(text) == 1 else (sign + "{", "}")


def _flowing(joined: str) -> str:
    flowing = SPACES.sub(lambda run: _space(run, joined), joined)
    lines = [_row(line) for line in flowing.split(BREAK)]
    plain = readable_tex(visible("\n".join(line for line in lines if line)))
    return DECORATION.sub(lambda found: _decoration(found, plain), plain).translate(AS_WRITTEN)


def _space(run: re.Match[str], text: str) -> str:
    """Returns a space, or nothing for a line break in the source between two wide characters."""
    before, after = text[run.start() - 1 : run.start()], text[run.end() : run.end() + 1]
    wraps = "\n" in run[0] and WIDE.match(before) and WIDE.match(after)
    return "" if wraps else " "


def _decoration(found: re.Match[str], text: str) -> str:
    """Returns what remains of pictographs at the beginning of a line: nothing before words, all of them elsewhere."""
    if AFTER_DECORATION.match(text, found.end()):
        return ""
    # ❶ is a pictograph and a number; only the pictographs before it are decoration.
    numbered = max((place for place, sign in enumerate(found[0]) if sign.isalnum()), default=0)
    return found[0][numbered:]


def _row(line: str) -> str:
    if CELL not in line:
        return line.strip()
    cells = [cell.strip() for cell in line.split(CELL)]
    return " | ".join(cells) if any(cells) else ""
