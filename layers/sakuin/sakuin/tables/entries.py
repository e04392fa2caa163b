"""The entries of a Table: their places in the document, their fields, and filters by these."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from sakuin.errors import Invalid, NotFound
from sakuin.tables.json_pointer import resolve

FieldType = Literal["string", "number", "boolean", "date", "list"]
Value = str | bool | int | float
# Values by field, as entries are filtered by them: dates are seconds since 1970.
Attributes = Mapping[str, Sequence[Value]]

MOST_FIELDS = 50
MOST_FILTERS = 20
_LONGEST_NAME = 200
# A longer string is no value of a filter.
_LONGEST_VALUE = 100
_MOST_VALUES = 100
# Of the fields that a result shows, in JSON.
_MOST_SHOWN = 2_000
_STEP = "*"
# Values of a field that an agent is told.
MOST_LISTED = 50


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
        if not all(0 < len(name) <= _LONGEST_NAME and _is_text(name) for name in names):
            raise ValueError(f"a field is a name of 1 to {_LONGEST_NAME} characters, such as price/amount")

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
            if len(text) <= left and _is_text(text):
                shown[name] = value
                left -= len(text)
        return shown

    def attributes(self, entry: object) -> dict[str, list[Value]]:
        """Returns the values by which an entry is filtered. A value of another type than that of its field is none."""
        attributes = {}
        for name, value in _fields(entry, self.filter):
            kind = self.filter[name]
            values = value if kind == "list" and isinstance(value, list) else [value]
            typed = [each for each in (value_of(kind, one) for one in values[:_MOST_VALUES]) if each is not None]
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


def _is_text(text: str) -> bool:
    """Returns whether Postgres can store a text, or JSON in it."""
    return "\0" not in text and "\\u0000" not in text and text.encode(errors="ignore").decode() == text


def _members(entry: object) -> dict[str, object]:
    return entry if isinstance(entry, dict) else {}


def _fields(entry: object, names: Iterable[str]) -> Iterator[tuple[str, object]]:
    for name in names:
        try:
            yield name, resolve(entry, f"/{name}")
        except (Invalid, NotFound):
            continue


def value_of(kind: FieldType, value: object, *, lenient: bool = False) -> Value | None:
    """Returns a value as entries are filtered by it; None if it has another type.

    `lenient` reads `"30"` as a number.
    """
    if lenient and kind in ("number", "boolean") and isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    match kind:
        case "number":
            is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            return value if is_number else None  # type: ignore[return-value]
        case "boolean":
            return value if isinstance(value, bool) else None
        case "date":
            return _seconds(value) if isinstance(value, str) else None
    is_value = isinstance(value, str) and 0 < len(value) <= _LONGEST_VALUE and _is_text(value)
    return value if is_value else None  # type: ignore[return-value]


def _seconds(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def readable(kind: FieldType, value: Value) -> Value:
    """Returns a value as people write it: a date in ISO 8601."""
    if kind != "date":
        return value
    text = datetime.fromtimestamp(float(value), UTC).isoformat().replace("+00:00", "Z")
    return text.removesuffix("T00:00:00Z")


@dataclass(frozen=True, slots=True)
class Condition:
    """What a filter demands of one field: one of `values`, or a number from `least` to `most`."""

    field: str
    kind: FieldType
    values: tuple[Value, ...] = ()
    least: float = -math.inf
    most: float = math.inf

    def passes(self, attributes: Attributes | None) -> bool:
        """Returns whether an entry with these attributes passes."""
        values = (attributes or {}).get(self.field, ())
        if self.values:
            return any(_same(value, each) for value in self.values for each in values)
        return any(self.least <= float(each) <= self.most for each in values)

    def __str__(self) -> str:
        def shown(value: Value) -> str:
            return str(readable(self.kind, value))

        if self.values:
            return f"{self.field}={', '.join(map(shown, self.values))}"
        bounds = {"from": self.least, "to": self.most}
        return " ".join([self.field, *(f"{n} {shown(b)}" for n, b in bounds.items() if math.isfinite(b))])


def _same(one: Value, other: Value) -> bool:
    # In Python, True is 1.
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def conditions(fields: Mapping[str, FieldType], given: Mapping[str, Any] | None) -> tuple[Condition, ...]:
    """Reads a filter. Raises `Invalid` with the names of the fields, or with what a field takes."""
    read = []
    for name, value in (given or {}).items():
        if name not in fields:
            names = ", ".join(fields) or "none"
            raise Invalid(f"'filter' has no field {name[:_LONGEST_NAME]!r}. Its fields: {names}")
        if value not in (None, [], {}, ""):
            read.append(_condition(name, fields[name], value))
    return tuple(read)


def _condition(name: str, kind: FieldType, value: Any) -> Condition:
    if isinstance(value, dict) and kind in ("number", "date") and not value.keys() - {"min", "max"}:
        bounds = {bound: value_of(kind, number, lenient=True) for bound, number in value.items() if number is not None}
        if None not in bounds.values():
            least, most = bounds.get("min"), bounds.get("max")
            return Condition(name, kind, (), _or(least, -math.inf), _or(most, math.inf))
    elif not isinstance(value, dict):
        values = [value_of(kind, one, lenient=True) for one in (value if isinstance(value, list) else [value])]
        if None not in values and len(values) <= _MOST_VALUES:
            return Condition(name, kind, tuple(each for each in values if each is not None))
    forms = {"number": '30, or {"min": 10, "max": 30}', "boolean": "true or false"}
    forms["date"] = '"2026-01-31", or {"min": "2026-01-01", "max": "2026-01-31"}'
    raise Invalid(f"'filter.{name}' must be {forms.get(kind, 'a list of strings')}")


def check_known(condition: Condition, known: Mapping[str, Any]) -> None:
    """Raises `Invalid` that lists the values of a field if it has none of those of a condition."""
    values = known.get("values", [])
    unknown = [each for each in condition.values if not any(_same(each, one) for one in values)]
    if unknown and condition.kind in ("string", "list", "boolean") and len(values) <= MOST_LISTED:
        shown = ", ".join(json.dumps(each, ensure_ascii=False) for each in values)
        raise Invalid(f"{condition.field} has no value {unknown[0]!r}. Its values: {shown or 'none'}")


def found_elsewhere(needed: Sequence[Condition], attributes: Sequence[Attributes]) -> str | None:
    """Returns what entries have where they do not pass conditions: "0 for plan=free; found in pro (4)"."""
    failed: list[str] = []
    for condition in needed:
        lists = [entry.get(condition.field, ()) for entry in attributes if not condition.passes(entry)]
        counts = Counter(str(readable(condition.kind, value)) for values in lists for value in values)
        if counts:
            shown = ", ".join(f"{value} ({count})" for value, count in counts.most_common(5))
            failed.append(shown if len(needed) == 1 else f"{condition.field} {shown}")
    return f"0 for {' and '.join(map(str, needed))}; found in {'; '.join(failed)}" if failed else None


def _or(value: Value | None, default: float) -> float:
    return default if value is None else float(value)


def fixed_conditions(rules: EntryRules, fixed: Attributes) -> tuple[Condition, ...] | None:
    """Returns the conditions of an endpoint's fixed filter; None if nothing can pass, as a field is no filter."""
    if fixed.keys() - rules.filter.keys():
        return None
    return tuple(Condition(name, rules.filter[name], tuple(values)) for name, values in fixed.items())


def fixed_filter(fields: Mapping[str, FieldType], given: Mapping[str, Any]) -> dict[str, list[Value]]:
    """Reads a filter that an endpoint fixes, one value for each field. Raises `Invalid`."""
    fixed = {each.field: list(each.values) for each in conditions(fields, given)}
    if any(len(values) != 1 for values in fixed.values()) or fixed.keys() != given.keys():
        raise Invalid('A fixed filter has one value for each field, such as {"tenant": 42}')
    return fixed


# ---------------------------------------------------------------- in the search engine


def value_tokens(attributes: Attributes | None) -> list[str]:
    """Returns the texts and truth values of an entry as tokens: a filterable value has at most 4 KiB."""
    pairs = ((name, each) for name, values in (attributes or {}).items() for each in values)
    return [_hash(name, each) for name, each in pairs if isinstance(each, str | bool)]


def value_numbers(attributes: Attributes | None) -> dict[str, float]:
    """Returns the numbers and dates of an entry by the names of their attributes."""
    firsts = ((name, values[0]) for name, values in (attributes or {}).items() if values)
    return {number_name(name): float(each) for name, each in firsts if not isinstance(each, str | bool)}


def number_name(name: str) -> str:
    return f"number_{_hash(name, '')}"


def store_filters(needed: Iterable[Condition]) -> list[tuple[Any, ...]]:
    """Returns the filters of turbopuffer for the rows that pass all conditions."""
    filters: list[tuple[Any, ...]] = []
    for condition in needed:
        if condition.kind in ("number", "date"):
            name = number_name(condition.field)
            if condition.values:
                filters.append((name, "In", [float(value) for value in condition.values]))
            bounds = (("Gte", condition.least), ("Lte", condition.most))
            filters += [(name, comparison, bound) for comparison, bound in bounds if math.isfinite(bound)]
        else:
            filters.append(("values", "ContainsAny", [_hash(condition.field, value) for value in condition.values]))
    return filters


def _hash(name: str, value: Value) -> str:
    return hashlib.sha256(json.dumps([name, value]).encode()).hexdigest()[:16]
