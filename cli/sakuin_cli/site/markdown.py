"""Markdown files as pages: titles, ids of headings, links to other files, formulas, and boxes of site generators."""

import html
import re
import tomllib
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import PurePath
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from mdit_py_plugins.admon import admon_plugin
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.anchors import anchors_plugin
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.gfm import gfm_plugin
from sakuin.knowledge.markdown import outside_code
from sakuin.knowledge.reading.decoding import plain_file_text
from sakuin.knowledge.reading.sections.admonitions import OF_DETAILS

from sakuin_cli.site.components import CODE, unless_code, with_shown_parts
from sakuin_cli.site.uploads import FRONT_MATTER, is_markdown

# The id that an author gives a heading, as in Pandoc, MkDocs, Docusaurus, Hugo and kramdown: `## Returns {#returns}`.
_ID = re.compile(r"\s*\{:?[^{}#]*#(?P<id>[^\s{}]+)[^{}]*\}\s*$")

_PAGE = '<!doctype html>\n<meta charset="utf-8">\n<title>{title}</title>\n<main>\n{body}</main>\n'

_HTML_TITLE = re.compile(r"<h1\b[^>]*>(.*?)</h1>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")

# What is between `\(` and `\)` is TeX if it looks so; else a writer escaped the brackets.
_IN_TEX = r"(?:(?!\\{1,2}[\])]|\n\n)[\s\S])"
_TEX = rf"(?P<a>[A-Za-z]{{1,2}}|(?={_IN_TEX}*?(?={_IN_TEX})[\\^_=<>+*/|]){_IN_TEX}+?)"

# `:::note Title`, `::: tip`, `:::{warning} Title`, `:::note[Title]`, `:::info{title="Title"}`; fences of MyST.
_BOX = re.compile(
    r"\{?(?P<kind>[A-Za-z][\w-]*)\}?\s*(?:\[(?P<bracketed>[^\]]*)\]|(?P<title>[^{\[].*)?)"
    r"(?:\{[^{}]*?\btitle=[\"'](?P<named>[^\"'{}]*))?"
)
_DIRECTIVE = re.compile(r"\{(?P<name>[\w:-]+)\}\s*(?P<argument>.*)")
_DIRECTIVE_OPTION = re.compile(r"\A(?:\s*:[\w-]+:[^\n]*\n)+\n?")
_CODE_DIRECTIVES = frozenset({"code", "code-block", "code-cell", "sourcecode"})
_UNSEEN_DIRECTIVES = frozenset({"toctree", "contents", "image", "tableofcontents"})

_CONTAINERS = frozenset({"dropdown", "tab-set", "tab-item", "grid", "grid-item", "grid-item-card", "card", "margin"})
_PARTS = frozenset({"sidebar", "topic", "figure", "table", "list-table", "glossary", "exercise", "solution"})
_CHANGES = frozenset({"versionadded", "versionchanged", "deprecated"})
_ADMONITIONS = OF_DETAILS | {"admonition"}

# What other programs than CommonMark read, with the same in words that are read here: `=== "Linux"` of Material for
# MkDocs, `{% hint style="info" %}` of GitBook, options in boxes of MyST, H~2~O and 10^3^ of Pandoc, lists of attributes
# of Kramdown; tags of Liquid, references of Hugo, tables of contents and comments are none of the text (a line of MyST
# that begins with % is one, unless a number is before it). An abbreviation is a line with its words; of the code of
# another file in VitePress its name is left.
_ATTRIBUTES = r"\{:\s*(?:\.[a-zA-Z][\w-]*|[\w-]+=)[^{}#\n]*\}"
_OTHER_WORDS = tuple(
    (re.compile(f"{CODE}|{written}", re.MULTILINE), instead)
    for written, instead in (
        (r"^(?P<a> *)===[+!]? (?P<b>\".+\")[ \t]*$", r"\g<a>!!! tab \g<b>"),
        (r"^[ \t]*\{%-?\s*hint\s+style=[\"']?(?P<a>\w+)[\"']?\s*-?%\}[ \t]*$", r"\n:::\g<a>\n"),
        (r"^[ \t]*\{%-?\s*endhint\s*-?%\}[ \t]*$", r"\n:::\n"),
        (r"^ {0,3}\{%[^%\n]*%\}[ \t]*$|\{%-?\s*(?:end)?raw\s*-?%\}", ""),
        (r"^(?P<a> *:{3,}\{[\w-]+\}.*\n)(?: *:[\w-]+:.*\n)+", r"\g<a>"),
        (r"(?<=\w)~(?P<a>[\w+-]{1,9})~(?!~)", r"<sub>\g<a></sub>"),
        (r"(?<=\w)\^(?P<a>[\w+-]{1,9})\^", r"<sup>\g<a></sup>"),
        (r"^\{::comment\}[ \t]*\n(?:.*\n)*?\{:/(?:comment)?\}[ \t]*$", ""),
        (r"^[*-] .*\n\{:toc\b.*\}[ \t]*$|^ {0,3}(?:\[(?i:toc)\]|\[\[_?(?i:toc)_?\]\])[ \t]*$", ""),
        (r"^ {0,3}\{:[^{}\n]*\}[ \t]*$|(?<=[)*_`])\{:?\s*(?:[.#][\w-]+|[\w-]+=)[^{}\n]*\}", ""),
        (rf"(?<=\S){_ATTRIBUTES}|{_ATTRIBUTES}(?=[ \t]*$)", ""),
        (r"(?:\A|(?<=\n)(?<![\d$})]\n))(?:%(?: .*)?(?:\n|\Z))+", ""),
        (r"^\*\[(?P<a>[^\]\n]+)\]:[ \t]*(?P<b>\S.*)$", r"- \g<a>: \g<b>"),
        (r"^[ \t]*<<<[ \t]*(?:@/|(?:\.{1,2}/)+)?(?P<a>[^\s{#]+).*$", r"\n`\g<a>`\n"),
        (r"^\([\w:. -]+\)=[ \t]*$|^\+\+\+(?: .*)?$|\{(?!math\})[a-z][\w:-]*\}(?=`[^`])", ""),
        (r"\{math\}`(?P<a>[^`\n]+)`", r"$\g<a>$"),
        (rf"\\{{1,2}}\(\s*{_TEX}\s*\\{{1,2}}\)", r"$\g<a>$"),
        (rf"(?<!\\)\\\[{_TEX}\\\]", r"$$\g<a>$$"),
        (r"\{\{[<%]\s*(?:rel)?ref\s+[\"']?(?P<a>[^\"'\s]+)[\"']?\s*[%>]\}\}", r"\g<a>"),
    )
)
_CALLOUT = re.compile(r"^(>[ >]*)\[!(?P<kind>\w+)\][-+]?[ \t]*(?P<title>.*)$", re.MULTILINE)
_ALERTS = frozenset({"NOTE", "TIP", "IMPORTANT", "WARNING", "CAUTION"})

# Code of Hugo and Jekyll: `{{< highlight go >}}`, `{% highlight ruby %}`.
_HIGHLIGHTED = re.compile(
    r"^[ \t]*\{[{%][<%]?-?\s*highlight\s+[\"']?(?P<language>[\w+#-]+).*\n(?P<code>(?:.*\n)*?)"
    r"[ \t]*\{[{%][<%]?-?\s*(?:end|/)highlight\b.*$",
    re.MULTILINE,
)


def page_of(data: bytes, name: str) -> bytes:
    """Returns a Markdown file as a page. Raises `UnreadablePage`, with the encoding, if it cannot be decoded.

    Its title is that of the front matter, else its first heading of rank 1, else the name of the file. Headings get the
    ids that their authors gave them, or ids as GitHub makes them. Links to other Markdown files lead to their pages.
    """
    text = plain_file_text(data).replace("\r\n", "\n")
    is_mdx = name.lower().endswith(".mdx")
    fields, text = _without_front_matter(text)
    title = " ".join(fields.get("title", "").split())
    text = outside_code(text, partial(_HIGHLIGHTED.sub, r"```\g<language>\n\g<code>```"))
    text = with_shown_parts(outside_code(text, _in_known_words), fields, is_mdx=is_mdx)
    reader = _reader()
    if is_mdx:
        reader.disable("code")
    notes: dict[str, object] = {}
    tokens = reader.parse(text, notes)
    for heading, inside in pairwise(tokens):
        if heading.type == "heading_open":
            _name(heading, inside)
    for token in tokens:
        _lead_to_pages(token.children or ())
        if token.attrs.get("class") == "admonition tab":
            token.attrs["class"] = "tab"
    body = str(reader.renderer.render(tokens, reader.options, notes))
    first = _first_title(tokens, body)
    if title and title != first:
        body = f"<h1>{html.escape(title)}</h1>\n{body}"
    shown = title or first or PurePath(name).stem
    return _PAGE.format(title=html.escape(shown), body=body).encode()


def _in_known_words(text: str) -> str:
    for written, instead in _OTHER_WORDS:
        text = written.sub(partial(unless_code, instead), text)
    return _CALLOUT.sub(_alert, text) or "\n"


def _alert(callout: re.Match[str]) -> str:
    kind = callout["kind"].upper()
    title = f"\n{callout[1]}**{callout['title']}**\n{callout[1]}" if callout["title"].strip() else ""
    return f"{callout[1]}[!{kind if kind in _ALERTS else 'NOTE'}]{title}"


def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark").use(gfm_plugin, front_matter=False).use(admon_plugin).use(amsmath_plugin)
    reader.use(dollarmath_plugin, allow_space=False, allow_digits=False, double_inline=True).use(
        anchors_plugin, max_level=6
    )
    reader.use(deflist_plugin).use(container_plugin, "box", validate=_is_box, render=_render_box)
    reader.add_render_rule("fence", _render_fence)
    return reader


def _without_front_matter(text: str) -> tuple[dict[str, str], str]:
    """Returns the texts and numbers of the front matter, and the text after it."""
    written = FRONT_MATTER.match(text)
    if written is None:
        return {}, text
    fields: object = None
    with suppress(yaml.YAMLError, tomllib.TOMLDecodeError, ValueError):
        load: Callable[[str], object] = yaml.safe_load if written["fence"] == "---" else tomllib.loads
        fields = load(written["fields"] or "")
    items = fields.items() if isinstance(fields, dict) else ()
    return {str(name): str(value) for name, value in items if isinstance(value, str | int | float)}, text[
        written.end() :
    ]


def _first_title(tokens: list[Token], body: str) -> str:
    titles = (
        after.content for before, after in pairwise(tokens) if before.type == "heading_open" and before.tag == "h1"
    )
    if (title := next(titles, "")) or not (written := _HTML_TITLE.search(body)):
        return title
    return " ".join(html.unescape(_TAG.sub(" ", written[1])).split())


def _name(heading: Token, title: Token) -> None:
    """Gives a heading the id that ends its title, and takes it off the title."""
    last = title.children[-1] if title.children else None
    if last is not None and (written := _ID.search(last.content)):
        heading.attrSet("id", written["id"])
        last.content = last.content[: written.start()]
        title.content = _ID.sub("", title.content)


def _lead_to_pages(tokens: "list[Token] | tuple[()]") -> None:
    for token in tokens:
        path, hash_sign, fragment = str(token.attrs.get("href", "")).partition("#")
        if is_markdown(path) and "://" not in path:
            token.attrs["href"] = f"{path.rpartition('.')[0]}.html{hash_sign}{fragment}"


def _is_box(info: str, *_: Any) -> bool:
    return _BOX.match(info.strip()) is not None


def _render_box(_self: Any, tokens: list[Token], place: int, *_: Any) -> str:
    written = _BOX.match(tokens[place].info.strip()) if tokens[place].nesting > 0 else None
    return (
        _box(written["kind"], written["bracketed"] or written["named"] or written["title"] or "")
        if written
        else "</div>\n"
    )


def _box(kind: str, title: str) -> str:
    """Returns the beginning of a box, of one that is no admonition without a class."""
    names = f"admonition {kind.lower()}" if kind.lower() in _ADMONITIONS else ""
    shown = f"<p class=admonition-title>{html.escape(title.strip())}</p>" if title.strip() else ""
    return f'<div class="{names}">{shown}\n'


def _render_fence(self: RendererHTML, tokens: list[Token], place: int, *rest: Any) -> str:
    """Renders a fence; a directive of MyST is code, a formula, or a box of Markdown."""
    token = tokens[place]
    directive = _DIRECTIVE.fullmatch(token.info.strip())
    if directive is None:
        return self.fence(tokens, place, *rest)
    name, argument = directive["name"], directive["argument"]
    content = _DIRECTIVE_OPTION.sub("", token.content)
    if name in _UNSEEN_DIRECTIVES:
        return ""
    if name == "math":
        return f"<p>\\[{html.escape(content.strip())}\\]</p>\n"
    if name in _CODE_DIRECTIVES:
        token.info, token.content = argument, content
        return self.fence(tokens, place, *rest)
    if name not in _ADMONITIONS | _CONTAINERS | _PARTS | _CHANGES:
        return self.fence(tokens, place, *rest)
    return f"{_box(name, argument)}{_reader().render(content)}</div>\n"
