"""Pages that no author would write, in any size."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sakuin.knowledge.reading.page_reader import read_page

ANCHOR = '<div id="rule-a">'

Make = Callable[[int], bytes]
# Pieces of input by what they are pieces of.
INPUTS: dict[str, Any] = json.loads(Path(__file__).with_name("inputs.json").read_text("utf-8"))


def page(body: str, *, head: str = "") -> bytes:
    return f"<!DOCTYPE html><html><head><meta charset='utf-8'>{head}</head><body>{body}</body></html>".encode()


def repeated(before: str, piece: str, after: str) -> Make:
    """Makes pages in which `piece` stands so many times."""
    return lambda times: page(before + piece * times + after)


def texts(html: bytes) -> dict[str, str]:
    """The contents of a page by anchor."""
    return {explanation.anchor: explanation.content for explanation in read_page(html).explanations}


def titles(html: bytes) -> dict[str, str]:
    """The names of what a page explains, by anchor."""
    return {explanation.anchor: explanation.title for explanation in read_page(html).explanations}


# What may stand in a page thousands of times, each with a shape of its own that once, or elsewhere, cost the square.
GROWING: dict[str, Make] = {
    **{name: repeated(*pieces) for name, pieces in INPUTS["shapes"].items()},
    "terms": lambda times: page("".join(f"<dl><dt id=t{number}>x<dd>y" for number in range(times))),
    "ids": lambda times: page("".join(f'<p id="x{number}">y' for number in range(times))),
    "comments before the root": lambda times: ("<!-- x -->" * times + "<p id='rule-a'>x").encode(),
    "comments that are never closed": lambda times: ("<!--" * times + "<p id='rule-a'>x").encode(),
    "combining marks in an id": lambda times: page("<p id='rule-" + "\u0323\u0301" * times + "'>x"),
    "texts in an element of many classes": lambda times: page(
        f"<p id='rule-a' class='{'x ' * times * 5}'>" + "text<br>" * times
    ),
    "attributes": lambda times: page("<p id='rule-a' " + " ".join(f"a{n}='1'" for n in range(times)) + ">x"),
    "a title of separators": lambda times: page(ANCHOR, head=f"<title>{' - ' * times}</title>"),
    "brackets after a step": lambda times: page(f"{ANCHOR}<ol><li>代入する{'(a)' * times}</ol>"),
}
