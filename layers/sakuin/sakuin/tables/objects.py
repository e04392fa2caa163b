"""The short fields of the objects around the strings of a Table: what a chunk is about (title, name, price)."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from sakuin.retrieval.filters import Attributes
from sakuin.tables.entries import NO_ENTRIES, EntryRules
from sakuin.tables.json_pointer import index_of, is_within, pointer_hash, pointer_of, resolve, tokens
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
    """An object of a document, at its absolute pointer. `fields` is a JSON object of its short fields, in order.

    Of an entry these are the fields that results show, and it has `attributes`.
    """

    json_pointer: str
    fields: str
    attributes: Attributes | None = None
    pointer_hash: str = field(init=False)
    fields_hash: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pointer_hash", pointer_hash(self.json_pointer))
        text = self.fields if self.attributes is None else self.fields + json.dumps(self.attributes)
        object.__setattr__(self, "fields_hash", hashlib.sha256(text.encode()).hexdigest()[:16])


def nearest_pointers(pointer: str) -> list[str]:
    """Returns the pointers of a node and of the nodes above it in which its object is searched, the nearest first."""
    steps = tokens(pointer)
    return [pointer_of(steps[:length]) for length in range(len(steps), max(-1, len(steps) - LEVELS - 1), -1)]


def surrounding_objects(
    document: object, pointers: Iterable[str], rules: EntryRules = NO_ENTRIES
) -> Iterator[TableObject]:
    """Yields the nearest object around each of these nodes that has short fields, or its entry, each once."""
    others: list[str] = []
    places: dict[str, None] = {}
    for pointer in pointers:
        if (place := rules.entry_of(pointer)) is None:
            others.append(pointer)
        else:
            places[place] = None
    for place in places:
        entry = resolve(document, place)
        yield TableObject(place, json.dumps(rules.shown(entry), ensure_ascii=False), rules.attributes(entry))
    around = {place: fields for place, fields in _around(document, others) if fields and place not in places}
    for place, fields_around in around.items():
        yield TableObject(place, json.dumps(fields_around, ensure_ascii=False))


def attributes_of(document: object, strings: Iterable[LargeString], rules: EntryRules) -> Iterator[Attributes | None]:
    """Yields for each string the attributes of its entry, None outside of entries."""
    of_entry: dict[str, Attributes] = {}
    for string in strings:
        place = rules.entry_of(string.json_pointer)
        if place is not None and place not in of_entry:
            of_entry[place] = rules.attributes(resolve(document, place))
        yield None if place is None else of_entry[place]


def titles_around(
    document: object, strings: Sequence[LargeString], scopes: Sequence[str], rules: EntryRules = NO_ENTRIES
) -> Iterator[str]:
    """Yields for each string the other texts in the short fields of its object, a line each; empty without.

    They are the question of an answer, the name of a product, the title of an article. An object outside of `scopes`
    has none. In an entry they are those of its searched fields.
    """
    around = _around(document, (string.json_pointer for string in strings), rules)
    for string, (place, fields) in zip(strings, around, strict=True):
        lines, left = [], LONGEST_TITLE
        for text in fields.values() if any(is_within(place, scope) for scope in scopes) else ():
            if isinstance(text, str) and text != string.text and _SAYS_SOMETHING.search(text):
                left -= len(text)
                if left < 0:
                    break
                lines.append(text)
        yield "\n".join(lines)


def _around(document: object, pointers: Iterable[str], rules: EntryRules = NO_ENTRIES) -> Iterator[tuple[str, Fields]]:
    """Yields for each of these nodes the pointer of the nearest object with short fields, and these; empty without."""
    fields_of: dict[str, Fields] = {}
    for pointer in pointers:
        if (entry := rules.entry_of(pointer)) is not None:
            if entry not in fields_of:
                fields_of[entry] = _short_fields(rules.searched(resolve(document, entry)))
            yield entry, fields_of[entry]
            continue
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
