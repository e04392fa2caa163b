"""Changes of a `learns.yml` that keep everything else in it: other pages, comments, order."""

import yaml
from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode

from sakuin.errors import Invalid
from sakuin.knowledge.authored.learns_yml import LEARNS_YML, Lists, parse_learns
from sakuin.language.unicode_text import nfc
from sakuin.texts.catalogue import coded

# YAML folds longer lines.
_ANY_WIDTH = 1_000_000


def with_lists(data: bytes, material: str, lists: Lists) -> bytes:
    """Returns the file with these lists of a material; an empty one removes the anchor's.

    `data` is empty for a new file. Raises `Invalid` if it cannot be read, or is not written with a line for each key.
    """
    text = data.decode("utf-8-sig", "replace")
    file, root = parse_learns(data), LEARNS_YML.root(data)
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
