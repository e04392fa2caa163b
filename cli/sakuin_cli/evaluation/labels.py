"""Labelled questions: questions with the ids of their right answers."""

import json
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

Half = Literal["dev", "held-out"]

UNNAMED = "other"
_HALVES = ("dev", "held-out")


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question with its right answers; a question without any should be refused."""

    line: int
    query: str
    gold: tuple[str, ...]
    category: str = UNNAMED
    half: Half | None = None


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is no labelled question, with the reason."""

    line: int
    reason: str


def labelled_questions(text: str) -> tuple[list[LabelledQuestion], list[BadLine]]:
    """Parses a JSON Lines file into questions and bad lines, numbered from 1; skips blank lines."""
    questions: list[LabelledQuestion] = []
    bad: list[BadLine] = []
    first: dict[str, int] = {}
    for number, line in _lines(text):
        found = _question(number, line)
        if isinstance(found, LabelledQuestion) and (before := first.setdefault(found.query, number)) != number:
            found = BadLine(number, f"the question is already in line {before}")
        if isinstance(found, LabelledQuestion):
            questions.append(found)
        else:
            bad.append(found)
    return questions, bad


def _lines(text: str) -> Iterator[tuple[int, str]]:
    # Not splitlines(): a JSON string may contain U+2028.
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if line.strip():
            yield number, line


def _question(number: int, line: str) -> LabelledQuestion | BadLine:
    try:
        item = json.loads(line)
    except ValueError as error:
        return BadLine(number, f"no JSON: {error}")
    if reason := _wrong(item):
        return BadLine(number, reason)
    # Ids of the index are NFC.
    gold = (unicodedata.normalize("NFC", id) for id in item["gold"])
    return LabelledQuestion(
        number, item["query"], tuple(dict.fromkeys(gold)), item.get("category", UNNAMED), item.get("half")
    )


def _wrong(item: Any) -> str | None:
    """Returns what is wrong with a line's JSON; None if nothing is."""
    if not isinstance(item, dict):
        return 'no object: write {"query": "…", "gold": ["…"], "category": "…"}'
    query, gold = item.get("query"), item.get("gold")
    if not isinstance(query, str) or not query.strip():
        return '"query" must be a text that is not blank'
    if not isinstance(gold, list) or not all(isinstance(id, str) for id in gold):
        return '"gold" must be a list of ids; [] for a question that the index has no answer to'
    category = item.get("category", UNNAMED)
    if not isinstance(category, str) or not category.strip():
        return '"category" must be a text'
    if item.get("half") not in (None, *_HALVES):
        return f'"half" must be one of {", ".join(_HALVES)}'
    return None
