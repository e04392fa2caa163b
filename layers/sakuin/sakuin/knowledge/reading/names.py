"""The names of concepts in headings and labels, and the numbers of headings: those that count are no part of a name."""

import re
from collections.abc import Sequence

from sakuin.knowledge.reading.inline import CODE_EDGE
from sakuin.knowledge.reading.rules import pattern
from sakuin.language.tex import plain_tex
from sakuin.language.unicode_text import is_japanese, visible

PICTOGRAPH = pattern("pictograph_or_key")
EXAMPLE_LINK = pattern("example_link")
LEADING = pattern("leading_label")
LABEL_ALONE = pattern("label_alone")
GENERIC = pattern("generic_name")

VERSION = re.compile(r"v?\d+(?:\.\d+){2,}[\w.+-]*")
TEX = re.compile(r"[\\${}]")
# △ABC begins with a sign of mathematics.
SHAPE = re.compile(r"[▲△▽□]\w")
WHAT_IS = re.compile(r"(?<=\S)とは[?？]*$")
BULLETS = "¶▶►▷▸▹◀◆◇■□●○◎▼▽▲•‣・⇒→➡※★☆✓✔*#|｜ \t\n"
TRAILING = " \t\n。、．，,;；:：!！・…—–~〜→⇒|｜"
PAIRS = {")": "(", "）": "（", "]": "[", "】": "【", "」": "「", "』": "『"}

LONGEST_TEXT = 500  # no name is longer
MOST_LABELS = 6  # before a name


def is_link_label(text: str) -> bool:
    """Returns whether the text of a link is only a label, or leads to an example: "→ 例1"."""
    return is_label(text) or not EXAMPLE_LINK.sub("", f" {text}").strip()


def is_label(text: str) -> bool:
    """Returns whether `text` is only a number, a label or decoration: "例1", "📌", "①", "Step 2:"."""
    return len(text.strip()) <= LONGEST_TEXT and is_label_alone(_undecorated(text))


def is_label_alone(text: str) -> bool:
    """Returns whether a text without pictographs is only a number or a label."""
    bare = _bare(text)
    return not bare or (LABEL_ALONE.match(bare) is not None and not VERSION.fullmatch(bare))


def is_generic(name: str) -> bool:
    """Returns whether `name` introduces something without naming it: 解き方, 注意, Example."""
    return GENERIC.match(name) is not None


def concept_name(text: str) -> str:
    """Returns `text` without pictographs, numbered labels, "→ 例1", surrounding punctuation and TeX markup.

    "📌 ルール2：傾きの意味 → 例2" becomes 傾きの意味. A text that is only a label does not change: "練習1". A number
    alone stays, since only the titles around it tell whether it counts.
    """
    name = _undecorated(text[:LONGEST_TEXT])
    if TEX.search(name):
        name = _undecorated(plain_tex(name))
    name = _bare(EXAMPLE_LINK.sub("", name))
    for _ in range(MOST_LABELS):
        label = LEADING.match(name)
        bare = name[label.end() :].strip(BULLETS) if label else ""
        if not any(map(str.isalpha, bare)):
            break
        name = bare
    return _balanced(WHAT_IS.sub("", name.rstrip(TRAILING))).replace(CODE_EDGE, "")


def shortened(text: str, *, limit: int = 40) -> str:
    """Returns the first sentence of `text`, cut at a clause if it is longer than `limit` characters."""
    sentence = re.split(r"(?<=[。！？!?])|(?<=[a-z)]\.)\s|\n", text.strip(), maxsplit=1)[0] or ""
    if len(sentence) <= limit:
        return sentence
    marks = ("、", "，", "：", "；", ", ") if is_japanese(sentence) else (", ", "; ", " ")
    cut = max(sentence.rfind(mark, limit // 3, limit) for mark in marks)
    return sentence[: cut if cut > 0 else limit]


def _undecorated(text: str) -> str:
    return visible(PICTOGRAPH.sub(" ", text))


def _bare(text: str) -> str:
    name = " ".join(text.split())
    return name if SHAPE.match(name) else name.strip(BULLETS)


def _balanced(name: str) -> str:
    while name and (opener := PAIRS.get(name[-1])) and name.count(opener) < name.count(name[-1]):
        name = name[:-1].rstrip(TRAILING)
    if len(name) > 2 and PAIRS.get(name[-1]) == name[0] and name[0] in "「『【" and name.count(name[0]) == 1:
        name = name[1:-1]
    return name.rstrip(TRAILING)


NUMBER = re.compile(r"(\d{1,3}(?:[.-]\d{1,3})*)\s*[.．)）](?:\s+(?=\S)|(?=[^\d\s]))|(\d{1,3}(?:\.\d{1,3})+)\s+(?=\S)")

Number = tuple[int, ...]


def counting_numbers(titles: Sequence[str]) -> frozenset[Number]:
    """Returns the numbers that count titles in page order: 1., 2. or 1.1, 1.2. Those of versions have no neighbours."""
    numbers = [_split(title)[0] for title in titles]
    first = {number: place for place, number in reversed(list(enumerate(numbers))) if number}
    last = {number: place for place, number in enumerate(numbers)}

    def counts(number: Number) -> bool:
        outer, place = number[:-1], number[-1]
        if outer in first:
            return counts(outer)
        if (*outer, 0) in first or len(outer) > 1:
            return False
        if not outer and (place, 1) in first and (place, 0) not in first:
            return True
        if place == 1:
            return last.get((*outer, 2), -1) > first[number]
        return (*outer, 1) in first and first.get((*outer, place - 1), len(numbers)) < last[number]

    return frozenset(number for number in first if counts(number))


def without_numbering(title: str, counting: frozenset[Number]) -> str:
    """Returns a title without its number if that is one of those that count."""
    number, name = _split(title)
    return name if number in counting else title


def without_number(title: str) -> str:
    """Returns a title without a number at its beginning, whether or not that counts."""
    return _split(title)[1]


def _split(title: str) -> tuple[Number, str]:
    number = NUMBER.match(title)
    return (tuple(map(int, re.split("[.-]", number[1] or number[2]))), title[number.end() :]) if number else ((), title)
