"""The names of concepts, extracted from headings and labels."""

import re

from sakuin.language.tex import plain_tex
from sakuin.language.unicode_text import is_japanese, visible

# Without card suits, which have a meaning in a page about probability, and without arrows and geometric shapes
# (△ABC), which are removed only at the beginning of a line, as bullets.
PICTOGRAPH = re.compile(
    "[\u203c\u2049\u231a-\u23ff\u2600-\u265f\u2668-\u2712\u2715\u2717-\u27bf\u2b05-\u2b59\u303d"
    "\u3297\u3299\U0001f000-\U0001faff\U0001fb00-\U0001fbff]"
)

KEYCAP = re.compile("[0-9#*]\ufe0f?\u20e3")

COUNTER = (
    r"(?:\d{1,3}(?:[-.–]\d{1,3})*[a-zA-Z]?['’′]?|[①-⑳㉑-㊿❶-❿IVXⅠ-Ⅻ]{1,4}|[一二三四五六七八九十]{1,3}|[A-Za-z]['’]?)"
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
    re.compile(rf"^{LABEL}\s*(?:{COUNTER})(?:\s*{CLOSER}\s*|\s+)(?=\S)"),
    re.compile(r"^第\s*[\d一二三四五六七八九十]{1,3}\s*[章節回話部]\s*[:：.．]?\s*(?=\S)"),
    re.compile(r"^§\s*\d+(?:\.\d+)*\s*(?=\S)"),
    re.compile(r"^[(（]\s*(?:\d{1,3}|[a-zア-ン])\s*[)）]\s*(?=\S)"),
    re.compile(r"^[①-⑳㉑-㊿❶-❿]\s*[:：.．)）、]?\s*(?=[^\sとのをはがにへもや・,、〜~＋+])"),
)

ANY_LEADING = re.compile("|".join(pattern.pattern for pattern in LEADING))

LABEL_ALONE = re.compile(rf"^(?:{LABEL}\s*{COUNTER}?|{COUNTER})\s*{CLOSER}?$")

VERSION = re.compile(r"v?\d+(?:\.\d+){2,}[\w.+-]*")

LONGEST_TEXT = 500  # no name is longer

BULLETS = "¶▶►▷▸▹◀◆◇■□●○◎▼▽▲•‣・⇒→➡※★☆✓✔*#|｜ \t\n"

TEX = re.compile(r"[\\${}]")

# △ABC begins with a sign of mathematics.
SHAPE = re.compile(r"[▲△▽□]\w")

WHAT_IS = re.compile(r"(?<=\S)とは$")

TRAILING = " \t\n。、．，,;；:：!！?？・…—–~〜→⇒|｜"

PAIRS = {")": "(", "）": "（", "]": "[", "】": "【", "」": "「", "』": "『"}

# Words that introduce something but do not name it.
GENERIC = re.compile(
    r"^(?:注意|注|解き方|解法|解答|解説|答え|答|ポイント|例|例題|コツ|ルール|公式|定義|定理|まとめ|問題|手順|方法|重要|覚え方|"
    r"考え方|補足|ヒント|(?i:note|tip|hint|example|solution|answer|rule|definition|method|proof|important))"
    r"(?:を見る|を表示)?$"
)


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
        for pattern in LEADING if ANY_LEADING.match(name) else ():
            if found := pattern.match(stripped):
                stripped = stripped[found.end() :]
        stripped = stripped.strip(BULLETS)
        if not stripped or stripped == name:
            break
        name = stripped
    name = name.rstrip(TRAILING)
    return _balanced(WHAT_IS.sub("", name) if name.endswith("とは") else name)


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
