"""The TeX of rendered mathematics."""

from bs4 import Tag

from sakuin.knowledge.reading.mathml import tex_of
from sakuin.knowledge.reading.parsing import attribute, classes, parsed

ENCODINGS = ["application/x-tex", "application/x-latex", "TeX", "LaTeX"]

# MathJax 4, exports of editors.
TEX_ATTRIBUTES = ("data-latex", "data-tex")

# Elements that are mathematics, or may be, whatever their class.
MATHEMATICS = frozenset({"script", "img", "math", "mjx-container"})

MATH_IMAGE = frozenset({"math", "tex", "latex", "formula", "equation", "mwe-math-fallback-image-inline"})


def rendered_tex(tag: Tag) -> str | None:
    r"""Returns the plain text of `tag`, with TeX in `\(…\)` or `\[…\]`; None if it is not mathematics.

    KaTeX and MathJax render a formula several times (MathML, HTML, a preview); the text contains its TeX once.
    The text of an image is its alternative text, in brackets unless it is mathematics.
    """
    name = tag.name
    if name == "script":
        kind = attribute(tag, "type")
        return _delimited(tag.get_text(), display="mode=display" in kind) if kind.startswith("math/tex") else None
    if name == "img":
        return _image(tag)
    if name == "math":
        return _mathml(tag)
    if name == "mjx-container":
        return _inner(tag, display=attribute(tag, "display") == "true")
    names = attribute(tag, "class")
    if not names:
        return None
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
    return tag.get_text(" ", strip=True)


def _mathml(tag: Tag, *, display: bool = False) -> str:
    display = display or attribute(tag, "display") == "block"
    inside = (inner for inner in tag.descendants if isinstance(inner, Tag))
    annotation = next((i for i in inside if i.name == "annotation" and attribute(i, "encoding") in ENCODINGS), None)
    if annotation is not None:
        return _delimited(annotation.get_text(), display=display)
    if attribute(tag, "alttext"):
        return _delimited(attribute(tag, "alttext"), display=display)
    return _delimited(tex_of(tag), display=display)


def _image(tag: Tag) -> str:
    alternative = attribute(tag, "alt").strip()
    if not alternative or attribute(tag, "role") in ("presentation", "none") or "hidden" in tag.attrs:
        return ""
    if "\\" in alternative or classes(tag) & MATH_IMAGE:
        return alternative
    return f"[{alternative}]"


def _delimited(tex: str, *, display: bool) -> str:
    tex = tex.strip()
    return rf"\[{tex}\]" if display else rf"\({tex}\)"
