"""Members in a text of JSON with comments and trailing commas."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sakuin_cli.connecting.text import CannotEdit, Insertion, line_end

_SPACE: Final = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_INDENT: Final = re.compile(r"\n([ \t]+)\S")
_DECODER: Final = json.JSONDecoder()


@dataclass
class _Node:
    """A value, its place in the text and that of the comma after it; of an object or array, its children."""

    start: int
    end: int
    value: Any
    children: "list[tuple[str | None, _Node]]" = field(default_factory=list)
    comma: int | None = None
    # Of a child: where it begins, with its name.
    begin: int = 0

    def child(self, name: str) -> "_Node | None":
        """Returns the member `name`, or of an array the object with this `id`; of duplicates the last, which counts."""
        found = [node for key, node in self.children if name == (_id(node.value) if key is None else key)]
        return found[-1] if found else None


def _id(value: Any) -> Any:
    return value.get("id") if isinstance(value, dict) else None


def read(text: str) -> Any:
    """Returns the value of the text; an empty one is an empty object. Raises `CannotEdit`."""
    return _parse(text).value if text.strip("\ufeff \t\r\n") else {}


def insert(text: str, addition: Mapping[str, Any]) -> tuple[str, list[Insertion]]:
    """Adds the members of `addition`, and the items and members of these, where they are missing.

    Each becomes the first one of its object or array, so that it needs no comma before it.
    """
    if not text.strip("\ufeff \t\r\n"):
        written = json.dumps(addition, ensure_ascii=False, indent=2) + "\n"
        return text + written, [Insertion(len(text), len(written))]
    insertions = []
    for name, value in addition.items():
        inside = _parse(text).child(name)
        if inside and type(inside.value) is not type(value):
            raise CannotEdit(f"{name} is not what it should be")
        if not inside:
            parts: list[tuple[str | None, Any]] = [(name, value)]
        elif isinstance(value, list):
            parts = [(None, one) for one in value if not inside.child(one["id"])]
        else:
            parts = [(key, one) for key, one in value.items() if not inside.child(key)]
        for key, one in parts:
            node = _parse(text)
            text, insertion = _insert_first(text, (inside and node.child(name)) or node, key, one, bool(inside))
            insertions.append(insertion)
    return text, insertions


def _insert_first(text: str, into: _Node, key: str | None, value: Any, inner: bool) -> tuple[str, Insertion]:
    end, found = line_end(text), _INDENT.search(text)
    unit = found[1] if found else "  "
    outer = unit if inner else ""
    written = json.dumps(value, ensure_ascii=False, indent=unit)
    if key is not None:
        written = f"{json.dumps(key, ensure_ascii=False)}: {written}"
    written = end + outer + unit + written.replace("\n", end + outer + unit)
    written += "," if into.children else end + outer
    place = into.start + 1
    return text[:place] + written + text[place:], Insertion(place, len(written))


def remove(text: str, path: Sequence[str], *, if_empty: bool = False) -> str:
    """Removes what is at `path`, with its comma; with `if_empty`, only an empty object or array."""
    *outer, last = path
    node: _Node | None = _parse(text)
    for name in outer:
        node = node and node.child(name)
    child = node and node.child(last)
    if not node or not child or (if_empty and child.children):
        return text
    siblings = [one for _, one in node.children]
    at = next(number for number, one in enumerate(siblings) if one is child)
    before = text[: child.begin].rstrip(" \t\r\n")
    # The end of a line closes the comment on it.
    pieces = [(len(before) if before[-1] in "{[," else child.begin, child.end)]
    comma = child.comma
    if comma is None and at:
        comma = siblings[at - 1].comma
    if comma is not None:
        pieces.append((comma, comma + 1))
    for start, end in sorted(pieces, reverse=True):
        text = text[:start] + text[end:]
    return text


def _parse(text: str) -> _Node:
    try:
        node = _value(text, _skip(text, 0))
    except json.JSONDecodeError as error:
        raise _broken(text, error.pos) from error
    # An IndexError: the text ends too early.
    except (IndexError, ValueError) as error:
        raise _broken(text, len(text)) from error
    except RecursionError as error:
        raise CannotEdit("it is nested too deeply") from error
    if (rest := _skip(text, node.end)) != len(text):
        raise _broken(text, rest)
    return node


def _broken(text: str, at: int) -> CannotEdit:
    line = text.count("\n", 0, at) + 1
    return CannotEdit(f"it is not valid JSON, near line {line}")


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _value(text: str, start: int) -> _Node:
    closing = {"{": "}", "[": "]"}.get(text[start])
    if closing is None:
        value, end = _DECODER.raw_decode(text, start)
        return _Node(start, end, value)
    node = _Node(start, start, {} if closing == "}" else [])
    at = _skip(text, start + 1)
    while text[at] != closing:
        if node.children and node.children[-1][1].comma is None:
            raise _broken(text, at)
        begin, key = at, None
        if closing == "}":
            key, at = _key(text, at)
        child = _value(text, at)
        child.begin = begin
        node.children.append((key, child))
        if key is None:
            node.value.append(child.value)
        else:
            node.value[key] = child.value
        at = _skip(text, child.end)
        if text[at] == ",":
            child.comma = at
            at = _skip(text, at + 1)
    node.end = at + 1
    return node


def _key(text: str, start: int) -> tuple[str, int]:
    """Returns the name of a member, and where its value begins."""
    key, end = _DECODER.raw_decode(text, start)
    colon = _skip(text, end)
    if not isinstance(key, str) or text[colon] != ":":
        raise _broken(text, start)
    return key, _skip(text, colon + 1)
