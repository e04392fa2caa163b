"""Template tags in the sources of pages: Liquid, Jinja, Hugo, Handlebars, ERB, PHP; front matter; Markdown code."""

import json
import re
from collections.abc import Iterator
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
_WORD = re.compile(r"(?:\{%-?|\{\{\{?[-~]?|<%-?|<\?(?:php)?)\s*([#/^]?\s*\w*)")
_CONDITIONS = frozenset(
    {"if", "elsif", "elif", "elseif", "else", "unless", "case", "when", "endif", "endunless", "endcase", "end", "with"}
    | {"#if", "/if", "#unless", "/unless", "^"}
)
_LOOPS = frozenset({"for", "tablerow", "foreach", "while", "range", "#each", "each"})
_LOOP_ENDS = frozenset({"endfor", "endtablerow", "endforeach", "endwhile", "/each"})
# Blocks of Hugo that `end` closes.
_BLOCKS = frozenset({"if", "with", "define", "block", "range", "unless", "case"})
_FRONT_MATTER = re.compile(r"\ufeff?(---|\+\+\+)[ \t]*\r?\n.*?^\1[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*\r?$|\Z)", re.DOTALL | re.MULTILINE)
_INDENTED_CODE = re.compile(r"(?:^[ \t]*\r?\n)(?:(?: {4}|\t)[^\n]*(?:\n|\Z))+", re.MULTILINE)
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)")
_NOT_NEWLINE = re.compile(r"[^\r\n]")


@dataclass(frozen=True, slots=True)
class Markup:
    """The HTML of a source: `text` is as long as the source, and elements are in the same places.

    Expressions and statements of templates are `EXPRESSION` and `STATEMENT` signs; conditions, comments, front matter
    and code of Markdown are spaces. `loops` are the spans from the beginning to the end of a loop.
    """

    text: str
    loops: tuple[tuple[int, int], ...]

    def is_in_loop(self, position: int) -> bool:
        """Returns whether a template repeats what is at `position`."""
        return any(start <= position < end for start, end in self.loops)


def markup_of(source: str, *, is_markdown: bool) -> Markup:
    """Returns the HTML of a source."""
    text = _without_front_matter(source)
    if is_markdown:
        for pattern in (_FENCE, _INDENTED_CODE, _CODE_SPAN):
            text = pattern.sub(lambda match: _NOT_NEWLINE.sub(" ", match[0]), text)
    tags = list(_TAG.finditer(text))
    return Markup(_TAG.sub(_masked, text), tuple(_loops(tags, len(text))))


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
    word = _word(text)
    if word in _CONDITIONS or text.startswith(("{#", "{{!")) or word == "comment":
        sign = " "
    else:
        sign = EXPRESSION if text.startswith(("{{", "<%=", "<?=")) and word not in _LOOPS | _LOOP_ENDS else STATEMENT
    return _NOT_NEWLINE.sub(sign, text)


def _loops(tags: list[re.Match[str]], end: int) -> Iterator[tuple[int, int]]:
    open_blocks: list[tuple[int, bool]] = []
    for tag in tags:
        word = _word(tag[0])
        # Hugo and ERB close every block with `end`; in other languages a condition has an end of its own.
        closes_with_end = tag[0].startswith(("{{", "<%"))
        if word in _LOOPS or (word in _BLOCKS and closes_with_end):
            open_blocks.append((tag.start(), word in _LOOPS))
        elif (word in _LOOP_ENDS or (word == "end" and closes_with_end)) and open_blocks:
            start, is_loop = open_blocks.pop()
            if is_loop:
                yield start, tag.end()
    yield from ((start, end) for start, is_loop in open_blocks if is_loop)


def _word(tag: str) -> str:
    match = _WORD.match(tag)
    return re.sub(r"\s+", "", match[1]) if match else ""
