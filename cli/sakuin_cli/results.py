"""How search results look on a terminal, and in a file."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

_BAR = 10
_INDENT = 4


def show_result(out: Console, number: int, result: Mapping[str, Any]) -> None:
    """One result: its name, type and similarity, the link, what is learnt there, an excerpt."""
    similarity = float(result["similarity"])
    out.print(
        Text.assemble(
            (f"{number:>2}  ", "dim"),
            (result["title"], "bold"),
            "  ",
            (result["type"], "magenta"),
            "  ",
            bar(similarity),
        ),
        soft_wrap=True,
    )
    # A link that is cut into lines is no link.
    out.print(Text.assemble(" " * _INDENT, (result["url"], "cyan")), soft_wrap=True)
    for learned in result["learns"]:
        paragraph(out, Text(f"・{learned}"))
    paragraph(out, marked(Text(result["excerpt"], "dim"), result.get("matched", ())))
    out.print()


def show_understood(out: Console, answer: Mapping[str, Any]) -> None:
    """What was searched for, where that is not what was asked, and what the search had to do without."""
    if degraded := answer.get("degraded"):
        out.print(Text(degraded, "bold yellow"), soft_wrap=True)
    if said := answer.get("understood_as"):
        out.print(Text.assemble(("Searched for ", "dim"), f"「{said}」"), soft_wrap=True)
        out.print()


def marked(text: Text, words: Sequence[str]) -> Text:
    """`text` with the words that matched in bold."""
    for word in words:
        text.highlight_regex(f"(?i){re.escape(word)}", "bold")
    return text


def show_nothing(out: Console, answer: Mapping[str, Any]) -> None:
    """That there is no answer, and what may have been meant."""
    out.print(Text.assemble(("No good match", "bold yellow"), f" for 「{answer['query']}」"), soft_wrap=True)
    if suggestions := answer.get("suggestions"):
        out.print(Text(f"もしかして: {' / '.join(suggestions)}"), soft_wrap=True)


def bar(similarity: float) -> Text:
    """A similarity of 0-1 as a small bar and as a number."""
    full = min(_BAR, max(0, round(similarity * _BAR)))
    return Text.assemble(("█" * full, "green"), ("░" * (_BAR - full), "dim"), (f" {similarity:.2f}", "green"))


def paragraph(out: Console, text: Text) -> None:
    """An indented text: folded at a terminal's width, one line in a file."""
    if out.is_terminal:
        out.print(Padding(text, (0, 0, 0, _INDENT)))
    else:
        out.print(Text(" " * _INDENT).append_text(text), soft_wrap=True)
