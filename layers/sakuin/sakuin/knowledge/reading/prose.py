"""Plain text of explanations: a line for each block, nothing between inline elements, code as it is."""

import re
from collections.abc import Sequence

from sakuin.knowledge.markdown import ALL_MARKS, BORDER, LINE, MARKS, SPANNED, fenced, linked_out, markdown
from sakuin.knowledge.reading.inline import ADDRESS_END, GAP, LINK, LINK_END, without_gaps
from sakuin.knowledge.reading.rules import pattern
from sakuin.language.tex import readable_tex
from sakuin.language.unicode_text import INVISIBLE, nfc, visible

# Marks between pieces of text, and what makes code look like TeX, as characters that no text has (control characters
# and noncharacters of Unicode).
BREAK = "\x1e"
NO_TEXT = re.compile(INVISIBLE.pattern[:-1] + "\ufdd0-\ufdef]")
AS_WRITTEN = {"\ufdd0": "\\", "\ufdd1": "$", "\ufdd2": "{", "\ufdd3": "}"}
NOT_TEX = {ord(sign): instead for instead, sign in AS_WRITTEN.items()}

SPACE = "\t\r\n\f\v\u00a0\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
# Not a single space, which stays.
SPACES = re.compile(f"[ {SPACE}](?:[ {SPACE}]+|(?<! ))")
NO_WORDS = f" {BREAK}{GAP}{ALL_MARKS}\t\r\n\f\v\u00a0\u3000"

# The text of a link in one line with its address, and marks that such a text has no other one for.
NOT_LINKED = f"{LINK}{LINK_END}{BREAK}{BORDER}{SPANNED}\ufddb"
LINKED = re.compile(f"{LINK}([^{NOT_LINKED}]*){LINK_END}(\\d+){ADDRESS_END}|{LINK}|{LINK_END}\\d+{ADDRESS_END}")
# Of the text of a link to the address that it names.
SCHEME = re.compile(r"^(?:https?://|mailto:|tel:)(?:www\.)?|/$")
WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff01-\uff60\U00020000-\U0003ffff]")
# Pictographs before words, but ❶, which is a number, too. Possessive, so that a page of them causes no backtracking.
DECORATION = re.compile(
    rf"^([{LINE}{MARKS}]*)(?:(?![❶-➓]){pattern('pictograph').pattern}\s*+)++(?=[\w「『（(\\])", re.MULTILINE
)


class Prose:
    """The growing text of one explanation. `depth` elements with marks were open before it: its lines lack those."""

    def __init__(self, depth: int = 0) -> None:
        self.depth = depth
        self._blocks: list[str] = []
        self._pieces: list[str] = []
        self._lead = ""
        self._opening: list[str] = []
        self._addresses: list[str] = []
        self._is_line_over = False  # in code
        self._joins = False
        self._language: str | None = None  # of the code that is being read

    def add(self, text: str, *, is_code: bool = False) -> None:
        """Adds text of the page, with the white space of the source. In code, `\\d` and `$x$` are no TeX."""
        text = NO_TEXT.sub("", text.replace("\r\n", "\n"))
        if text.strip():
            self._begin_line()
            self._joins = False
            if self._opening and self._language is None:
                self._pieces.append(text[: len(text) - len(text.lstrip())] + "".join(self._opening))
                text, self._opening = text.lstrip(), []
        if text:
            if self._is_line_over and not text.startswith("\n"):
                self._pieces.append("\n")
            self._is_line_over = False
            flowing = text.translate(NOT_TEX) if is_code else text
            self._pieces.append(flowing if self._language is None else text.replace("\u00a0", " "))

    def add_break(self, marks: str = "") -> None:
        """Begins a new line with some marks."""
        if self._joins:
            self._pieces.append(" ")
        elif self._language is None:
            self._pieces.append(BREAK + marks)
        elif not "".join(self._pieces[-1:]).endswith("\n"):
            self._pieces.append("\n")

    def join_next(self) -> None:
        """Keeps the next text on this line, also in a block of its own."""
        self._joins = True

    def end_line(self) -> None:
        """Ends a line of code, unless the source has a line end next."""
        self._is_line_over = self._language is not None and not "".join(self._pieces[-1:]).endswith("\n")

    def add_mark(self, mark: str) -> None:
        """Adds marks inside a row."""
        if self._language is None:
            self._begin_line()
            self._pieces.append(mark)

    def open(self, mark: str) -> None:
        """Sets a mark that is written before the next text; `close` writes the one after the last text."""
        self._opening.append(mark)

    def close(self, mark: str) -> None:
        if self._opening:
            self._opening.pop()
            return
        for place in range(len(self._pieces) - 1, -1, -1):
            text = self._pieces[place].rstrip(NO_WORDS)
            if text:
                self._pieces[place] = text + mark + self._pieces[place][len(text) :]
                return

    def open_link(self, address: str) -> None:
        """Begins the text of a link, which `close_link` ends."""
        self._addresses.append(address)
        self.open(LINK)

    def close_link(self) -> None:
        """Ends the text of the last link. It has its address if it has words, in one line, and is not the address."""
        self.close(f"{LINK_END}{len(self._addresses) - 1}{ADDRESS_END}")

    def lead(self, marker: str) -> None:
        """Sets what a list item or a row begins with, which is written before its first text."""
        self._lead = marker

    def _begin_line(self) -> None:
        if self._lead:
            self._joins = False
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

    def append(self, text: str) -> None:
        """Adds the finished text of another explanation."""
        self._end_block()
        self._blocks.append(text)

    def text(self) -> str:
        """Returns the text as Markdown: lines of blocks, lists, tables, quotations, fenced code, and readable TeX."""
        self._end_block()
        return "\n".join(self._blocks)

    def _end_block(self) -> None:
        joined, self._pieces = "".join(self._pieces), []
        self._is_line_over = False
        block = _flowing(joined, self._addresses) if self._language is None else fenced(visible(joined), self._language)
        self._language = None
        if block:
            self._blocks.append(block)


def _flowing(joined: str, addresses: Sequence[str]) -> str:
    joined = without_gaps(joined)
    if addresses:
        joined = LINKED.sub(lambda link: _linked(link, addresses), joined)
    flowing = SPACES.sub(lambda run: _space(run, joined), joined)
    is_marked = any(map(flowing.__contains__, ALL_MARKS))
    lines = filter(None, map(_line, flowing.split(BREAK)))
    plain = readable_tex(nfc((f"\n{LINE}" if is_marked else "\n").join(lines)))
    plain = DECORATION.sub(r"\1", plain)
    written = markdown(plain)
    # `str.translate` looks at every character.
    for sign, meant in AS_WRITTEN.items():
        written = written.replace(sign, meant)
    return LINKED.sub(lambda link: linked_out(link[1], addresses[int(link[2])]), written) if addresses else written


def _linked(link: re.Match[str], addresses: Sequence[str]) -> str:
    """Returns the text of a link, with marks around its words if it has an address to show."""
    text = link[1] or ""
    words = text.strip()
    if not any(map(str.isalnum, words)) or SCHEME.sub("", words) == SCHEME.sub("", addresses[int(link[2])]):
        return text
    return text.replace(words, f"{LINK}{words}{LINK_END}{link[2]}{ADDRESS_END}", 1)


def _space(run: re.Match[str], text: str) -> str:
    """Returns a space, or nothing for a line break in the source between two wide characters."""
    before, after = text[run.start() - 1 : run.start()], text[run.end() : run.end() + 2].lstrip(LINK)[:1]
    if before == ADDRESS_END:
        end = text.rindex(LINK_END, 0, run.start())
        before = text[end - 1 : end]
    wraps = "\n" in run[0] and WIDE.match(before) and WIDE.match(after)
    return "" if wraps else " "


def _line(line: str) -> str:
    """Returns a line after its marks, empty without text."""
    line = line.strip()
    if line[:1] not in MARKS and BORDER not in line:
        return line
    text = line.lstrip(MARKS)
    if not text.strip(f"{BORDER}{SPANNED} "):
        return ""
    return line.removesuffix(text) + f" {BORDER} ".join(cell.strip() for cell in text.split(BORDER)).strip()
