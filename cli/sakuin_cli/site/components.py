"""What readers see of the components, expressions and shortcodes in Markdown files of MDX, VitePress and Hugo."""

import html
import re
from collections.abc import Mapping
from functools import partial

from sakuin.knowledge.markdown import outside_code

CODE = (
    r"^[ \t>]*(?P<fence>`{3,}|~{3,})[^`\n]*\n(?:.*\n)*?[ \t>]*(?P=fence)"
    r"|(?<!`)(?P<ticks>`+)(?!`)(?:.|\n(?!\n))+?(?<!`)(?P=ticks)(?!`)"
)

_MODULE = re.compile(
    r"(?:(?<=\n\n)|\A\n*)(?:import\s+(?:[^\n]|\n(?!\n))+?from\s*[\"']|import\s*[\"']"
    r"|export\s+(?:const|let|var|default|function|async)\b)(?:.|\n(?!\n))*"
)
_EXPORTED = re.compile(r"^export\s+const\s+(\w+)[^=\n]*=\s*([\"'`]?)([^\n\"'`${}]+?)\2;?[ \t]*$", re.MULTILINE)

_WORDS = r"\"[^\"]*\"|'[^']*'"
_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})*\}"
_FIELDS = rf"(?:[^<>\"'{{}}]|{_WORDS}|{_BRACES})*"
_FORMULA = r"\$\$(?:.|\n)*?\$\$|(?<![\\$\d])\$(?![\s$])[^$\n]*?(?<![\s\\])\$(?!\d)"
_IN_QUOTES = r"(?P<sign>[\"'`])(?P<string>(?:(?!(?P=sign))[^\\{}])*)(?P=sign)"

# Formulas, directives, and attributes as `{#id}` are no expressions.
_PART_OF_MDX = re.compile(
    rf"{CODE}|(?P<kept>{_FORMULA}|^[ \t]*:::.*$)|\{{/\*(?:.|\n)*?\*/\}}|\{{\s*{_IN_QUOTES}\s*\}}"
    rf"|(?P<line>^[ \t]*)?</?(?:[A-Z][\w.]*|>)(?P<fields>{_FIELDS})/?>(?P<end>[ \t]*$)?"
    rf"|(?P<tag><[a-z][\w-]*(?=[\s/]){_FIELDS}>)|(?<!\\)(?P<expression>(?!\{{[#.:]){_BRACES})",
    re.MULTILINE,
)
_PART_OF_MARKDOWN = re.compile(
    rf"{CODE}|(?P<line>^[ \t]*)?\{{\{{[<%]\s*/?(?P<fields>(?:[^\"'{{}}<>%]|{_WORDS}|`[^`]*`)*)[%>]\}}\}}"
    r"(?P<end>[ \t]*$)?|\{\{\s*\$frontmatter\.(?P<name>[\w-]+)[^{}]*\}\}",
    re.MULTILINE,
)
_SHOWN = re.compile(rf"(?:^tab\s+(?:name=)?|\b(?:title|label|header|summary|caption)\s*=\s*\{{?\s*)({_WORDS})")

_FIELD = re.compile(rf"\s(?:(?P<name>[\w:-]+)=)?(?:\{{\s*{_IN_QUOTES}\s*\}}|{_BRACES})")
_TAG = re.compile(rf"<(?:/?[A-Za-z][\w.-]*{_FIELDS}|/)?>")
_COMMENT = re.compile(r"/\*(?:.|\n)*?\*/")
_FILLED = re.compile(r"\$\{([^{}]*)\}")
# A string that is chosen or joined: `open ? "yes" : "no"`.
_CHOSEN = re.compile(r"(?:^|\?|\s:|&&|\|\||=>|\+)\s*([\"'`])((?:(?!\1)[^\\\n])*)\1(?=\s*(?:$|[:)?|+]))")


def with_shown_parts(text: str, fields: Mapping[str, str], *, is_mdx: bool) -> str:
    """Returns a text with what readers see of its parts, without modules and comments.

    A component shows its title or its label, as a shortcode of Hugo. An expression shows its elements and the strings
    that it chooses from; a name shows the value that an `export const`, or the `fields` of the front matter, give it.
    Any other code is none of the text.
    """
    if not is_mdx:
        return _PART_OF_MARKDOWN.sub(partial(_shown, fields), text)
    values = {f"{name}.{field}": value for name in ("frontmatter", "frontMatter") for field, value in fields.items()}

    def take(module: re.Match[str]) -> str:
        values.update({name: value for name, _, value in _EXPORTED.findall(module[0])})
        return ""

    return _PART_OF_MDX.sub(partial(_shown, values), outside_code(text, partial(_MODULE.sub, take)))


def unless_code(instead: str, found: re.Match[str]) -> str:
    """Returns what stands instead of a match; code stays."""
    return found[0] if found["fence"] or found["ticks"] else found.expand(instead)


def _shown(values: Mapping[str, str], written: re.Match[str]) -> str:
    """Returns what is shown of a part; a component alone on its lines is a block."""
    part = written.groupdict()
    if part.get("kept"):
        return written[0]
    if part.get("string") is not None:
        return part["string"] or ""
    if part.get("tag"):
        return _FIELD.sub(_attribute, written[0])
    if part.get("name"):
        return values.get(part["name"] or "", "")
    if part.get("expression"):
        return _result(values, _COMMENT.sub("", written[0][1:-1]).strip())
    words = _SHOWN.search(part.get("fields") or "")
    label = f" <strong>{html.escape(words[1][1:-1])}</strong> " if words else " " * bool(part["fields"])
    is_block = part["line"] is not None and part["end"] is not None
    shown = f"\n\n{part['line']}{label.strip()}\n\n" if is_block else label
    return unless_code(shown.replace("\\", "\\\\"), written)


def _attribute(field: re.Match[str]) -> str:
    is_string = field["name"] and field["string"] is not None
    return f' {field["name"]}="{html.escape(field["string"])}"' if is_string else ""


def _result(values: Mapping[str, str], code: str) -> str:
    """Returns what is shown of an expression: a value, a filled text, or its elements and strings."""
    if code in values:
        return values[code]
    if len(code) > 1 and code[0] == code[-1] == "`":
        return _FILLED.sub(lambda name: values.get(name[1].strip(), ""), code[1:-1])
    shown, depth, end = [], 0, 0
    for tag in (*_TAG.finditer(code), None):
        between = code[end : tag.start() if tag else None]
        shown.append(between if depth else " ".join(string for _, string in _CHOSEN.findall(between.strip())))
        if tag:
            shown.append(tag[0])
            end, depth = tag.end(), depth + (-1 if tag[0][1] == "/" else not tag[0].endswith("/>"))
    return _PART_OF_MDX.sub(partial(_shown, values), "".join(shown))
