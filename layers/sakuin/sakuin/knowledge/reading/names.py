"""The names of concepts, extracted from headings and labels, and the numbers of headings.

Numbers that count are numbering, all others are parts of names.
"""

import re
from collections.abc import Sequence

from sakuin.knowledge.reading.rules import pattern
from sakuin.language.tex import plain_tex
from sakuin.language.unicode_text import is_japanese, visible

# Without card suits, which have a meaning in a page about probability, and without arrows and geometric shapes
# (△ABC), which are removed only at the beginning of a line, as bullets.
PICTOGRAPH = re.compile(
    "[\u203c\u2049\u231a-\u23ff\u2600-\u265f\u2668-\u2712\u2715\u2717-\u27bf\u2b05-\u2b59\u303d"
    "\u3297\u3299\U0001f000-\U0001faff\U0001fb00-\U0001fbff]"
)

KEYCAP = re.compile("[0-9#*]\ufe0f?\u20e3")

# Not a version, which has a zero after its point: "Ex 2.0 notes".
COUNTER = (
    r"(?:\d{1,3}(?![-.–]0)(?:[-.–][1-9]\d{0,2})*+(?![.\d]*\d)[a-zA-Z]?['’′]?"
    r"|[①-⑳㉑-㊿❶-❿IVXⅠ-Ⅻ]{1,4}|[一二三四五六七八九十]{1,3}|[A-Za-z]['’]?)"
)

LABEL = (
    r"(?:例題|例|ルール|コツ|パターン|ポイント|定義|定理|公式|法則|方法|手順|ステップ|練習問題|練習|問題|つまづき|つまずき|注意|"
    r"性質|解法|手法|テクニック|補足|まとめ|基本|応用|発展|用語|重要|"
    r"(?i:(?:rule|tip|step|method|example|ex|definition|def|theorem|pattern|point|practice|exercise|section|part)(?![a-z])|"
    r"ex\.|def\.))"
)

CLOSER = r"[:：.．)）\]】|｜—–]"

# An arrow followed by a label of an example: "→ 例1", "→ 例4・例5", "▶ Example 2". "3.12 → 3.13" has none.
EXAMPLE_LINK = re.compile(
    rf"\s*[→⇒➡▶►↓]\s*(?:{LABEL}\s*{COUNTER}?|[①-⑳㉑-㊿❶-❿])(?:\s*[・,、&]\s*(?:{LABEL})?\s*{COUNTER})*\s*"
    r"(?:へ|を見る|を見よう|参照)?\s*$"
)

LEADING = (
    re.compile(rf"^[【\[［〔(（]\s*{LABEL}\s*{COUNTER}?\s*[】\]］〕)）]\s*(?=\S)"),
    re.compile(rf"^{LABEL}\s*{COUNTER}?\s*[:：|｜—–]\s*(?=\S)"),
    re.compile(rf"^{LABEL}\s*(?:{COUNTER})(?:\s*{CLOSER}\s*(?=\S)|\s+(?!とは|[(（][^()（）]*[)）]\W*$)(?=\S))"),
    re.compile(r"^第\s*[\d一二三四五六七八九十]{1,3}\s*[章節回話部]\s*[:：.．]?\s*(?=\S)"),
    re.compile(r"^§\s*\d+(?:\.\d+)*\s*(?=\S)"),
    re.compile(r"^[(（]\s*(?:\d{1,3}|[a-zア-ン])\s*[)）]\s*(?=\S)"),
    re.compile(r"^[①-⑳㉑-㊿❶-❿]\s*[:：.．)）、]?\s*(?=[^\sとのをはがにへもや・,、〜~＋+])"),
)

ANY_LEADING = re.compile("|".join(label.pattern for label in LEADING))

LABEL_ALONE = re.compile(rf"^(?:{LABEL}\s*{COUNTER}?|{COUNTER})\s*{CLOSER}?$")

VERSION = re.compile(r"v?\d+(?:\.\d+){2,}[\w.+-]*")

LONGEST_TEXT = 500  # no name is longer

BULLETS = "¶▶►▷▸▹◀◆◇■□●○◎▼▽▲•‣・⇒→➡※★☆✓✔*#|｜ \t\n"

TEX = re.compile(r"[\\${}]")

# △ABC begins with a sign of mathematics.
SHAPE = re.compile(r"[▲△▽□]\w")

WHAT_IS = re.compile(r"(?<=\S)とは[?？]*$")

TRAILING = " \t\n。、．，,;；:：!！・…—–~〜→⇒|｜"

PAIRS = {")": "(", "）": "（", "]": "[", "】": "【", "」": "「", "』": "『"}

GENERIC = pattern("names_generic")


def without_example_link(text: str) -> str:
    """Returns `text` without a link label such as "→ 例1" at its end."""
    return EXAMPLE_LINK.sub("", text)


def is_label(text: str) -> bool:
    """Returns whether `text` is only a number, a label or decoration: "例1", "📌", "①", "Step 2:"."""
    return len(text.strip()) <= LONGEST_TEXT and is_label_alone(_undecorated(text))


def is_label_alone(text: str) -> bool:
    """Returns whether a text without pictographs is only a number or a label."""
    bare = _bare(text)
    if VERSION.fullmatch(bare):
        return False
    return not bare or LABEL_ALONE.match(bare) is not None


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
    name = _bare(without_example_link(name))
    for _ in range(3):
        stripped = name
        for label in LEADING if ANY_LEADING.match(name) else ():
            leading = label.match(stripped)
            if leading and any(map(str.isalpha, stripped[leading.end() :])):
                stripped = stripped[leading.end() :]
        stripped = stripped.strip(BULLETS)
        if not stripped or stripped == name:
            break
        name = stripped
    name = name.rstrip(TRAILING)
    return _balanced(WHAT_IS.sub("", name))


def shortened(text: str, *, limit: int = 40) -> str:
    """Returns the first sentence of `text`, cut at a clause if it is longer than `limit` characters."""
    sentence = re.split(r"(?<=[。！？!?])|(?<=[a-z)]\.)\s|\n", text.strip(), maxsplit=1)[0] or ""
    if len(sentence) <= limit:
        return sentence
    marks = ("、", "，", "：", "；", ", ") if is_japanese(sentence) else (", ", "; ", " ")
    cut = max(sentence.rfind(mark, limit // 3, limit) for mark in marks)
    return sentence[: cut if cut > 0 else limit]


def _undecorated(text: str) -> str:
    return visible(PICTOGRAPH.sub(" ", KEYCAP.sub(" ", text) if "\u20e3" in text else text))


def _bare(text: str) -> str:
    name = " ".join(text.split())
    return name if SHAPE.match(name) else name.strip(BULLETS)


def _balanced(name: str) -> str:
    while name and (opener := PAIRS.get(name[-1])) and name.count(opener) < name.count(name[-1]):
        name = name[:-1].rstrip(TRAILING)
    if len(name) > 2 and PAIRS.get(name[-1]) == name[0] and name[0] in "「『【" and name.count(name[0]) == 1:
        name = name[1:-1]
    return name.rstrip(TRAILING)


NUMBERS = (
    re.compile(r"(?P<number>\d{1,3}(?:[.-]\d{1,3})*)\s*[.．)）](?:\s+(?=\S)|(?=[^\d\s]))"),
    re.compile(r"(?P<number>\d{1,3}(?:\.\d{1,3})+)\s+(?=\S)"),
)

Number = tuple[int, ...]


def counting_numbers(titles: Sequence[str]) -> frozenset[Number]:
    """Returns the numbers that count titles in page order: 1., 2., 3. or 1.1, 1.2.

    Versions do not: they begin with 0, go down, or have no neighbours.
    """
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
    for form in NUMBERS:
        if found := form.match(title):
            return tuple(map(int, re.split("[.-]", found["number"]))), title[found.end() :]
    return (), title
