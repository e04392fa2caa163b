"""Golden questions: a file of questions, most with the ids of their answers."""

import csv
import io
import json
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sakuin.errors import Invalid

from sakuin_cli.files import read_bytes, read_text

UNNAMED = "other"
# The member of an object or the column of a CSV file that has the question: the first of these that is there.
FIELDS = ("query", "question", "problem", "exercise", "問題", "text")
# The elements of a page that are exercises: the first kind that it has.
_EXERCISES = (".exercise, .problem, [data-type=exercise], [data-type=problem]", "ol > li", "li")


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the ids of its answers. `line` is its number in the file.

    `gold` is None if the file names no answer: any good match will do. It is empty if nothing answers the question.
    """

    line: int
    query: str
    gold: tuple[str, ...] | None = None
    category: str = UNNAMED


@dataclass(frozen=True, slots=True)
class BadLine:
    """A part of a file that is no question, with the reason."""

    line: int
    reason: str


def questions_in(file: Path) -> tuple[list[Question], list[BadLine]]:
    """Returns the questions of a file and what is none, both numbered from 1; raises `Invalid` without a question.

    JSON Lines and JSON have texts, or objects as `{"query", "gold", "category"}`; CSV has columns of these names, the
    ids of a cell in lines of their own. A page has a list of exercises; any other file has a question in each line.
    """
    questions, bad = _checked(_items(file))
    if not questions:
        first = f": line {bad[0].line}, {bad[0].reason}" if bad else ""
        raise Invalid(f"{file} has no question{first}")
    return questions, bad


def _items(file: Path) -> Iterator[tuple[int, Any]]:
    suffix = file.suffix.lower()
    if suffix in (".html", ".htm"):
        return enumerate(_exercises(read_bytes(file.as_posix())), 1)
    if suffix == ".csv":
        return enumerate(_rows(read_text(file)), 2)
    if suffix == ".json":
        return enumerate(_list_of(read_text(file)), 1)
    return _lines(read_text(file))


def _checked(items: Iterator[tuple[int, Any]]) -> tuple[list[Question], list[BadLine]]:
    questions: list[Question] = []
    bad: list[BadLine] = []
    lines: dict[str, int] = {}
    for line, item in items:
        question = item if isinstance(item, BadLine) else _question(line, item)
        if isinstance(question, Question) and (before := lines.setdefault(question.query, line)) != line:
            question = BadLine(line, f"the question is already in line {before}")
        if isinstance(question, Question):
            questions.append(question)
        else:
            bad.append(question)
    return questions, bad


def _question(line: int, item: Any) -> Question | BadLine:
    members = {"query": item} if isinstance(item, str) else item
    if not isinstance(members, dict):
        return BadLine(line, 'neither a text nor an object: write {"query": "…", "gold": ["…"]}')
    query = next((members[name] for name in FIELDS if name in members), None)
    if not isinstance(query, str) or not query.strip():
        return BadLine(line, f'"query" must be a text that is not blank (or one of {", ".join(FIELDS[1:])})')
    gold, category = members.get("gold"), members.get("category") or UNNAMED
    if gold is not None and not (isinstance(gold, list) and all(isinstance(id, str) for id in gold)):
        return BadLine(line, '"gold" must be a list of ids; [] for a question that the index has no answer to')
    if not isinstance(category, str):
        return BadLine(line, '"category" must be a text')
    # Ids are NFC in the index; an editor may save another form.
    ids = None if gold is None else tuple(dict.fromkeys(unicodedata.normalize("NFC", id) for id in gold))
    return Question(line, query.strip(), ids, category)


def _lines(text: str) -> Iterator[tuple[int, Any]]:
    # Not splitlines(): U+2028 may occur inside a JSON string.
    lines = [(number, line.strip()) for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1)]
    written = [(number, line) for number, line in lines if line]
    is_json = bool(written) and written[0][1].startswith(("{", "["))
    return ((number, _json(number, line) if is_json else line) for number, line in written)


def _json(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        return BadLine(number, f"not JSON: {error}")


def _list_of(text: str) -> list[Any]:
    """Returns the list of a JSON document, or the first list among the members of its object."""
    document = _json(1, text.removeprefix("\ufeff"))
    members = document.values() if isinstance(document, dict) else (document,)
    return next((list(each) for each in members if isinstance(each, list)), [document])


def _rows(text: str) -> Iterator[dict[str, Any]]:
    for row in csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))):
        gold = (row.get("gold") or "").split("\n")
        ids = [id.strip() for id in gold if id.strip()]
        yield {name: text for name, text in row.items() if name != "gold"} | ({"gold": ids} if ids else {})


def _exercises(body: bytes) -> list[str]:
    """Returns the texts of a list of exercises."""
    from sakuin.knowledge.reading.decoding import html_text
    from sakuin.knowledge.reading.parsing import parsed
    from sakuin.knowledge.reading.tree import steps

    root, _, _ = parsed(html_text(body))
    shown = {id(step.tag) for step in steps(root) if step.kind == "open"}
    for selector in _EXERCISES:
        tags = [tag for tag in root.select(selector) if id(tag) in shown]
        inner = {id(below) for tag in tags for below in tag.find_all(True)}
        # The parts of an exercise belong to it.
        if outer := [tag for tag in tags if id(tag) not in inner]:
            return [tag.get_text(" ", strip=True) for tag in outer]
    return []
