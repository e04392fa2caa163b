"""Boxes without a semantic id in the source of a page, and the ids that fit them."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Literal

from bs4 import Tag
from sakuin.knowledge.learns.from_text import WAY, is_verb, without_brackets
from sakuin.knowledge.page import TYPE_OF_PREFIX, ChunkType, type_of_anchor
from sakuin.knowledge.reading.anchors import AnchoredElement, anchored_elements
from sakuin.knowledge.reading.boxes import BoxKinds, BoxWithoutId, boxes_without_id
from sakuin.knowledge.reading.names import is_generic, is_label
from sakuin.knowledge.reading.parsing import attribute
from sakuin.knowledge.reading.titles import title_of
from sakuin.knowledge.reading.tree import HEADINGS, steps
from sakuin.language.unicode_text import nfkc, one_line

from sakuin_cli.annotation.slugs import Slugs, numbered
from sakuin_cli.annotation.source import Source
from sakuin_cli.annotation.templates import EXPRESSION, STATEMENT

# Words in class names that make an element a box of a type.
BOX_WORDS: dict[ChunkType, str] = {
    "rule": "rule theorem thm lemma corollary proposition law formula axiom principle point keypoint "
    "ルール 定理 公式 法則 性質 命題 要点 ポイント 重要",
    "method": "method procedure algorithm howto recipe 方法 手順 解法",
    "definition": "definition def dfn 定義 用語",
    "example": "example exmp 例 例題",
    "tip": "tip hint note advice コツ ヒント 補足",
}
_BOX_TYPE = {word: chunk_type for chunk_type, words in BOX_WORDS.items() for word in words.split()}
# A class that ends with one of these names a part of a box, or something beside it.
PARTS = (
    "title heading header name caption label badge number num no link links icon image img body content text list item "
    "footer wrapper container group grid row col button btn toggle answer inner marker mark nav menu tab tabs"
)
_PARTS = frozenset(PARTS.split())
# Boxes that only selectors of the author find.
_TIP_WORDS = frozenset({"caution", "warning", "pitfall", "mistake", "attention", "remark", "注意"})
_BOX_ELEMENTS = frozenset({"div", "section", "article", "aside", "details", "blockquote", "fieldset", "figure", "li"})
_CLASS_WORD = re.compile(r"[^\W\d_A-Z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+")

# What a title says of its type, before a number or a colon.
_LABEL_WORDS: dict[ChunkType, str] = {
    "definition": "定義|用語|definition|def",
    "example": "例題|例|example|ex",
    "method": "方法|手順|解法|method|procedure",
    "tip": "コツ|ヒント|補足|tip|hint|note",
    "rule": "定理|公式|法則|命題|補題|系|ルール|theorem|lemma|corollary|proposition|law|formula|rule",
}
_LABELS = {
    chunk_type: re.compile(rf"^\W*(?:{words})\s*[\d①-⑳.\-]*\s*(?:[:：.．)）\]】|｜\s]|$)", re.IGNORECASE)
    for chunk_type, words in _LABEL_WORDS.items()
}
_DEFINITION = re.compile(r"(?:とは[?？。]?|の定義|の意味)$|^(?:what (?:is|are)|definition of)\b", re.IGNORECASE)
_METHOD = re.compile(
    r"(?:方法|手順|ステップ|使い分け|場合分け|(?<!文)法|[掛が]け|流れ|進め方|やり方)$"
    r"|^(?:how to|steps? (?:to|for)|(?!(?:during|string|ring|spring|king|thing)\b)\w{3,}ing)\b",
    re.IGNORECASE,
)
_LETTERS = re.compile(r"[ぁ-ゖァ-ヺ一-鿿]|[^\W\d_]{3,}")
_TEX = re.compile(r"\\[(\[].*?\\[)\]]|\$[^$]*\$|\\[a-zA-Z]+", re.DOTALL)
_NUMBER = re.compile(r"\d+(?:[-.]\d+)*")
SHORTEST_TEXT = 8  # letters of Japanese; a word of another language counts as three
_FIRST_STEPS = 200

Reason = Literal["exercise", "decoration", "template", "other-id"]


@dataclass(frozen=True, slots=True)
class Box:
    """A box without a semantic id in `line`. `id` is the proposal; without one `reason` says why there is none.

    A box that is not titled by an element has its first words as `title`. `position` is that of the start tag that gets
    the id: of the box or, if that has another id, of its heading.
    """

    line: int
    type: ChunkType
    title: str
    is_titled: bool
    id: str | None = None
    position: int | None = None
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class AnnotatedFile:
    """The number of all boxes of a source, and those without a semantic id in its order; `error` if it is unreadable.

    `has_no_id`: its page may be indexed by its headings so far.
    """

    path: str
    total: int = 0
    boxes: tuple[Box, ...] = ()
    has_no_id: bool = False
    error: str | None = None

    @property
    def proposed(self) -> list[Box]:
        """Returns the boxes that get an id."""
        return [box for box in self.boxes if box.id]

    @property
    def are_first_ids(self) -> bool:
        """Returns whether a page by headings gets its first ids."""
        return self.has_no_id and bool(self.proposed)


def find_boxes(source: Source, selectors: Sequence[str], slugs: Slugs, *, path: str = "") -> AnnotatedFile:
    """Returns the boxes of a source: those that match the CSS selectors; without any, those of `box_type`."""
    root = source.root
    kind_of: Callable[[Tag], str | None] = BoxKinds(root, selectors) if selectors else box_type
    page_steps = list(steps(root))
    found = list(boxes_without_id(page_steps, anchored_elements(page_steps), kind_of))
    html = root.find("html")
    language = attribute(html, "lang") if isinstance(html, Tag) else ""
    taken = {attribute(tag, "id") for tag in root.find_all(id=True)}
    total = sum(step.kind == "open" and kind_of(step.tag) is not None for step in page_steps)
    boxes = [_box(box, source) for box in found]
    concepts = {(id(box.tag), box.kind) for box, made in zip(found, boxes, strict=True) if made.reason is None}
    kept = [
        made
        for box, made in zip(found, boxes, strict=True)
        # Otherwise it is a part of the box around it.
        if not any((id(outer), box.kind) in concepts for outer in box.tag.parents)
    ]
    by_headings = root.find("meta", attrs={"name": "sakuin:index"}) is not None
    has_no_id = not by_headings and bool(root.find(list(HEADINGS))) and not any(map(type_of_anchor, taken))
    return AnnotatedFile(path, total, tuple(_with_ids(kept, taken, slugs, language)), has_no_id)


def _with_ids(boxes: Sequence[Box], taken: set[str], slugs: Slugs, language: str) -> list[Box]:
    """Returns boxes with ids. Those with a title of their own get the shorter id of two."""
    made = list(boxes)
    for place in sorted(range(len(boxes)), key=lambda place: not boxes[place].is_titled):
        if boxes[place].reason is None:
            made[place] = _with_id(boxes[place], taken, slugs, language)
            taken.add(made[place].id or "")
    return made


def box_type(tag: Tag) -> ChunkType | None:
    """Returns the type that a class name gives an element, None if it is no box: rule-box, important-rule, 定理."""
    if tag.name not in _BOX_ELEMENTS or "class" not in tag.attrs:
        return None
    for name in attribute(tag, "class").split():
        words = _class_words(name)
        if words and words[-1] not in _PARTS and (types := [_BOX_TYPE[word] for word in words if word in _BOX_TYPE]):
            return types[0]
    return None


def _box(box: BoxWithoutId, source: Source) -> Box:
    tag = box.tag
    texts = [step.text for step in islice(steps(tag), _FIRST_STEPS) if step.kind == "text"]
    content = one_line(" ".join(texts))
    anchored = AnchoredElement("", "rule", tag, tag, "element")
    titled = title_of(anchored, "")
    if is_generic(titled):
        titled = ""
    # "Tip" titles every tip: the words after it say which.
    first, _, rest = content.partition(" ")
    said = rest if not titled and is_generic(first.rstrip(":：.")) else content
    raw = titled or title_of(anchored, said)
    title = raw.replace(STATEMENT, "").replace(EXPRESSION, "").strip()
    made = Box(source.line(tag), _type(tag, content, titled), title, is_titled=bool(titled))
    position = source.position(tag)
    if box.is_exercise:
        return replace(made, reason="exercise")
    is_dynamic = any(sign in name for name in tag.attrs for sign in (EXPRESSION, STATEMENT))
    if position is None or is_dynamic or EXPRESSION in raw or source.markup.is_in_loop(position):
        return replace(made, title=title or "…", reason="template")
    if not _says_something(title if titled else content, enough=1 if titled else SHORTEST_TEXT):
        return replace(made, title=title or content[:40], reason="decoration")
    if "id" in tag.attrs:
        position = next(_free_headings(tag, source), None)
        if position is None:
            return replace(made, reason="other-id")
    return replace(made, position=position)


def _says_something(text: str, *, enough: int) -> bool:
    """Returns whether a text has enough letters of Japanese, or a third as many words, outside of formulas."""
    letters = _LETTERS.findall(_TEX.sub(" ", text))
    return sum(3 if len(one) > 1 else 1 for one in letters) >= enough


def _free_headings(tag: Tag, source: Source) -> Iterator[int]:
    for child in tag.find_all(list(HEADINGS), recursive=False):
        is_dynamic = any(sign in name for name in child.attrs for sign in (EXPRESSION, STATEMENT))
        if "id" not in child.attrs and not is_dynamic and (position := source.position(child)) is not None:
            yield position


def _with_id(box: Box, taken: set[str], slugs: Slugs, language: str) -> Box:
    prefix = next(prefix for prefix, chunk_type in TYPE_OF_PREFIX.items() if chunk_type == box.type)
    if is_label(box.title):
        number = _NUMBER.search(nfkc(box.title))
        slug = number[0].replace(".", "-") if number else ""
    else:
        slug = slugs.of(box.title, box.type, language=language)
    if not slug:
        return replace(box, reason="decoration", position=None)
    ids = (f"{prefix}-{numbered(slug, number)}" for number in count(1))
    return replace(box, id=next(one for one in ids if one not in taken))


def _type(tag: Tag, content: str, title: str) -> ChunkType:
    """Returns the type that a label, the form of the title of a rule, or the class names."""
    for chunk_type, label in _LABELS.items():
        if label.match(content[:40]):
            return chunk_type
    words = [word for name in attribute(tag, "class").split() for word in _class_words(name)]
    by_class = next((_BOX_TYPE[word] for word in words if word in _BOX_TYPE), None)
    by_class = by_class or ("tip" if _TIP_WORDS.intersection(words) else "rule")
    if by_class != "rule":
        return by_class
    bare = without_brackets(title)
    if _DEFINITION.search(bare) or re.search(r"とは[?？。]?$", content[: len(title) + 20].split(" ")[0]):
        return "definition"
    return "method" if _METHOD.search(bare) or WAY.search(bare) or is_verb(bare) else "rule"


def _class_words(name: str) -> list[str]:
    return [word.lower() for word in _CLASS_WORD.findall(name)]
