"""The questions of an exam: a JSON document of a Table, or an HTML list of exercises."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bs4 import Tag
from sakuin.errors import Invalid
from sakuin.knowledge.reading.anchors import AnchoredElement
from sakuin.knowledge.reading.decoding import html_text
from sakuin.knowledge.reading.outline import Outline
from sakuin.knowledge.reading.parsing import attribute, parsed
from sakuin.knowledge.reading.tree import steps
from sakuin.tables.document import parsed_table
from sakuin.tables.json_pointer import escaped

from sakuin_cli.files import read_bytes

# Where an object has its question, the first that it has; without any, in its longest text.
FIELDS = ("question", "query", "problem", "exercise", "問題", "text", "content")
# The elements that are exercises, the first kind that a page has.
_EXERCISES = (".exercise, .problem, [data-type=exercise], [data-type=problem]", "ol > li", "li")


@dataclass(frozen=True, slots=True)
class ExamQuestion:
    """A question. `name` is its json_pointer or id; without an id, its number."""

    name: str
    text: str


def exam_questions(file: Path, field: str | None = None) -> list[ExamQuestion]:
    """Returns the questions of an exam. `field` is the member of an object that has its question.

    In JSON each text of a list is a question, and each object of a list that has one. Raises `Invalid` without any.
    """
    if file.suffix == ".json":
        found = list(_of_json(parsed_table(read_bytes(str(file))), field))
    else:
        found = _of_page(read_bytes(str(file)))
    questions = [ExamQuestion(name, text.strip()) for name, text in found if text.strip()]
    if not questions:
        raise Invalid(f"{file} has no question: a JSON document needs a list of texts or objects, a page a list")
    return questions


def _of_json(document: Any, field: str | None) -> Iterator[tuple[str, str]]:
    # Iterative, because a Table may be nested deeper than the stack of Python.
    levels = [("", document, False)]
    while levels:
        pointer, node, is_item = levels.pop()
        if is_item and (text := _text_of(node, field)):
            yield pointer, text
        elif isinstance(node, dict):
            levels += [(f"{pointer}/{escaped(name)}", each, False) for name, each in reversed(node.items())]
        elif isinstance(node, list):
            levels += [(f"{pointer}/{number}", node[number], True) for number in reversed(range(len(node)))]


def _text_of(item: Any, field: str | None) -> str:
    """Returns the question of an item of a list, empty without one."""
    if not isinstance(item, dict):
        return item if isinstance(item, str) and field is None else ""
    texts = {name: text for name, text in item.items() if isinstance(text, str)}
    if field is not None:
        return texts.get(field, "")
    named = (texts[name] for name in FIELDS if name in texts)
    # An object with lists may be a part of the exam.
    has_parts = any(isinstance(each, list) and any(isinstance(one, dict) for one in each) for each in item.values())
    return next(named, "" if has_parts else max(texts.values(), key=len, default=""))


def _of_page(body: bytes) -> list[tuple[str, str]]:
    root, _, _ = parsed(html_text(body))
    page = list(steps(root))
    shown = {id(step.tag) for step in page if step.kind == "open"}
    for selector in _EXERCISES:
        tags = [tag for tag in root.select(selector) if id(tag) in shown]
        inner = {id(below) for tag in tags for below in tag.find_all(True)}
        if outer := [tag for tag in tags if id(tag) not in inner]:
            return _texts(page, outer)
    return []


def _texts(page: list[Any], tags: list[Tag]) -> list[tuple[str, str]]:
    """Returns the names and texts of elements, as the index would have their texts."""
    elements = [AnchoredElement(str(number), "example", tag, tag, "element") for number, tag in enumerate(tags, 1)]
    regions = Outline(elements).read(page).regions
    return [(attribute(each.element, "id") or each.anchor, regions[id(each.element)].prose.text()) for each in elements]
