"""Plain text of explanations: a line for each block, nothing between inline elements, code as it is."""

import re
from itertools import islice

from bs4 import Tag

from sakuin.knowledge.markdown import ALL_MARKS, BORDER, LINE, MARKS, SPANNED, fenced, markdown
from sakuin.knowledge.reading.names import PICTOGRAPH
from sakuin.knowledge.reading.tree import steps
from sakuin.language.tex import readable_tex
from sakuin.language.unicode_text import INVISIBLE, nfc, visible

INLINE_TEXT = frozenset(
    {"a", "abbr", "acronym", "b", "bdi", "bdo", "big", "button"}
    | {"cite", "code", "data", "del", "dfn", "em", "font"}
    | {"i", "ins", "kbd", "label", "mark", "meter", "output"}
    | {"progress", "q", "rb", "rtc", "ruby", "s", "samp"}
    | {"small", "span", "strong", "sub", "sup", "time", "tt"}
    | {"u", "var", "wbr", "input", "img", "math", "picture"}
    | {"source", "svg", "td", "th"}
)

# Marks between pieces of text, and what makes code look like TeX, as characters that no text has (control characters
# and noncharacters of Unicode).
BREAK = "\x1e"
NO_TEXT = re.compile(INVISIBLE.pattern[:-1] + "\ufdd0-\ufdef]")
AS_WRITTEN = {"\ufdd0": "\\", "\ufdd1": "$", "\ufdd2": "{", "\ufdd3": "}"}
NOT_TEX = {ord(sign): instead for instead, sign in AS_WRITTEN.items()}

SPACE = "\t\r\n\f\v\u00a0\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"

# Not a single space, which stays.
SPACES = re.compile(f"[ {SPACE}](?:[ {SPACE}]+|(?<! ))")

WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff01-\uff60\U00020000-\U0003ffff]")

# Possessive, so that a page of only pictographs does not cause backtracking.
DECORATION = re.compile(rf"^[{LINE}{MARKS}]*(?P<signs>(?:{PICTOGRAPH.pattern}\s*+)++)", re.MULTILINE)

AFTER_DECORATION = re.compile(r"[\w「『（(\\]")

RAISED = {"sup": "^", "sub": "_"}

ORDINAL = re.compile(r"^(?:st|nd|rd|th|er|e|ère|ème|TM|®)$")

MOST_PARTS = 40  # of a superscript; more are a tag that was not closed


class Prose:
    """The growing text of one explanation. `depth` elements with marks were open before it: its lines lack those."""

    def __init__(self) -> None:
        self.depth = 0
        self._blocks: list[str] = []
        self._pieces: list[str] = []
        self._lead = ""
        self._language: str | None = None  # of the code that is being read

    def add(self, text: str, *, is_code: bool = False) -> None:
        """Adds text of the page, with the white space of the source. In code, `\\d` and `$x$` are no TeX."""
        text = NO_TEXT.sub("", text.replace("\r\n", "\n"))
        if text.strip():
            self._begin_line()
        if text:
            self._pieces.append(text.translate(NOT_TEX) if is_code and self._language is None else text)

    def add_break(self, marks: str = "") -> None:
        """Begins a new line with some marks."""
        if self._language is None:
            self._pieces.append(BREAK + marks)
        elif not "".join(self._pieces[-1:]).endswith("\n"):
            self._pieces.append("\n")

    def add_mark(self, mark: str) -> None:
        """Adds marks inside a row."""
        if self._language is None:
            self._begin_line()
            self._pieces.append(mark)

    def lead(self, marker: str) -> None:
        """Sets what a list item or a row begins with, which is written before its first text."""
        self._lead = marker

    def _begin_line(self) -> None:
        if self._lead:
            self._pieces.append(BREAK + self._lead)
            self._lead = ""

    def begin_code(self, language: str) -> None:
        """Begins a block of code: white space is a part of the text until it ends. A row that it breaks is none."""
        before, mark, line = "".join(self._pieces).rpartition(BREAK)
        self._pieces = [before, mark, line.lstrip(MARKS) if BORDER in line else line, BREAK + self._lead]
        self._lead = ""
        self._end_block()
        self._language = language

    def end_code(self) -> None:
        """Ends the block of code, if there is one."""
        if self._language is not None:
            self._end_block()

    def text(self) -> str:
        """Returns the text as Markdown: lines of blocks, lists, tables, quotations, fenced code, and readable TeX."""
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
    sign = RAISED.get(tag.name)
    if sign is None:
        return "", ""
    inside = list(islice(steps(tag), MOST_PARTS))
    text = "".join(step.text for step in inside).strip()
    is_note = any(step.tag.name == "a" for step in inside)
    if not text or len(inside) == MOST_PARTS or is_note or ORDINAL.match(text):
        return "", ""
    return (sign, "") if len(text) == 1 else (sign + "{", "}")


def _flowing(joined: str) -> str:
    flowing = SPACES.sub(lambda run: _space(run, joined), joined)
    is_marked = any(map(flowing.__contains__, ALL_MARKS))
    lines = filter(None, map(_line, flowing.split(BREAK)))
    plain = readable_tex(nfc((f"\n{LINE}" if is_marked else "\n").join(lines)))
    plain = DECORATION.sub(lambda found: _decoration(found, plain), plain)
    written = markdown(plain) if is_marked else plain
    # `str.translate` looks at every character.
    for sign, meant in AS_WRITTEN.items():
        written = written.replace(sign, meant)
    return written


def _space(run: re.Match[str], text: str) -> str:
    """Returns a space, or nothing for a line break in the source between two wide characters."""
    before, after = text[run.start() - 1 : run.start()], text[run.end() : run.end() + 1]
    wraps = "\n" in run[0] and WIDE.match(before) and WIDE.match(after)
    return "" if wraps else " "


def _decoration(found: re.Match[str], text: str) -> str:
    """Returns what remains of pictographs at the beginning of a line: nothing before words, all of them elsewhere."""
    signs = found["signs"]
    if AFTER_DECORATION.match(text, found.end()):
        return found[0].removesuffix(signs)
    # ❶ is a pictograph and a number; only the pictographs before it are decoration.
    numbered = max((place for place, sign in enumerate(signs) if sign.isalnum()), default=0)
    return found[0].removesuffix(signs) + signs[numbered:]


def _line(line: str) -> str:
    """Returns a line after its marks, empty without text."""
    line = line.strip()
    if line[:1] not in MARKS and BORDER not in line:
        return line
    text = line.lstrip(MARKS)
    if not text.strip(f"{BORDER}{SPANNED} "):
        return ""
    return line.removesuffix(text) + f" {BORDER} ".join(cell.strip() for cell in text.split(BORDER)).strip()
