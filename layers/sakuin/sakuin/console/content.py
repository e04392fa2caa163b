"""The content of a section as HTML without scripts and styles: Markdown, highlighted code, and formulas as MathML."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from latex2mathml.converter import convert
from lxml import etree
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from sakuin.console.forms import href
from sakuin.knowledge.markdown import outside_code
from sakuin.language.tex import PATH
from sakuin.language.unicode_text import visible

# What stands for a formula while Markdown is read: a number between characters of private use.
_HELD = re.compile("\ue000(\\d+)\ue001")
_GROUP = r"\{(?:[^{}\n]|\{(?:[^{}\n]|\{[^{}\n]*\})*\})*\}"
# A run without spaces, and those that a sign of an operation joins to it.
_RUN = rf"(?:\\[A-Za-z]+(?: (?={_GROUP}|[A-Za-z0-9(]))?|\\[,;:!{{}}|]|{_GROUP}|[A-Za-z0-9^_+\-/=<>()|,.!'±×÷·≤≥≠∞√])+"
_SIGN = r"(?:[-+=<>/±×÷·≤≥≠]|\\(?:times|div|pm|mp|cdot|leq?|geq?|neq?|to|equiv|approx|sim))"
_FORMULA = re.compile(rf"(?P<kept>\]\([^)\s]*\)|`[^`\n]*`|https?://\S+)|{_RUN}(?: *{_SIGN} *{_RUN})*")
_IS_TEX = re.compile(r"\\[A-Za-z]|[A-Za-z0-9)}]\^[\w{(\\+-]|(?<![A-Za-z])[A-Za-z]_[{\dA-Za-z](?![A-Za-z])")
_LONGEST_FORMULA = 400
_MATHML = re.compile(
    "math|m(row|i|n|o|s|text|space|frac|sqrt|root|style|sub|sup|subsup|under|over|underover|table|tr|td|padded|enclose)"
)
_ATTRIBUTES = {"display", "stretchy", "fence", "width", "linethickness"}
_FORMATTER = HtmlFormatter(nowrap=True)


def rendered(text: str, page: str = "") -> Markup:
    """Returns the content as HTML. A link within the page leads to `page`; links to nowhere and images are text."""
    formulas: list[str] = []

    def hold(match: re.Match[str]) -> str:
        source = match[0].rstrip(".,:;! ")
        if match["kept"] or not _IS_TEX.search(source) or PATH.search(source) or not (math := _mathml(source)):
            return match[0]
        formulas.append(math)
        return f"\ue000{len(formulas) - 1}\ue001{match[0][len(source) :]}"

    held = outside_code(visible(text), lambda part: _FORMULA.sub(hold, part))
    html = _markdown().render(held, {"page": page.partition("#")[0]})
    whole = _HELD.sub(lambda match: formulas[int(match[1])] if int(match[1]) < len(formulas) else "", html)
    return Markup(whole)  # noqa: S704 - the renderer escapes texts, and the formulas are read again


def _mathml(tex: str) -> str:
    """Returns a formula as MathML; empty for what is none. The converter does not escape texts, so it is read again."""
    if len(tex) > _LONGEST_FORMULA:
        return ""
    try:
        tree = etree.fromstring(convert(tex).replace(' xmlns="http://www.w3.org/1998/Math/MathML"', ""))
    except Exception:
        # A formula that nobody can read is text; the converter has no error of its own for it.
        return ""
    if any(not _MATHML.fullmatch(str(each.tag)) for each in tree.iter()):
        return ""
    for each in tree.iter():
        for name in set(each.attrib) - _ATTRIBUTES:
            del each.attrib[name]
    return str(etree.tostring(tree, encoding="unicode", with_tail=False))


def _markdown() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False, "breaks": True, "highlight": _code}).enable("table")
    for name in ("link_open", "image", "heading_open", "heading_close"):
        reader.add_render_rule(name, {"link_open": _link, "image": _image}.get(name, _heading))
    return reader


def _code(code: str, language: str, _attributes: str) -> str:
    try:
        return str(highlight(code, get_lexer_by_name(language or "text"), _FORMATTER))
    except ClassNotFound:
        return str(escape(code))


def _link(_self: RendererHTML, tokens: Sequence[Token], place: int, _options: Any, env: Mapping[str, str]) -> str:
    target = str(tokens[place].attrs["href"])
    address = href(f"{env['page']}{target}" if target.startswith("#") else target)
    return f'<a href="{escape(address)}" rel="noopener">' if address else "<a>"


def _image(_self: RendererHTML, tokens: Sequence[Token], place: int, _options: Any, _env: Mapping[str, str]) -> str:
    return str(escape(tokens[place].content))


def _heading(_self: RendererHTML, tokens: Sequence[Token], place: int, _options: Any, _env: Mapping[str, str]) -> str:
    return "<p><strong>" if tokens[place].nesting == 1 else "</strong></p>\n"


def marked(text: str, words: Iterable[str]) -> Markup:
    """Returns a text with the words of the question in it marked."""
    alternatives = "|".join(re.escape(word) for word in sorted(set(words), key=len, reverse=True) if len(word) > 1)
    if not alternatives:
        return escape(text)
    pieces = re.split(f"({alternatives})", text, flags=re.IGNORECASE)
    return Markup("").join(Markup("<mark>{}</mark>").format(one) if i % 2 else one for i, one in enumerate(pieces))
