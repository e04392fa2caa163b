"""What the titles of a library say: a first question about it, and a description of it for agents."""

import re
from collections.abc import Iterable, Sequence

_DESCRIPTION_BYTES = 400
# A title that tells what to do: "Restore a file".
_TASK = re.compile(
    r"(?:how to )?((?:add|build|change|choose|configure|connect|create|delete|deploy|export|find|import|install|make"
    r"|move|read|remove|report|restore|run|send|set|start|stop|take|test|update|upgrade|use|write)\s.+)",
    re.IGNORECASE,
)


def question_about(titles: Iterable[str], language: str) -> str:
    """Returns a question about one of the titles of sections, in the language of the page; empty without a title.

    A title that tells what to do comes first, then one of a few words.
    """
    title = min(titles, key=_rank, default="")
    if language == "ja":
        return f"{title}について教えてください" if title else ""
    if language == "en" and (task := _TASK.fullmatch(title)):
        return f"How do I {task[1][0].lower()}{task[1][1:]}?".replace(" your ", " my ")
    return f"{title}: how does it work?" if language == "en" and title else title


def _rank(title: str) -> tuple[bool, bool]:
    """Returns what is lower for a better title; equal ones stay in their order."""
    return not _TASK.fullmatch(title), not 2 <= len(title.split() if title.isascii() else title) <= (
        6 if title.isascii() else 20
    )


def description_from(titles: Sequence[str]) -> str:
    """Returns one line that names as many titles of pages as the API takes."""
    titles = [re.sub(r'["\\\s]+', " ", title).strip() for title in dict.fromkeys(titles)]
    texts = (", ".join(titles[:n]) + f" +{len(titles) - n}" * (n < len(titles)) for n in range(8, 0, -1))
    return next((text for text in texts if len(text.encode()) <= _DESCRIPTION_BYTES), "")
