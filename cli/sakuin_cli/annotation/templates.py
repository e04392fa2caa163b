"""Template tags in the sources of pages: Liquid, Jinja, Hugo, Handlebars, ERB, PHP; front matter; Markdown code."""

import json
import re
from dataclasses import dataclass

# What stands for a template tag in the text that is parsed. Noncharacters of Unicode, so that no page contains them.
EXPRESSION, STATEMENT = "\ufdd0", "\ufdd1"

# TeX may have {{x}}, but after a command, a sign or a letter.
_TAG = re.compile(
    r"\{%-?\s*comment\b.*?\bendcomment\s*-?%\}|\{%.*?%\}|\{#[-\s].*?#\}"
    r"|(?<![\w}^_\\])\{\{!--.*?--\}\}|(?<![\w}^_\\])\{\{\{?(?:(?!\{\{|\}\}).)*\}\}\}?"
    r"|<%.*?%>|<\?.*?(?:\?>|\Z)",
    re.DOTALL,
)
_LOOP = re.compile(r"(?:\{%-?|\{\{[-~]?|<%-?|<\?(?:php)?)\s*#?(?:for|foreach|tablerow|while|range|each)\b")
_FRONT_MATTER = re.compile(r"\ufeff?(---|\+\+\+)[ \t]*\r?\n.*?^\1[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*\r?$|\Z)", re.DOTALL | re.MULTILINE)
_INDENTED_CODE = re.compile(r"(?:^[ \t]*\r?\n)(?:(?: {4}|\t)[^\n]*(?:\n|\Z))+", re.MULTILINE)
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)")
_NOT_NEWLINE = re.compile(r"[^\r\n]")


@dataclass(frozen=True, slots=True)
class Markup:
    """The HTML of a source: `text` is as long as the source, and elements are in the same places.

    Expressions and statements of templates are `EXPRESSION` and `STATEMENT` signs; comments, front matter and code of
    Markdown are spaces. `loops` is what is between the first loop and the last tag after it.
    """

    text: str
    loops: tuple[int, int]

    def is_in_loop(self, position: int) -> bool:
        """Returns whether a template may repeat what is at `position`."""
        return self.loops[0] <= position < self.loops[1]


def markup_of(source: str, *, is_markdown: bool) -> Markup:
    """Returns the HTML of a source."""
    text = _without_front_matter(source)
    if is_markdown:
        for pattern in (_FENCE, _INDENTED_CODE, _CODE_SPAN):
            text = pattern.sub(lambda match: _NOT_NEWLINE.sub(" ", match[0]), text)
    tags = list(_TAG.finditer(text))
    loop = next((tag for tag in tags if _LOOP.match(tag[0])), None)
    # Each language ends its loops in another way.
    last = tags[-1].end() if loop is not None and tags[-1] is not loop else len(text)
    return Markup(_TAG.sub(_masked, text), (loop.start(), last) if loop else (0, 0))


def _without_front_matter(source: str) -> str:
    if match := _FRONT_MATTER.match(source):
        return _NOT_NEWLINE.sub(" ", match[0]) + source[match.end() :]
    if re.match(r"\ufeff?\{\s*\"", source):
        try:
            _, end = json.JSONDecoder().raw_decode(source.removeprefix("\ufeff"))
        except (ValueError, RecursionError):
            return source
        end += source.startswith("\ufeff")
        return _NOT_NEWLINE.sub(" ", source[:end]) + source[end:]
    return source


def _masked(match: re.Match[str]) -> str:
    text = match[0]
    if text.startswith(("{#", "{{!")) or (text.startswith("{%") and "endcomment" in text):
        sign = " "
    else:
        sign = EXPRESSION if text.startswith(("{{", "<%=", "<?=")) else STATEMENT
    return _NOT_NEWLINE.sub(sign, text)
