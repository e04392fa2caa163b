r"""MathML as TeX: `\frac{-b ± \sqrt{D}}{2a}`, with the letters and signs of the page."""

import re
from collections.abc import Sequence
from functools import lru_cache

from bs4 import Tag
from bs4.element import NavigableString

from sakuin.knowledge.reading.parsing import attribute
from sakuin.language.unicode_text import one_line

# Deeper elements become their text.
DEEPEST = 100

ACCENTS = {
    **dict.fromkeys("→⟶⇀\u20d7", "vec"),
    **dict.fromkeys("¯‾―–_ˉ\u0304\u0305", "bar"),
    **dict.fromkeys("^ˆ\u0302", "hat"),
    **dict.fromkeys("~˜\u0303", "tilde"),
    **{"˙": "dot", ".": "dot", "¨": "ddot"},
}
FENCES = (("open", "("), ("close", ")"))
UNSEEN = frozenset({"annotation", "annotation-xml", "mphantom", "mprescripts", "none"})

# Operators without space around them.
TIGHT = re.compile(r"[()\[\]{}|‖⟨⟩∣∥/∕!%′″‴°.:]+")
RAISED_SIGNS = frozenset("′″‴°∘'")
WORD = re.compile(r"[^\W\d_]{2,}")
# What a script can stand at without braces.
ONE_SIGN = re.compile(r"\w+|[^\\]|[(\[|].*[)\]|]|\\\w+\{[^{}]*\}")
SPACE_IN_BRACKETS = re.compile(r"(?<=[(\[]) +| +(?=[)\],.;])")
PREFIX = re.compile(r"((?:^|[(\[{,=<>≤≥≈≠·⋅×→⇒]) ?[-−+±∓]) +")


def tex_of(tag: Tag) -> str:
    """Returns the TeX of a `math` element without delimiters."""
    return _tidy(_tex(tag, 0)) or _text(tag)


def _tex(tag: Tag, depth: int) -> str:
    name = tag.name
    if name in UNSEEN:
        return ""
    if name in ("mi", "mn", "mo", "mtext", "ms"):
        only = tag.contents[0] if len(tag.contents) == 1 else None
        return _token(name, str(only) if type(only) is NavigableString else tag.get_text())
    children = [child for child in tag.contents if isinstance(child, Tag)]
    if not children or depth > DEEPEST:
        return " " if name == "mspace" else _text(tag)
    if name == "mmultiscripts":
        before = next((place for place, child in enumerate(children) if child.name == "mprescripts"), len(children))
        written = ["" if child.name == "none" else _tidy(_tex(child, depth + 1)) for child in children]
        return _multiscripts(written[0], written[1:before], written[before + 1 :])
    parts = [_tex(child, depth + 1) for child in children]
    if name == "semantics":
        return parts[0]
    if name == "msqrt":
        return rf"\sqrt{{{_tidy(''.join(parts))}}}"
    if name == "mtable":
        return _table(parts)
    if name in ("mtr", "mlabeledtr"):
        return " & ".join(map(_tidy, parts))
    if name == "mfenced":
        opening, closing = (attribute(tag, side) if side in tag.attrs else sign for side, sign in FENCES)
        return f"{opening}{', '.join(map(_tidy, parts))}{closing}"
    return _scripted(name, [_tidy(part) for part in parts]) or "".join(parts)


def _scripted(name: str, parts: Sequence[str]) -> str:
    """Returns the TeX of fractions, roots, accents and scripts; empty for other elements or wrong children."""
    match name, parts:
        case "mfrac", [above, below]:
            return rf"\frac{{{above}}}{{{below}}}"
        case "mroot", [radicand, index]:
            return rf"\sqrt[{index}]{{{radicand}}}"
        case "mover", [base, sign] if sign in ACCENTS:
            return rf"\{ACCENTS[sign]}{{{base}}}"
        case (("msub" | "munder"), [base, below]):
            return _with_scripts(base, below, "")
        case (("msup" | "mover"), [base, above]):
            return _with_scripts(base, "", above)
        case (("msubsup" | "munderover"), [base, below, above]):
            return _with_scripts(base, below, above)
    return ""


def _with_scripts(base: str, below: str, above: str) -> str:
    whole = base if not base or ONE_SIGN.fullmatch(base) else f"{{{base}}}"
    text = whole + _script("_", below) + _script("^", above)
    return f" {text} " if WORD.fullmatch(base) or base.endswith("lim") else text


def _script(mark: str, text: str) -> str:
    if not text or (mark == "^" and RAISED_SIGNS.issuperset(text)):
        return text.replace("∘", "°")
    return mark + (text if len(text) == 1 else f"{{{text}}}")


def _multiscripts(base: str, after: Sequence[str], before: Sequence[str]) -> str:
    def scripts(parts: Sequence[str]) -> str:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        return "".join(_script("_", below) + _script("^", above) for below, above in pairs)

    return f" {scripts(before)}{base}{scripts(after)} "


def _table(rows: Sequence[str]) -> str:
    table = r" \\ ".join(row for row in map(_tidy, rows) if row)
    return rf" \begin{{matrix}} {table} \end{{matrix}} " if " & " in table else table


@lru_cache(maxsize=4096)
def _token(name: str, written: str) -> str:
    text = one_line(written).replace("\\", "\\backslash ").replace("{", r"\{").replace("}", r"\}")
    if name == "mo":
        if not text or TIGHT.fullmatch(text) or text in (r"\{", r"\}"):
            return text
        return f"{text} " if text in (",", ";") else f" {text} "
    return text if name == "mn" or len(text) <= 1 else f" {text} "


def _tidy(text: str) -> str:
    words = text.split()
    return PREFIX.sub(r"\1", SPACE_IN_BRACKETS.sub("", " ".join(words))) if len(words) > 1 else "".join(words)


def _text(tag: Tag) -> str:
    return one_line(tag.get_text())
