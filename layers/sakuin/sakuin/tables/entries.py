"""The entries of a Table: their places in the document, and their fields."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError

from sakuin.errors import Invalid, NotFound
from sakuin.retrieval.filters import (
    LONGEST_NAME,
    MOST_FILTERS,
    MOST_VALUES,
    Attributes,
    Condition,
    FieldType,
    Value,
    is_text,
    value_of,
)
from sakuin.tables.json_pointer import resolve

MOST_FIELDS = 50
# Of the fields that a result shows, in JSON.
_MOST_SHOWN = 2_000
_STEP = "*"


@dataclass(frozen=True, slots=True)
class EntryRules:
    """What the entries of a Table are.

    `pattern` is a JSON Pointer in which a step `*` stands for any key. Fields are pointers in an entry, without the
    slash at the beginning. `search` None: all strings; `show` None: all fields; `filter`: the types by field.
    Without a pattern there are none.
    """

    pattern: str
    search: tuple[str, ...] | None = None
    show: tuple[str, ...] | None = None
    filter: Mapping[str, FieldType] = field(default_factory=dict)

    def __post_init__(self) -> None:
        is_pointer = self.pattern.startswith("/") and _STEP in self.pattern.split("/") and len(self.pattern) <= 1_000
        if self.pattern and not is_pointer:
            raise ValueError("pattern is a JSON Pointer with a step *, such as /faq/*")
        names = [*(self.search or ()), *(self.show or ()), *self.filter]
        if len(names) > MOST_FIELDS or len(self.filter) > MOST_FILTERS:
            raise ValueError(f"entries have at most {MOST_FIELDS} fields, {MOST_FILTERS} of them in filters")
        if not all(0 < len(name) <= LONGEST_NAME and is_text(name) for name in names):
            raise ValueError(f"a field is a name of 1 to {LONGEST_NAME} characters, such as price/amount")

    @classmethod
    def of(cls, stored: object) -> "EntryRules":
        """Reads the stored form. Raises `Invalid`: a platform may write it."""
        try:
            return _RULES.validate_python(stored)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            raise Invalid(f"entries{''.join(f'.{each}' for each in problem['loc'])}: {problem['msg']}") from error

    def entry_of(self, pointer: str) -> str | None:
        """Returns the pointer of the entry that a node is in, or is; None outside of entries."""
        if not self.pattern:
            return None
        steps = self.pattern.split("/")
        place = pointer.split("/")[: len(steps)]
        fits = len(place) == len(steps) and all(step in (_STEP, key) for step, key in zip(steps, place, strict=True))
        return "/".join(place) if fits else None

    def least(self, pointer: str, threshold: int) -> float:
        """Returns from which length on a string is indexed: 1 in a searched field, never in another one of an entry."""
        entry = self.entry_of(pointer)
        if entry is None:
            return threshold
        inside = pointer[len(entry) + 1 :]
        is_searched = self.search is None or any(f"{inside}/".startswith(f"{name}/") for name in self.search)
        return 1 if is_searched else math.inf

    def searched(self, entry: object) -> dict[str, object]:
        """Returns the searched fields of an entry by their names; all without a choice."""
        return _members(entry) if self.search is None else dict(_fields(entry, self.search))

    def shown(self, entry: object) -> dict[str, object]:
        """Returns the fields that results show of an entry, those for which there is room; all without a choice."""
        shown, left = {}, _MOST_SHOWN
        for name, value in _members(entry).items() if self.show is None else _fields(entry, self.show):
            text = json.dumps({name: value}, ensure_ascii=False)
            if len(text) <= left and is_text(text):
                shown[name] = value
                left -= len(text)
        return shown

    def attributes(self, entry: object) -> dict[str, list[Value]]:
        """Returns the values by which an entry is filtered. A value of another type than that of its field is none."""
        attributes = {}
        for name, value in _fields(entry, self.filter):
            kind = self.filter[name]
            values = value if kind == "list" and isinstance(value, list) else [value]
            typed = [each for each in (value_of(kind, one) for one in values[:MOST_VALUES]) if each is not None]
            if typed:
                attributes[name] = list(dict.fromkeys(typed))
        return attributes


NO_ENTRIES = EntryRules("")
_RULES = TypeAdapter(EntryRules)


def valid_rules(stored: object) -> EntryRules:
    """Returns stored rules; `NO_ENTRIES` without, and for those that are not valid, about which the scan tells."""
    try:
        return NO_ENTRIES if stored is None else EntryRules.of(stored)
    except Invalid:
        return NO_ENTRIES


def _members(entry: object) -> dict[str, object]:
    return entry if isinstance(entry, dict) else {}


def _fields(entry: object, names: Iterable[str]) -> Iterator[tuple[str, object]]:
    for name in names:
        try:
            yield name, resolve(entry, f"/{name}")
        except (Invalid, NotFound):
            continue


def fixed_conditions(rules: EntryRules, fixed: Attributes) -> tuple[Condition, ...] | None:
    """Returns the conditions of an endpoint's fixed filter; None if nothing can pass, as a field is no filter."""
    if fixed.keys() - rules.filter.keys():
        return None
    return tuple(Condition(name, rules.filter[name], tuple(values)) for name, values in fixed.items())
