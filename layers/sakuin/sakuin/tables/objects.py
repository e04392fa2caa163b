"""The short fields of the objects around the strings of a Table: what a chunk is about (title, name, price)."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from sakuin.tables.json_pointer import index_of, is_within, pointer_hash, pointer_of, tokens
from sakuin.tables.scan import LargeString, problem_of

# In characters. With these, the fields of five results leave room for five chunks.
LONGEST_FIELD = 100
LONGEST_NAME = 50
MOST_CHARACTERS = 300
# Objects further away say little about a string.
LEVELS = 4
# Of the texts beside a string, in characters: with more, all chunks of an object would be alike.
LONGEST_TITLE = 150
# Addresses and numbers say nothing.
_SAYS_SOMETHING = re.compile(r"^(?!\S+://|\S+@\S+$).*[^\W\d_]{2}")

Fields = dict[str, str | int | float]


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
    around = {place: fields for place, fields in _around(document, pointers) if fields}
    for place, fields in around.items():
        yield TableObject(place, json.dumps(fields, ensure_ascii=False))


def titles_around(document: object, strings: Sequence[LargeString], scopes: Sequence[str]) -> Iterator[str]:
    """Yields for each string the other texts in the short fields of its object, a line each; empty without.

    They are the question of an answer, the name of a product, the title of an article. An object outside of `scopes`
    has none.
    """
    around = _around(document, (string.json_pointer for string in strings))
    for string, (place, fields) in zip(strings, around, strict=True):
        lines, left = [], LONGEST_TITLE
        for text in fields.values() if any(is_within(place, scope) for scope in scopes) else ():
            if isinstance(text, str) and text != string.text and _SAYS_SOMETHING.search(text):
                left -= len(text)
                if left < 0:
                    break
                lines.append(text)
        yield "\n".join(lines)


def _around(document: object, pointers: Iterable[str]) -> Iterator[tuple[str, Fields]]:
    """Yields for each of these nodes the pointer of the nearest object with short fields, and these; empty without."""
    fields_of: dict[str, Fields] = {}
    for pointer in pointers:
        nodes = _nodes_above(document, tokens(pointer))
        for place, node in zip(nearest_pointers(pointer)[1:], reversed(nodes), strict=False):
            if place not in fields_of:
                fields_of[place] = _short_fields(node)
            if fields_of[place]:
                yield place, fields_of[place]
                break
        else:
            yield "", {}


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


def _short_fields(node: object) -> Fields:
    if not isinstance(node, dict):
        return {}
    fields: Fields = {}
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
    return fields
