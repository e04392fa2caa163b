"""Readable TeX: its source without delimiters, spacing and font commands."""

import re

# A path, which is no TeX: `Users\\text`.
PATH = re.compile(
    r"(?<![\\A-Za-z])(?:[A-Za-z]*[a-z]{3}|[A-Za-z]{4,}|[A-Za-z]:)(?:\\(?!q?quad|left|right)[A-Za-z]++)++(?!\s*[{*])"
)
_BACKSLASH_OF_PATH = "\udcff"
PIECE = re.compile(r"\\[a-zA-Z]+\*?|\\.|\$\$|[{}]|[^\\{}$]+|.", re.DOTALL)
DISPLAY = {r"\[", r"\]", "$$"}
INLINE = {r"\(", r"\)"}
SPACING = {rf"\{name}" for name in (",", ";", ":", "!", ">", " ", "quad", "qquad", "enspace", "thinspace")}
STYLE = {rf"\{name}" for name in ("displaystyle", "textstyle", "scriptstyle", "limits", "nolimits")}
SIZES = {  # of the delimiter that follows: `\left(`
    rf"\{name}"
    for name in (
        *("left", "right", "middle", "big", "Big", "bigg", "Bigg", "bigl"),
        *("bigr", "Bigl", "Bigr", "biggl", "biggr", "Biggl", "Biggr"),
    )
}
WRAPPERS = {
    rf"\{name}"
    for name in (
        *("text", "textrm", "textbf", "textit", "textsf", "mbox", "hbox", "mathrm", "mathbf", "mathit"),
        *("boldsymbol", "bm", "operatorname", "boxed", "fbox"),
    )
}
UNSEEN_GROUPS = {
    rf"\{name}" for name in ("label", "phantom", "hphantom", "vphantom", "hspace", "hspace*", "vspace", "color")
}
SAME_AS = {r"\dfrac": r"\frac", r"\tfrac": r"\frac", r"\cfrac": r"\frac", r"\leqq": r"\leq", r"\geqq": r"\geq"}
# `$…$` is TeX only without spaces inside the dollars and with content that looks like mathematics, unlike prices.
SINGLE_DOLLARS = re.compile(r"(?<![\\$])\$(?![\s$])([^$\n]{1,400}?)(?<![\s\\])\$(?![$\d])")
LOOKS_LIKE_TEX = re.compile(r"[\\^_=<>]|^[A-Za-z]{1,2}$")
INNER_SPACE = re.compile(r"(?<=\{) +| +(?=\})")
SIGNS = {
    **{"times": "×", "div": "÷", "pm": "±", "mp": "∓", "cdot": "·", "leq": "≤", "le": "≤", "geq": "≥"},
    **{"ge": "≥", "neq": "≠", "ne": "≠", "infty": "∞", "angle": "∠", "triangle": "△", "sim": "∼"},
    **{"equiv": "≡", "cap": "∩", "cup": "∪", "in": "∈", "to": "→", "rightarrow": "→", "Rightarrow": "⇒"},
    **{"Leftrightarrow": "⇔", "therefore": "∴", "because": "∵", "circ": "°", "ldots": "…", "cdots": "…"},
    **{"dots": "…", "sum": "Σ", "int": "∫", "parallel": "∥", "perp": "⊥", "approx": "≈", "cong": "≅"},
    **{"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "Delta": "Δ", "theta": "θ", "pi": "π"},
    **{"lambda": "λ", "mu": "μ", "sigma": "σ", "phi": "φ", "omega": "ω", "Omega": "Ω", "varepsilon": "ε"},
    **{name: name for name in ("sin", "cos", "tan", "log", "ln", "lim", "max", "min", "gcd")},
}
SIGN = re.compile(r"\\([a-zA-Z]+) ?")
DEGREE = re.compile(r"\^(?:\\circ\b|\{\\circ\})")
FRACTION = re.compile(r"\\frac\{(\w{1,4})\}\{(\w{1,4})\}")
ROOT = re.compile(r"\\sqrt\{(\w{1,4})\}")


def readable_tex(text: str) -> str:
    r"""Returns `text` with readable TeX: `\[ x = 1 \quad \text{または} \ 2 \]` becomes `x = 1 または 2`.

    Removes delimiters, spacing, sizes, fonts and invisible groups, and puts display mathematics on its own line.
    `\frac{-b \pm \sqrt{D}}{2a}` stays. Idempotent.
    """
    if "\\" not in text and "$" not in text:
        return "\n".join(_lines(text))
    text = PATH.sub(lambda path: path[0].replace("\\", _BACKSLASH_OF_PATH), SINGLE_DOLLARS.sub(_without_dollars, text))
    lines = _lines("".join(_pieces(text)).replace(_BACKSLASH_OF_PATH, "\\"))
    return "\n".join(INNER_SPACE.sub("", line) for line in lines)


def plain_tex(text: str) -> str:
    r"""Returns one line of readable TeX for a title, with signs for simple commands: `0 \leq x` becomes `0 ≤ x`."""
    source = readable_tex(text)
    if "\\" not in source:
        return " ".join(source.split())
    source = ROOT.sub(r"√\1", FRACTION.sub(r"\1/\2", source))
    signs = SIGN.sub(_sign, DEGREE.sub("°", source))
    return " ".join(signs.replace(r"\{", "{").replace(r"\}", "}").split())


def _sign(match: re.Match[str]) -> str:
    sign = SIGNS.get(match[1])
    if sign is None:
        return match[0]
    if sign in "△∠°":
        return sign
    return sign + " " if match[0].endswith(" ") or sign.isascii() else sign


def _without_dollars(match: re.Match[str]) -> str:
    return match[1] if LOOKS_LIKE_TEX.search(match[1]) else match[0]


def _pieces(text: str) -> list[str]:
    pieces: list[str] = []
    groups: list[bool] = []  # for every open brace: whether it is part of the result
    unwrap = skip_group = after_size = False
    hidden_depth = 0
    for piece in PIECE.findall(text):
        if piece == "{":
            if skip_group or hidden_depth:
                hidden_depth += 1
            else:
                groups.append(not unwrap)
                pieces.append(" " if unwrap else "{")
            unwrap = skip_group = False
            continue
        if piece == "}":
            if hidden_depth:
                hidden_depth -= 1
            else:
                pieces.append("}" if not groups or groups.pop() else " ")
            continue
        if after_size and piece.startswith("."):
            piece = piece[1:]  # `\right.` prints nothing
        after_size = piece in SIZES
        if after_size or hidden_depth or ((unwrap or skip_group) and piece.isspace()):
            continue
        unwrap, skip_group = piece in WRAPPERS, piece in UNSEEN_GROUPS
        if unwrap or skip_group or piece in SPACING or piece in STYLE or piece in INLINE:
            pieces.append(" " if piece not in INLINE else "")
        elif piece in DISPLAY:
            pieces.append("\n")
        else:
            pieces.append(SAME_AS.get(piece, piece))
    return pieces


def _lines(text: str) -> list[str]:
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return [line for line in lines if line]
