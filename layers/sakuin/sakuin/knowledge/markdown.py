"""The texts of explanations as Markdown: their structure, written for those who read a text and left out of what is
embedded and searched, and their blocks of code, the lines between two fences of backticks.

The reader of pages marks lines with characters that no text has (noncharacters of Unicode). A line begins with its
marks: one for each level around it, that of a list marker, that of a row. A line without `LINE` goes on with the line
before it.
"""

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import quote

INDENT, QUOTE, LEAD = "\ufdd2", "\ufdd3", "\ufdd4"
# A row, the first one of a table, and the first one if it is the header.
ROW, FIRST_ROW, HEADER = "\ufdd5", "\ufdd6", "\ufdd7"
# The border between two cells, and a cell that another one extends over.
BORDER, SPANNED = "\ufdd8", "\ufdd9"
MARKS = "".join(map(chr, range(ord(INDENT), ord(HEADER) + 1)))
LINE = "\ufdda"
ALL_MARKS = f"{MARKS}{BORDER}{SPANNED}"

_LINK = re.compile(r"\[((?:[^\[\]\n\\]|\\.)+)\]\(#[^()\s]*\)")
_LINK_ALONE = re.compile(rf"^(?:> | |- |\d+\. |: )*{_LINK.pattern}$", re.MULTILINE)
_ESCAPED = re.compile(r"\\([\[\]\\])")
# A link out of the page. Its address has angle brackets, as an author's own text about Markdown seldom has.
_TEXT = r"(?:[^\[\]\n]|\[[^\[\]\n]*\])++"
_LINK_OUT = re.compile(rf"\[({_TEXT})\]\(<([^<>\s]*)>\)")
_LINK_TEXT = re.compile(_TEXT)

_WRITTEN = {INDENT: " ", QUOTE: "> "}
_MARKER = re.compile(r"- |-?\d+\. |[A-Za-z]{1,15}\. |: ")

# What `markdown` writes before a line.
_PREFIX = re.compile(r"(?:> | )*(?:: |(\\)(?=\\*[>:|] ))?")
_IS_WRITTEN = re.compile(r"^(?:$|[ >|:\\])", re.MULTILINE)
# A line of an author that looks like one of these gets a backslash. (U+FDD0 becomes one.)
_LOOKS_WRITTEN = re.compile(r"^(?=[\\\ufdd0]*[>:|] )", re.MULTILINE)
_ADDED_ROW = re.compile(r"\|(?:  \|)+|\|(?: --- \|)+")
_SPANNED_CELL = re.compile(r"(?<!\S)\| (?=\|(?!\S))")


def markdown(marked: str) -> str:
    """Returns a text with marks as Markdown: rows between pipes below a header, and a blank line after each structure.

    A table without a header has an empty one. A "|" in a cell stays, since a backslash would change a formula.
    """
    written: list[str] = []
    before = ""
    for lines in marked.split(f"\n{LINE}"):
        text = lines.lstrip(MARKS)
        marks = lines.removesuffix(text)
        kind = _kind(marks, text)
        is_new = kind != before or (kind == "row" and marks[-1] != ROW)
        written += [""] if written and is_new and (before or kind == "row") else []
        levels = "".join(_WRITTEN.get(mark, "") for mark in marks)
        if kind == "row":
            rows = _rows(text.replace("\n", " "), is_first=is_new, has_header=marks[-1] == HEADER)
            written += [levels + row for row in rows]
        else:
            text = text.strip("\n").replace(BORDER, "|").replace(SPANNED, "")
            marker = _MARKER.match(text) if LEAD in marks else None
            inside = levels + " " * marker.end() if marker else levels
            first = "-" if marker else ""
            text = _LOOKS_WRITTEN.sub(r"\\", first + text).removeprefix(first)
            written.append(levels + text.replace("\n", f"\n{inside}"))
        before = kind
    return "\n".join(written)


def _kind(marks: str, text: str) -> str:
    if marks[-1:] in (ROW, FIRST_ROW, HEADER) and (BORDER in text or SPANNED in text):
        return "row"
    return "quote" if QUOTE in marks else "list" if INDENT in marks or LEAD in marks else ""


def _rows(text: str, *, is_first: bool, has_header: bool) -> list[str]:
    cells = [cell.strip() for cell in text.split(BORDER)]
    row = "|" + "".join(" |" if cell == SPANNED else f" {cell} |" for cell in cells)
    if not is_first:
        return [row]
    line = "|" + " --- |" * len(cells)
    return [row, line] if has_header else ["|" + "  |" * len(cells), line, row]


def linked(title: str, address: str) -> str:
    """Returns a link to a place of the same page."""
    escaped = re.sub(r"[\[\]\\]", r"\\\g<0>", title)
    return f"[{escaped}]({quote(address, safe='#/:~')})"


def linked_out(text: str, address: str) -> str:
    """Returns a link out of the page; its text alone without an address, or if brackets in the text allow none."""
    return f"[{text}](<{address}>)" if address and _LINK_TEXT.fullmatch(text) else text


def with_addresses(text: str, shown: Callable[[str], str] = lambda _: "") -> str:
    """Returns a text with the addresses of its links out of the page as `shown`; a link without one is its text."""
    if "](<" not in text:
        return text
    lines = text.split("\n")
    begin = 0
    for opened, closed in (*_blocks(text, lines), (len(lines), 0)):
        for place in range(begin, opened):
            lines[place] = _LINK_OUT.sub(lambda link: linked_out(link[1], shown(link[2])), lines[place])
        begin = closed + 1
    return "\n".join(lines)


def before_link(text: str, length: int) -> int:
    """Returns a length that cuts no link out of the page: up to its beginning, unless nothing is before it."""
    begin = text.rfind("\n", 0, length) + 1
    links = _LINK_OUT.finditer(text, begin) if text.find("](<", begin) >= 0 else iter(())
    cut = next((link for link in links if link.end() > length), None)
    return cut.start() if cut and 0 < cut.start() < length else length


def plain_text(text: str) -> str:
    """Returns a text without what `markdown` wrote around its lines. Code, and the markers of lists, stay.

    A link alone on its line stands for another explanation, which has its words.
    """
    text = with_addresses(text)
    return outside_code(text, _plain) if "](#" in text or _IS_WRITTEN.search(text) else text


def _plain(text: str) -> str:
    if "](#" in text:
        text = _LINK.sub(lambda link: _ESCAPED.sub(r"\1", link[1]), _LINK_ALONE.sub("", text))
    return "\n".join(filter(None, map(_plain_line, text.split("\n"))))


def _plain_line(line: str) -> str:
    prefix = _PREFIX.match(line)
    line = line[prefix.end() :] if prefix else line
    if (prefix and prefix[1]) or not line.startswith("| ") or not line.endswith("|"):
        return line
    if _ADDED_ROW.fullmatch(line):
        return ""
    return " ".join(_SPANNED_CELL.sub("", line)[1:-1].split())


OPENING = re.compile(r"(`{3,})[^`]*")
# Where a text was cut.
UNCLOSED = re.compile(r"^`{3,}[^`\n]*\n.*", re.DOTALL | re.MULTILINE)

BACKTICKS = re.compile("`{3,}")


def fenced(code: str, language: str = "") -> str:
    """Returns a block of code, empty if it has no text. The fence is longer than any run of backticks in the code."""
    code = code.strip("\n")
    if not code.strip():
        return ""
    longest = max(map(len, BACKTICKS.findall(code)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{code}\n{fence}"


def parts(text: str) -> Iterator[tuple[bool, str]]:
    """Yields the parts of a text in order: whether it is code, and its lines without fences. Takes linear time."""
    lines = text.split("\n")
    begin = 0
    for opened, closed in _blocks(text, lines):
        yield False, "\n".join(lines[begin:opened])
        yield True, "\n".join(lines[opened + 1 : closed])
        begin = closed + 1
    yield False, "\n".join(lines[begin:])


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Returns a text with its lines outside code changed. A part that becomes empty goes."""
    lines = text.split("\n")
    changed: list[str] = []
    begin = 0
    for opened, closed in _blocks(text, lines):
        changed += [*filter(None, [change("\n".join(lines[begin:opened]))]), *lines[opened : closed + 1]]
        begin = closed + 1
    return "\n".join([*changed, *filter(None, [change("\n".join(lines[begin:]))])])


def _blocks(text: str, lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yields the lines of the fences of each block of code."""
    if "```" not in text:
        return
    fences: defaultdict[str, list[int]] = defaultdict(list)
    for place, line in enumerate(lines):
        if line.startswith("```"):
            fences[line].append(place)
    place = 0
    while place < len(lines):
        opened = OPENING.fullmatch(lines[place])
        closings = fences.get(opened[1], []) if opened else []
        if (number := bisect(closings, place)) < len(closings):
            yield place, closings[number]
            place = closings[number]
        place += 1


def open_fence(text: str) -> str:
    """Returns the line that opens the block of code in which a text ends; empty if it ends in none."""
    fence = ""
    for line in text.split("\n"):
        if not fence:
            fence = line if OPENING.fullmatch(line) else ""
        elif line == closing(fence):
            fence = ""
    return fence


def closing(fence: str) -> str:
    """Returns the line that closes a block of code."""
    return "`" * (len(fence) - len(fence.lstrip("`")))


def without_code(text: str) -> str:
    """Returns a text without its blocks of code, also one that was cut in a block."""
    return UNCLOSED.sub("", "\n".join(part for is_code, part in parts(text) if not is_code))
