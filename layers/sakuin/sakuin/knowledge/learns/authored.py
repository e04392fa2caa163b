"""Files of authors beside their pages: `learns.yml` and `synonyms.yml`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import yaml
from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

from sakuin.errors import Invalid
from sakuin.knowledge.names import LEARNS_FILE, LONGEST_ANCHOR, SYNONYMS_FILE, is_anchor
from sakuin.language.synonyms import MOST_BYTES, MOST_GROUPS, Group, read_group
from sakuin.language.unicode_text import nfc
from sakuin.texts.catalogue import coded

TEXT_TAG = "tag:yaml.org,2002:str"
_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class AuthoredYaml:
    """One kind of file with its name, its largest size in bytes and its deepest nesting.

    `too_large`, `no_alias` and `too_deep` are the endings of the error messages.
    """

    name: str
    largest: int
    deepest: int
    too_large: str
    no_alias: str
    too_deep: str

    def root(self, data: bytes) -> Node | None:
        """Returns the root node; None if the file is empty. Raises `Invalid`, with the line if known.

        Rejects aliases, which can expand to unlimited size.
        """
        if len(data) > self.largest:
            raise Invalid(coded("file.too_large", file=self.name, most=self.too_large))
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise Invalid(coded("file.not_utf8", file=self.name, byte=str(error.start))) from error
        try:
            self._reject_expansion(text)
            root: Node | None = yaml.compose(text, Loader=_LOADER)
        except yaml.MarkedYAMLError as error:
            line = str(error.problem_mark.line + 1) if error.problem_mark else "?"
            problem = error.problem or "not YAML"
            raise Invalid(coded("file.not_yaml", file=self.name, line=line, problem=problem)) from error
        except yaml.YAMLError as error:
            raise Invalid(
                coded("file.not_yaml_at_all", file=self.name, problem=" ".join(str(error).split()))
            ) from error
        return None if isinstance(root, ScalarNode) and not root.value else root

    def _reject_expansion(self, text: str) -> None:
        depth = 0
        for event in yaml.parse(text, Loader=_LOADER):
            if isinstance(event, yaml.AliasEvent):
                raise Invalid(coded("file.alias", file=self.name, line=line_of(event), instead=self.no_alias))
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > self.deepest:
                    raise Invalid(coded("file.too_deep", file=self.name, line=line_of(event), instead=self.too_deep))
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1


def is_text(node: Node) -> bool:
    """Returns whether a node is a string, not a number, a date or a list."""
    return isinstance(node, ScalarNode) and node.tag == TEXT_TAG


def line_of(node: Node | yaml.Event) -> str:
    """Returns the line of a node, counted from 1; `?` if it is unknown."""
    return str(node.start_mark.line + 1) if node.start_mark else "?"


LARGEST_FILE = 4 * 1024 * 1024  # bytes
LONGEST_ITEM = 500  # characters
MOST_ITEMS = 50  # of one anchor
LONGEST_NAME = 1024  # characters of a material or an anchor, as in a key of S3
MOST_PROBLEMS = 100
# YAML folds longer lines.
_ANY_WIDTH = 1_000_000

_LEARNS = AuthoredYaml(
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
    root = _LEARNS.root(data)
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
    omitted = len(problems) - MOST_PROBLEMS
    return (*problems[:MOST_PROBLEMS], coded("file.more", count=omitted)) if omitted > 0 else tuple(problems)


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
    file, root = parse_learns(data), _LEARNS.root(data)
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


_SYNONYMS = AuthoredYaml(
    SYNONYMS_FILE,
    largest=MOST_BYTES,
    deepest=3,
    too_large=f"{MOST_BYTES // 1024} KiB. Keep the groups that matter.",
    no_alias="Write the group out.",
    too_deep="Write a list of groups.",
)


@dataclass(frozen=True, slots=True)
class SynonymsFile:
    """Groups of synonymous phrases in NFC; `problems` describe the groups and phrases that were left out."""

    groups: tuple[Group, ...]
    problems: tuple[str, ...] = ()


def parse_synonyms(data: bytes) -> SynonymsFile:
    """Parses a list of groups such as `- [速さの公式, みはじ, はじき]`.

    Raises `Invalid`, with the line if known, if the file is not YAML of that shape. A phrase can be in several groups;
    a repeated phrase in one group counts once. An invalid group or phrase does not affect the others.
    """
    root = _SYNONYMS.root(data)
    if root is None:
        return SynonymsFile(())
    if not isinstance(root, SequenceNode):
        raise Invalid(coded("file.synonyms_root", line=line_of(root)))
    groups: list[Group] = []
    problems: list[str] = []
    for node in root.value:
        if len(groups) == MOST_GROUPS:
            problems.append(f"line {line_of(node)}: more than {MOST_GROUPS} groups; those from here on are left out.")
            break
        if group := _group(node, problems):
            groups.append(group)
    return SynonymsFile(tuple(groups), tuple(problems))


def _group(node: Node, problems: list[str]) -> Group | None:
    if not isinstance(node, SequenceNode):
        problems.append(f"line {line_of(node)}: a group is a list of phrases, `- [one, another]`.")
        return None
    phrases = ((f"line {line_of(item)}", item.value if is_text(item) else None) for item in node.value)
    return read_group(phrases, f"line {line_of(node)}", problems)
