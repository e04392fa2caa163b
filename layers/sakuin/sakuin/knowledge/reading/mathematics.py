r"""Mathematics as TeX: rendered formulas, and MathML as `\frac{-b ± \sqrt{D}}{2a}` with the letters of the page."""

import re
from collections.abc import Sequence
from functools import lru_cache

from bs4 import Tag
from bs4.element import NavigableString

from sakuin.knowledge.reading.parsing import attribute, classes, parsed
from sakuin.knowledge.reading.rules import names, table
from sakuin.language.unicode_text import nfkc, one_line

# Elements that are mathematics, or may be, whatever their class; the classes of images.
MATHEMATICS, MATH_IMAGES = names("mathematics"), names("math_images")
UNSEEN, ACCENTS = names("math_unseen"), table("math_accents")
ENCODINGS = ("application/x-tex", "application/x-latex", "TeX", "LaTeX")
# MathJax 4, exports of editors.
TEX_ATTRIBUTES = ("data-latex", "data-tex")

DRAWN = re.compile(r"(?:^|\s)mjx-c([0-9A-F]{2,5})(?=$|\s)")
# Elements of MathJax by those of MathML, and of KaTeX with rows; a length in a style: `top:-3.063em`.
DRAWN_AS = {"mjx-frac": "mfrac", "mjx-msup": "msup", "mjx-msub": "msub", "mjx-msqrt": "sqrt", "mjx-mroot": "sqrt"}
KATEX_STACKS = ("mfrac", "sqrt", "msupsub")
EM = re.compile(r"(?:top|height)\s*:\s*-?([\d.]+)em")
DEEPEST = 100  # elements; deeper ones become their text
FENCES = (("open", "("), ("close", ")"))
# Operators without space around them.
TIGHT = re.compile(r"[()\[\]{}|‖⟨⟩∣∥/∕!%′″‴°.:]+")
RAISED_SIGNS = frozenset("′″‴°∘'")
WORD = re.compile(r"[^\W\d_]{2,}")
# What a script can stand at without braces.
ONE_SIGN = re.compile(r"\w+|[^\\]|[(\[|].*[)\]|]|\\\w+\{[^{}]*\}")
SPACE_IN_BRACKETS = re.compile(r"(?<=[(\[]) +| +(?=[)\],.;])")
PREFIX = re.compile(r"((?:^|[(\[{,=<>≤≥≈≠·⋅×→⇒]) ?[-−+±∓]) +")


def rendered_tex(tag: Tag) -> str | None:
    r"""Returns the plain text of `tag`, with TeX in `\(…\)` or `\[…\]`; None if it is not mathematics.

    KaTeX and MathJax render a formula several times (MathML, HTML, a preview); the text contains its TeX once.
    The text of an image is its alternative text, in brackets unless it is mathematics.
    """
    name, names = tag.name, attribute(tag, "class")
    if name == "script":
        kind = attribute(tag, "type")
        return _delimited(tag.get_text(), display="mode=display" in kind) if kind.startswith("math/tex") else None
    if name == "img":
        return _image(tag)
    if name == "math":
        return _mathml(tag)
    if name == "mjx-container":
        return _inner(tag, display=attribute(tag, "display") == "true")
    if "katex" in names and classes(tag) & {"katex", "katex-display"}:
        return _inner(tag, display="katex-display" in names)
    if "MathJax" in names and any(part.startswith("MathJax") for part in classes(tag)):
        return _of_mathjax_2(tag)
    return None


def _of_mathjax_2(tag: Tag) -> str:
    """Returns the TeX of a rendered formula; empty if a script beside it has the TeX, as long as nothing removed it."""
    mathml = attribute(tag, "data-mathml")
    script = tag.find_next_sibling("script") if mathml else None
    if not mathml or (script is not None and attribute(script, "type").startswith("math/")):
        return ""
    root = parsed(mathml)[0].find("math")
    return _mathml(root) if isinstance(root, Tag) else ""


def _inner(tag: Tag, *, display: bool) -> str:
    for outer in (tag, *tag.find_all(True, limit=2)):
        for name in TEX_ATTRIBUTES:
            if name in outer.attrs:
                return _delimited(attribute(outer, name), display=display)
    mathml = tag.find("math")
    if isinstance(mathml, Tag):
        return _mathml(mathml, display=display)
    drawn = _drawn(tag, 0)
    return _delimited(drawn, display=display) if drawn else tag.get_text(" ", strip=True)


def _drawn(tag: Tag, depth: int) -> str:
    """Returns the TeX of a formula that is only drawn: by classes for each character (MathJax), or by text (KaTeX)."""
    names = classes(tag)
    if tag.name == "mjx-c":
        named = DRAWN.search(attribute(tag, "class"))
        return nfkc(chr(int(named[1], 16))) if named else ""
    stack = next(filter(names.__contains__, KATEX_STACKS), "")
    # A stack of KaTeX begins with what stands lowest.
    children = [child for child in tag.contents if isinstance(child, Tag)]
    if stack:
        stacks = (child.find("span", class_="vlist") for child in children if "vlist-t" in classes(child))
        children = [row for rows in stacks if isinstance(rows, Tag) for row in rows.contents if isinstance(row, Tag)]
    if not children or depth >= DEEPEST:
        text = "".join(text for text in tag.contents if type(text) is NavigableString).strip("\u200b \n")
        return _token("mo", text) if not names.isdisjoint(("mrel", "mbin", "mpunct")) else text
    parts = [_drawn(child, depth + 1) for child in children]
    if stack == "msupsub":
        rows = zip(map(_is_raised, children), parts, strict=True)
        return "".join(_script("^" if is_raised else "_", part) for is_raised, part in rows)
    written = [part for part in parts if part]
    match stack or DRAWN_AS.get(tag.name, tag.name), written:
        case "sqrt", [_, *_]:
            root = tag.find("span", class_=["root", "katex-root"]) if stack else None
            index = f"[{_drawn(root, depth + 1)}]" if isinstance(root, Tag) else ""
            return rf"\sqrt{index}{{{''.join(written if stack else written[1:])}}}"  # after its sign
        case "mjx-msubsup", [base, _]:
            scripts = [_drawn(child, depth + 1) for child in children[-1].find_all(True, recursive=False)]
            above, *_, below = filter(None, scripts)
            return base + _scripts((below, above))
        case name, _:
            return _scripted(name, written[::-1] if stack else written) or "".join(parts)
    return ""


def _is_raised(row: Tag) -> bool:
    """Returns whether a row of a stack of KaTeX stands higher than its strut, which ends on the line."""
    strut = row.find("span", class_="pstrut")
    top, height = (EM.search(attribute(tag, "style")) if isinstance(tag, Tag) else None for tag in (row, strut))
    return top is not None and height is not None and float(top[1]) > float(height[1])


def _mathml(tag: Tag, *, display: bool = False) -> str:
    inside = (inner for inner in tag.descendants if isinstance(inner, Tag))
    annotation = next((i for i in inside if i.name == "annotation" and attribute(i, "encoding") in ENCODINGS), None)
    written = attribute(tag, "alttext") if annotation is None else annotation.get_text()
    display = display or attribute(tag, "display") == "block"
    return _delimited(written or _tidy(_tex(tag, 0)) or one_line(tag.get_text()), display=display)


def _image(tag: Tag) -> str:
    alternative = attribute(tag, "alt").strip()
    if not alternative or attribute(tag, "role") in ("presentation", "none") or "hidden" in tag.attrs:
        return ""
    return alternative if "\\" in alternative or classes(tag) & MATH_IMAGES else f"[{alternative}]"


def _delimited(tex: str, *, display: bool) -> str:
    tex = tex.strip()
    return rf"\[{tex}\]" if display else rf"\({tex}\)"


def _tex(tag: Tag, depth: int) -> str:
    name = tag.name
    if name in UNSEEN:
        return ""
    if name in ("mi", "mn", "mo", "mtext", "ms"):
        only = tag.contents[0] if len(tag.contents) == 1 else None
        return _token(name, str(only) if type(only) is NavigableString else tag.get_text())
    children = [child for child in tag.contents if isinstance(child, Tag)]
    if not children or depth > DEEPEST:
        return " " if name == "mspace" else one_line(tag.get_text())
    if name == "mmultiscripts":
        before = next((place for place, child in enumerate(children) if child.name == "mprescripts"), len(children))
        written = ["" if child.name == "none" else _tidy(_tex(child, depth + 1)) for child in children]
        return f" {_scripts(written[before + 1 :])}{written[0]}{_scripts(written[1:before])} "
    parts = [_tex(child, depth + 1) for child in children]
    if name == "semantics":
        return parts[0]
    if name == "msqrt":
        return rf"\sqrt{{{_tidy(''.join(parts))}}}"
    if name == "mtable":
        table = r" \\ ".join(filter(None, map(_tidy, parts)))
        return rf" \begin{{matrix}} {table} \end{{matrix}} " if " & " in table else table
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
    text = whole + _scripts((below, above))
    return f" {text} " if WORD.fullmatch(base) or base.endswith("lim") else text


def _script(mark: str, text: str) -> str:
    if not text or (mark == "^" and RAISED_SIGNS.issuperset(text)):
        return text.replace("∘", "°")
    return mark + (text if len(text) == 1 else f"{{{text}}}")


def _scripts(parts: Sequence[str]) -> str:
    return "".join(map(_script, "_^" * (len(parts) // 2), parts))


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
