"""Boxes without a semantic id in the source of a page, and the ids that fit them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Literal

from bs4 import Tag
from sakuin.knowledge.page import TYPE_OF_PREFIX, ChunkType
from sakuin.knowledge.reading.anchors import AnchoredElement, anchored_elements
from sakuin.knowledge.reading.boxes import BoxKinds, BoxWithoutId, boxes_without_id
from sakuin.knowledge.reading.names import is_generic, is_label
from sakuin.knowledge.reading.parsing import attribute
from sakuin.knowledge.reading.titles import title_of
from sakuin.knowledge.reading.tree import steps
from sakuin.language.unicode_text import nfkc, one_line
from sakuin.language.vocabulary import Vocabulary

from sakuin_cli.annotation.slugs import slug_of
from sakuin_cli.annotation.source import TEMPLATE, Source

# Words in class names, or at the beginning of a title, that make an element a box of a type.
BOX_WORDS: dict[ChunkType, str] = {
    "rule": "rule theorem thm lemma corollary proposition law formula axiom principle point keypoint "
    "ルール 定理 公式 法則 性質 命題 要点 ポイント 重要",
    "method": "method procedure algorithm howto recipe 方法 手順 解法",
    "definition": "definition def dfn 定義 用語",
    "example": "example exmp ex 例 例題",
    "tip": "tip hint note advice コツ ヒント 補足",
}
_TYPE_OF_WORD = {word: chunk_type for chunk_type, words in BOX_WORDS.items() for word in words.split()}
# A class that ends with one of these names a part of a box, or something beside it.
PARTS = (
    "title heading header name caption label badge number num no link links icon image img body content text list item "
    "footer wrapper container group grid row col button btn toggle answer inner marker mark nav menu tab tabs"
)
_PARTS = frozenset(PARTS.split())
_BOX_ELEMENTS = frozenset({"div", "section", "article", "aside", "details", "blockquote", "fieldset", "figure", "li"})
_CLASS_WORD = re.compile(r"[^\W\d_A-Z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+")
_LABEL = re.compile(r"^\W*([^\W\d_]+)\s*[\d①-⑳.\-]*\s*(?:[:：.．)）\]】|｜\s]|$)")
_DEFINITION = re.compile(r"(?:とは[?？。]?|の定義|の意味)$|^(?:what (?:is|are)|definition of)\b", re.IGNORECASE)
_METHOD = re.compile(
    r"(?:方法|手順|ステップ|(?<!文)法|[掛が]け|[ぁ-ん]方)$|^(?:how to|steps? (?:to|for))\b", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_NUMBER = re.compile(r"\d+(?:[-.]\d+)*")
_FIRST_STEPS = 200

Reason = Literal["exercise", "says nothing", "in a template", "has another id"]


@dataclass(frozen=True, slots=True)
class Box:
    """A box without a semantic id in `line`. `id` is the proposal; without one `reason` says why there is none.

    `position` is that of its start tag.
    """

    line: int
    type: ChunkType
    title: str
    id: str | None = None
    position: int | None = None
    reason: Reason | None = None


def find_boxes(source: Source, selectors: Sequence[str], vocabulary: Vocabulary) -> list[Box]:
    """Returns the boxes without a semantic id: of the CSS selectors or, without any, of `box_type`."""
    root = source.root
    kind_of: Callable[[Tag], str | None] = BoxKinds(root, selectors) if selectors else box_type
    page_steps = list(steps(root))
    html = root.find("html")
    language = attribute(html, "lang") if isinstance(html, Tag) else ""
    taken = {attribute(tag, "id") for tag in root.find_all(id=True)}
    elements = list(boxes_without_id(page_steps, anchored_elements(page_steps)[0], kind_of))
    boxes = [(element, _box(element, source)) for element in elements]
    concepts = {(id(element.tag), element.kind) for element, box in boxes if box.reason is None}
    return [
        _with_id(box, taken, vocabulary, language) if box.reason is None else box
        for element, box in boxes
        # A box in another box of its kind is a part of that one.
        if not concepts.intersection((id(outer), element.kind) for outer in element.tag.parents)
    ]


def box_type(tag: Tag) -> ChunkType | None:
    """Returns the type that a class name gives an element, None if it is no box: rule-box, important-rule, 定理."""
    if tag.name not in _BOX_ELEMENTS or "class" not in tag.attrs:
        return None
    for name in attribute(tag, "class").split():
        words = _class_words(name)
        if words and words[-1] not in _PARTS and (found := [word for word in words if word in _TYPE_OF_WORD]):
            return _TYPE_OF_WORD[found[0]]
    return None


def _box(box: BoxWithoutId, source: Source) -> Box:
    tag = box.tag
    content = one_line(" ".join(step.text for step in islice(steps(tag), _FIRST_STEPS) if step.kind == "text"))
    anchored = AnchoredElement("", "rule", tag, tag, "element")
    titled = title_of(anchored, "")
    titled = "" if is_generic(titled) else titled
    # "Tip" titles every tip: the words after it say which.
    first, _, rest = content.partition(" ")
    title = titled or title_of(anchored, rest if is_generic(first.rstrip(":：.")) else content)
    made = Box(tag.sourceline or 1, _type(tag, content, titled), title or content[:40])
    position = source.position(tag)
    if box.is_exercise:
        return replace(made, reason="exercise")
    if position is None or TEMPLATE.search(content):
        return replace(made, reason="in a template")
    return replace(made, position=position, reason="has another id" if "id" in tag.attrs else None)


def _with_id(box: Box, taken: set[str], vocabulary: Vocabulary, language: str) -> Box:
    prefix = next(prefix for prefix, chunk_type in TYPE_OF_PREFIX.items() if chunk_type == box.type)
    number = _NUMBER.search(nfkc(box.title)) if is_label(box.title) else None
    slug = number[0].replace(".", "-") if number else slug_of(box.title, vocabulary, language)
    if not number and (is_label(box.title) or not _WORD.search(slug)):
        return replace(box, reason="says nothing", position=None)
    ids = (f"{prefix}-{slug}" if number == 1 else f"{prefix}-{slug}-{number}" for number in count(1))
    taken.add(new := next(each for each in ids if each not in taken))
    return replace(box, id=new)


def _type(tag: Tag, content: str, title: str) -> ChunkType:
    """Returns the type that a label or the class names say, or the form of the title of a rule."""
    if (label := _LABEL.match(content[:40])) and (labelled := _TYPE_OF_WORD.get(label[1].lower())):
        return labelled
    by_class = next(
        (_TYPE_OF_WORD[word] for word in _class_words(attribute(tag, "class")) if word in _TYPE_OF_WORD), None
    )
    if by_class and by_class != "rule":
        return by_class
    return "definition" if _DEFINITION.search(title) else "method" if _METHOD.search(title) else "rule"


def _class_words(name: str) -> list[str]:
    return [word.lower() for word in _CLASS_WORD.findall(name)]
