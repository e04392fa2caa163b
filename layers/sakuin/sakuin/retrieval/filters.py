"""Filters by fields of entries and of pages: values, conditions, and their form in the search engine."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from sakuin.errors import Invalid

FieldType = Literal["string", "number", "boolean", "date", "list"]
Value = str | bool | int | float
# Values by field, as entries are filtered by them: dates are seconds since 1970.
Attributes = Mapping[str, Sequence[Value]]

# Fields that a document may be filtered by.
MOST_FILTERS = 20
LONGEST_NAME = 200
# A longer string is no value of a filter.
_LONGEST_VALUE = 100
MOST_VALUES = 100
# Values of a field that an agent is told.
MOST_LISTED = 50


def is_text(text: str) -> bool:
    """Returns whether Postgres can store a text, or JSON in it."""
    return "\0" not in text and "\\u0000" not in text and text.encode(errors="ignore").decode() == text


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
    is_value = isinstance(value, str) and 0 < len(value) <= _LONGEST_VALUE and is_text(value)
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
            raise Invalid(f"'filter' has no field {name[:LONGEST_NAME]!r}. Its fields: {names}")
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
        if None not in values and len(values) <= MOST_VALUES:
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
    return said_elsewhere(map(str, needed), failed)


def said_elsewhere(needed: Iterable[str], places: Sequence[str]) -> str | None:
    """Returns that nothing passes conditions, and the values with which something is found; None without any."""
    return f"0 for {' and '.join(needed)}; found in {'; '.join(places)}" if places else None


def _or(value: Value | None, default: float) -> float:
    return default if value is None else float(value)


def fixed_filter(fields: Mapping[str, FieldType], given: Mapping[str, Any]) -> dict[str, list[Value]]:
    """Reads a filter that an endpoint fixes, one value for each field. Raises `Invalid`."""
    fixed = {each.field: list(each.values) for each in conditions(fields, given)}
    if any(len(values) != 1 for values in fixed.values()) or fixed.keys() != given.keys():
        raise Invalid('A fixed filter has one value for each field, such as {"tenant": 42}')
    return fixed


def filter_in(given: Iterable[str]) -> dict[str, str]:
    """Returns the filter that people write as FIELD=VALUE; empty texts are none. Raises `Invalid`."""
    pairs = [one.partition("=") for one in map(str.strip, given) if one]
    if not all(separator and name.strip() for name, separator, _ in pairs):
        raise Invalid("Write FIELD=VALUE, such as tenant=42")
    return {name.strip(): value.strip() for name, _, value in pairs}


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
