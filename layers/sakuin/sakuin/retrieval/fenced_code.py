"""Blocks of code in plain text: their lines between two fences of backticks, as in Markdown."""

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterator

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
    if "```" not in text:
        yield False, text
        return
    lines = text.split("\n")
    fences: defaultdict[str, list[int]] = defaultdict(list)
    for place, line in enumerate(lines):
        if line.startswith("```"):
            fences[line].append(place)
    begin = place = 0
    while place < len(lines):
        opened = OPENING.fullmatch(lines[place])
        closings = fences.get(opened[1], []) if opened else []
        if (number := bisect(closings, place)) < len(closings):
            yield False, "\n".join(lines[begin:place])
            yield True, "\n".join(lines[place + 1 : closings[number]])
            place = closings[number]
            begin = place + 1
        place += 1
    yield False, "\n".join(lines[begin:])


def without_code(text: str) -> str:
    """Returns a text without its blocks of code, also one that was cut in a block."""
    return UNCLOSED.sub("", "\n".join(part for is_code, part in parts(text) if not is_code))
