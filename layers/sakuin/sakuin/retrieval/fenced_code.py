"""Blocks of code in plain text: their lines between two fences of backticks, as in Markdown."""

import re
from collections.abc import Iterator

FENCED = re.compile(r"^(?P<fence>`{3,})[^`\n]*\n(?P<code>.*?\n)??(?P=fence)$", re.DOTALL | re.MULTILINE)

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
    """Yields the parts of a text in order: whether it is code, and its lines without fences."""
    end = 0
    for block in FENCED.finditer(text):
        yield False, text[end : block.start()]
        yield True, (block["code"] or "").removesuffix("\n")
        end = block.end()
    yield False, text[end:]


def without_code(text: str) -> str:
    """Returns a text without its blocks of code."""
    return "".join(part for is_code, part in parts(text) if not is_code)
