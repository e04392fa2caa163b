"""The text of a `learns.yml`: drafts are added to it, and nothing in it changes."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

import yaml
from sakuin.errors import Invalid
from sakuin.knowledge.learns.learns_yml import parse_learns
from sakuin.language.unicode_text import nfc
from yaml.nodes import MappingNode, Node, ScalarNode

_DRAFT = re.compile(r"\s*# draft \(")
_LINES = re.compile("[^\n\r\x85\u2028\u2029]*(?:\r\n|[\n\r\x85\u2028\u2029])|[^\n\r\x85\u2028\u2029]+$")
_PLAIN_KEY = re.compile(r"[^\W\d][\w./-]*")
_YAML_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


@dataclass(frozen=True, slots=True)
class Draft:
    """Items for one anchor, and who wrote them: `rules` or the name of a model."""

    items: tuple[str, ...]
    by: str


# Drafts by material, as the file is to name it, and anchor.
Drafts = Mapping[str, Mapping[str, Draft]]


def drafted_anchors(data: bytes) -> Iterator[tuple[str, str]]:
    """Yields material and anchor, as in the file, of entries that have the comment of a draft above them."""
    text, _ = _text(data)
    lines = _LINES.findall(text)
    for material, node in _entries(_root(text)):
        for anchor, key in _anchors(node):
            before = key.start_mark.line - 1
            if before >= 0 and _DRAFT.match(lines[before]):
                yield material, anchor


def with_drafts(data: bytes, drafts: Drafts) -> bytes:
    """Returns the file with drafts for anchors that it does not name. Everything else stays, comments included.

    Raises `Invalid` if they cannot be added, because an entry is written in braces.
    """
    text, bom = _text(data)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = _LINES.findall(text)
    if lines and not lines[-1].endswith(("\n", "\r")):
        lines[-1] += newline
    known = {name.removesuffix(".html"): node for name, node in _entries(_root(text))}
    added: dict[int, list[str]] = {}
    # Pages that the file names come first: the last of them may end where new ones begin.
    for material, entries in sorted(drafts.items(), key=lambda one: one[0] not in known):
        node = known.get(material)
        if node is None:
            block = ["", f"{_key(material)}:", *_block(entries, 2)]
            place, block = len(lines), block if lines or added else block[1:]
        elif empty := entries.keys() & {anchor for anchor, _ in _anchors(node)}:
            named = f"learns.yml, {material}: {', '.join(sorted(empty))} has no items"
            raise Invalid(f"{named}. Write some or remove the line, then run the command again")
        elif isinstance(node, MappingNode) and not node.flow_style:
            place, block = _line_after(node), _block(entries, node.value[0][0].start_mark.column)
        else:
            raise Invalid(f"learns.yml, {material}: put its anchors on lines of their own, then run the command again")
        added.setdefault(place, []).extend(block)
    for place, block in sorted(added.items(), reverse=True):
        lines[place:place] = [f"{line}{newline}" for line in block]
    written = bom + "".join(lines).encode()
    _check(data, written, drafts)
    return written


def _check(data: bytes, written: bytes, drafts: Drafts) -> None:
    """Raises `Invalid` if the new file does not say what the old one and the drafts say."""
    wanted = _said(data)
    for material, entries in drafts.items():
        lists = wanted.setdefault(nfc(material), {})
        lists.update({nfc(anchor): draft.items for anchor, draft in entries.items()})
    if _said(written) != wanted:
        raise Invalid("learns.yml has a form that drafts cannot be added to. Write the drafts into another file")


def _said(data: bytes) -> dict[str, dict[str, tuple[str, ...]]]:
    """Returns the lists of a file. A block at its end gets a line end when something follows, which means nothing."""
    lists = parse_learns(data).lists
    return {
        material: {anchor: tuple(item.rstrip("\r\n") for item in items) for anchor, items in entries.items()}
        for material, entries in lists.items()
    }


def _text(data: bytes) -> tuple[str, bytes]:
    bom = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    return data[len(bom) :].decode(), bom


def _root(text: str) -> MappingNode | None:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    return root if isinstance(root, MappingNode) else None


def _entries(root: MappingNode | None) -> Iterator[tuple[str, Node]]:
    for key, value in root.value if root else ():
        if isinstance(key, ScalarNode):
            yield nfc(key.value.strip()).strip("/"), cast(Node, value)


def _anchors(node: Node) -> Iterator[tuple[str, Node]]:
    for key, _ in node.value if isinstance(node, MappingNode) else ():
        if isinstance(key, ScalarNode):
            yield nfc(key.value.strip()).removeprefix("#"), key


def _line_after(node: MappingNode) -> int:
    """Returns the line after the last item of a material, before the comments that follow."""
    last: Node = node
    while isinstance(last, MappingNode) and last.value:
        last = last.value[-1][1]
    if isinstance(last, yaml.SequenceNode) and last.value and not last.flow_style:
        last = last.value[-1]
    mark = last.end_mark
    return int(mark.line + (mark.column > 0))


def _block(entries: Mapping[str, Draft], indent: int) -> list[str]:
    margin = " " * indent
    return [
        line
        for anchor, draft in entries.items()
        for line in (
            f"{margin}# draft ({draft.by}): review it, then delete this line",
            f"{margin}{_key(anchor)}:",
            *(f"{margin}  - {json.dumps(item, ensure_ascii=False)}" for item in draft.items),
        )
    ]


def _key(name: str) -> str:
    is_plain = _PLAIN_KEY.fullmatch(name) and name.lower() not in _YAML_WORDS
    return name if is_plain else json.dumps(name, ensure_ascii=False)
