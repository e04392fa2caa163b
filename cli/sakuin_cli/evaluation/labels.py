"""Labelled questions with the ids of their relevant results."""

import json
import unicodedata
from dataclasses import dataclass
from typing import Any, Literal

Half = Literal["dev", "held-out"]

UNNAMED = "other"
_HALVES = ("dev", "held-out")


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question with the ids of its answers; one without ids has no answer and should be refused."""

    line: int
    query: str
    gold: tuple[str, ...]
    category: str = UNNAMED
    half: Half | None = None


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is not a labelled question, with the reason."""

    line: int
    reason: str


def labelled_questions(text: str) -> tuple[list[LabelledQuestion], list[BadLine]]:
    """Parses a JSON Lines file; returns questions and bad lines, numbered from 1. Blank lines are skipped."""
    questions: list[LabelledQuestion] = []
    bad: list[BadLine] = []
    first: dict[str, int] = {}
    # Not splitlines(): U+2028 may occur inside a JSON string.
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if not line.strip():
            continue
        found = _question(number, line)
        if isinstance(found, LabelledQuestion) and (before := first.setdefault(found.query, number)) != number:
            found = BadLine(number, f"the question is already in line {before}")
        if isinstance(found, LabelledQuestion):
            questions.append(found)
        else:
            bad.append(found)
    return questions, bad


def opened_by(text: str) -> set[str]:
    """Returns the ids that are answers of a question in such a file; bad lines are left out."""
    return {id for question in labelled_questions(text)[0] for id in question.gold}


def _question(number: int, line: str) -> LabelledQuestion | BadLine:
    try:
        item = json.loads(line)
    except ValueError as error:
        return BadLine(number, f"not JSON: {error}")
    if reason := _wrong(item):
        return BadLine(number, reason)
    # Ids are NFC in the index; an editor may save another form.
    gold = (unicodedata.normalize("NFC", id) for id in item["gold"])
    return LabelledQuestion(
        number, item["query"], tuple(dict.fromkeys(gold)), item.get("category", UNNAMED), item.get("half")
    )


def _wrong(item: Any) -> str | None:
    """Returns what is wrong with the JSON of a line, None if nothing."""
    if not isinstance(item, dict):
        return 'not an object: write {"query": "…", "gold": ["…"], "category": "…"}'
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
