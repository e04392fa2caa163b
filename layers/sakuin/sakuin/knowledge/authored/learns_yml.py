"""The file `learns.yml`, in which authors write `learns`: parsed, and changed without touching the rest of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import yaml
from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

from sakuin.errors import Invalid
from sakuin.knowledge.authored.authored_yaml import AuthoredYaml, is_text, line_of
from sakuin.knowledge.names import LEARNS_FILE, LONGEST_ANCHOR, is_anchor
from sakuin.language.unicode_text import nfc
from sakuin.texts.catalogue import coded

LARGEST_FILE = 4 * 1024 * 1024  # bytes
LONGEST_ITEM = 500  # characters
MOST_ITEMS = 50  # of one anchor
LONGEST_NAME = 1024  # characters of a material or an anchor, as in a key of S3
MOST_PROBLEMS = 100
# YAML folds longer lines.
_ANY_WIDTH = 1_000_000

_FILE = AuthoredYaml(
    LEARNS_FILE,
    largest=LARGEST_FILE,
    deepest=8,
    too_large=f"{LARGEST_FILE // 1024 // 1024} MiB. Split it by folder.",
    no_alias="Write the list out.",
    too_deep="Write material, anchor, list.",
)

Lists = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class LearnsFile:
    """Lists by material and anchor, both NFC; items are as in the file.

    `problems` are sentences about entries that were skipped. All other entries are valid.
    """

    lists: Mapping[str, Lists]
    problems: tuple[str, ...] = ()

    @property
    def materials(self) -> tuple[str, ...]:
        """Returns the materials as in the file: full names or last segments."""
        return tuple(self.lists)

    def for_material(self, material: str) -> Lists:
        """Returns the lists of a material. Those of its full name replace those of its last segment."""
        name = nfc(material)
        return {**self.lists.get(name.rpartition("/")[2], {}), **self.lists.get(name, {})}


def parse_learns(data: bytes) -> LearnsFile:
    """Parses a `learns.yml`. Raises `Invalid`, with the line if it is known, if the file has another structure.

    Aliases are not allowed, because they can expand without limit. Of a repeated key the first entry counts.
    """
    root = _FILE.root(data)
    if root is None:
        return LearnsFile({})
    if not isinstance(root, MappingNode):
        raise Invalid(coded("file.learns_root", line=line_of(root)))
    problems: list[str] = []
    return LearnsFile(dict(_materials(root, problems)), _shown(problems))


def learns_keys(key: str, prefix: str = "") -> list[str]:
    """Returns the keys of the `learns.yml` of a page: in its folder, then in each parent up to the prefix.

    Example: `junior/x.html` → `junior/learns.yml`, `learns.yml`.
    """
    top = len([part for part in prefix.split("/") if part])
    folders = key.split("/")[:-1]
    return ["/".join((*folders[:depth], LEARNS_FILE)) for depth in range(len(folders), min(top, len(folders)) - 1, -1)]


def _shown(problems: list[str]) -> tuple[str, ...]:
    more = len(problems) - MOST_PROBLEMS
    return (*problems[:MOST_PROBLEMS], f"and {more:,} more") if more > 0 else tuple(problems)


def _materials(root: MappingNode, problems: list[str]) -> Iterator[tuple[str, Lists]]:
    for name, node in _entries(root, problems):
        material = name.strip("/").removesuffix(".html")
        if not isinstance(node, MappingNode):
            problems.append(coded("file.learns_no_anchors", line=line_of(node), material=material))
        elif material:
            yield material, dict(_anchors(node, problems))


def _anchors(node: MappingNode, problems: list[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, value in _entries(node, problems):
        anchor = name.removeprefix("#")
        if not is_anchor(anchor):
            problems.append(coded("file.learns_no_anchor", line=line_of(value), anchor=anchor[:LONGEST_ANCHOR]))
            continue
        listed = value.value if isinstance(value, SequenceNode) else [value]
        if len(listed) > MOST_ITEMS:
            many = {"line": line_of(value), "anchor": anchor, "count": len(listed), "most": MOST_ITEMS}
            problems.append(coded("file.learns_many", **many))
        items = tuple(item for item in (_item(entry, anchor, problems) for entry in listed[:MOST_ITEMS]) if item)
        if items:
            yield anchor, items


def _item(node: Node, anchor: str, problems: list[str]) -> str:
    if is_text(node) and len(node.value) > LONGEST_ITEM:
        problems.append(coded("file.learns_long", line=line_of(node), anchor=anchor, most=LONGEST_ITEM))
        return ""
    if is_text(node) and "\0" in node.value:
        problems.append(coded("file.learns_nul", line=line_of(node), anchor=anchor))
        return ""
    if is_text(node) and node.value.strip():
        return str(node.value)
    problems.append(coded("file.learns_no_text", line=line_of(node), anchor=anchor))
    return ""


def _entries(node: MappingNode, problems: list[str]) -> Iterator[tuple[str, Node]]:
    """Yields key and value of each entry, without repeated keys."""
    seen: set[str] = set()
    for key, value in node.value:
        name = nfc(key.value.strip()) if isinstance(key, ScalarNode) else ""
        if not name or "\0" in name or len(name) > LONGEST_NAME:
            problems.append(coded("file.learns_key", line=line_of(key), most=LONGEST_NAME))
        elif name in seen:
            problems.append(coded("file.learns_repeated", line=line_of(key), name=name))
        else:
            seen.add(name)
            yield name, value


def with_lists(data: bytes, material: str, lists: Lists) -> bytes:
    """Returns the file with these lists of a material; an empty one removes the anchor's.

    `data` is empty for a new file. Raises `Invalid` if it cannot be read, or is not written with a line for each key.
    """
    text = data.decode("utf-8-sig", "replace")
    file, root = parse_learns(data), _FILE.root(data)
    entries = list(root.value) if isinstance(root, MappingNode) else []
    names = {_name(key): (key, value) for key, value in entries}
    name = next((each for each in (nfc(material), nfc(material).rpartition("/")[2]) if each in names), nfc(material))
    merged = {anchor: items for anchor, items in {**file.lists.get(name, {}), **lists}.items() if items}
    block = _written({name: {anchor: list(items) for anchor, items in merged.items()}}) if merged else ""
    if name not in names:
        return f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{block}".encode()
    key, value = names[name]
    if (isinstance(root, MappingNode) and root.flow_style) or key.start_mark.column:
        raise Invalid(coded("file.learns_flow"))
    end = text.find("\n", max(_end(value) - 1, 0))
    return f"{text[: key.start_mark.index]}{block}{text[end + 1 :] if end >= 0 else ''}".encode()


def _name(key: Node) -> str:
    return nfc(key.value.strip()).strip("/").removesuffix(".html") if isinstance(key, ScalarNode) else ""


def _end(node: Node) -> int:
    """Returns where the last value of a node ends: a block itself ends at the next key, after its comments."""
    while isinstance(node, CollectionNode) and node.value and not node.flow_style:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return int(node.end_mark.index)


def _written(document: object) -> str:
    return str(yaml.safe_dump(document, allow_unicode=True, sort_keys=False, width=_ANY_WIDTH))
