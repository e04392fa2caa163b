"""Blocks of code in plain text: their lines between two fences of backticks, as in Markdown."""

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

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


def without_code(text: str) -> str:
    """Returns a text without its blocks of code, also one that was cut in a block."""
    return UNCLOSED.sub("", "\n".join(part for is_code, part in parts(text) if not is_code))
