"""The short fields of the objects around the strings of a Table: what a chunk is about (title, name, price)."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sakuin.tables.json_pointer import index_of, pointer_hash, pointer_of, tokens
from sakuin.tables.scan import problem_of

# In characters. With these, the fields of five results leave room for five chunks.
LONGEST_FIELD = 100
LONGEST_NAME = 50
MOST_CHARACTERS = 300
# Objects further away say little about a string.
LEVELS = 4


@dataclass(frozen=True, slots=True)
class TableObject:
    """An object of a document, at its absolute pointer. `fields` is a JSON object of its short fields, in order."""

    json_pointer: str
    fields: str
    pointer_hash: str = field(init=False)
    fields_hash: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pointer_hash", pointer_hash(self.json_pointer))
        object.__setattr__(self, "fields_hash", hashlib.sha256(self.fields.encode()).hexdigest()[:16])


def nearest_pointers(pointer: str) -> list[str]:
    """Returns the pointers of a node and of the nodes above it in which its object is searched, the nearest first."""
    steps = tokens(pointer)
    return [pointer_of(steps[:length]) for length in range(len(steps), max(-1, len(steps) - LEVELS - 1), -1)]


def surrounding_objects(document: object, pointers: Iterable[str]) -> Iterator[TableObject]:
    """Yields the nearest object around each of these nodes that has short fields, each once."""
    fields_of: dict[str, str | None] = {}
    seen: set[str] = set()
    for pointer in pointers:
        nodes = _nodes_above(document, tokens(pointer))
        for place, node in zip(nearest_pointers(pointer)[1:], reversed(nodes), strict=False):
            if place not in fields_of:
                fields_of[place] = _short_fields(node)
            fields = fields_of[place]
            if fields is not None:
                if place not in seen:
                    seen.add(place)
                    yield TableObject(place, fields)
                break


def _nodes_above(document: object, steps: tuple[str, ...]) -> list[object]:
    """Returns the nodes above a node, the document first."""
    nodes = [document]
    for step in steps[:-1]:
        node = nodes[-1]
        if isinstance(node, dict):
            nodes.append(node[step])
        elif isinstance(node, list) and (index := index_of(step)) is not None:
            nodes.append(node[index])
    return nodes


def _short_fields(node: object) -> str | None:
    if not isinstance(node, dict):
        return None
    fields: dict[str, str | int | float] = {}
    left = MOST_CHARACTERS
    for name, value in node.items():
        if not isinstance(value, str | int | float) or len(name) > LONGEST_NAME or problem_of(name):
            continue
        if len(written := str(value)) > LONGEST_FIELD or problem_of(written):
            continue
        left -= len(name) + len(written)
        if left < 0:
            break
        fields[name] = value
    return json.dumps(fields, ensure_ascii=False) if fields else None
