"""The rows that match a filter."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from sakuin_local.turbopuffer import limits
from sakuin_local.turbopuffer.contents import Contents, Mask
from sakuin_local.turbopuffer.documents import fits
from sakuin_local.turbopuffer.limits import Refused
from sakuin_local.turbopuffer.schema import Attribute

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "Lt": operator.lt,
    "Lte": operator.le,
    "Gt": operator.gt,
    "Gte": operator.ge,
}
_NEGATED = {
    "NotEq": "Eq",
    "NotIn": "In",
    "NotContains": "Contains",
    "NotContainsAny": "ContainsAny",
}
_KNOWN = {"Eq", "In", "Contains", "ContainsAny", *_ORDER}


def passing(filter: Any, contents: Contents) -> Mask:
    """Returns the rows that match; raises `Refused` for a filter that turbopuffer would reject."""
    return _passing(filter, contents) & contents.alive


def _passing(filter: Any, contents: Contents) -> Mask:
    if not isinstance(filter, list) or not filter or not isinstance(filter[0], str):
        raise Refused("a filter is a list: [attribute, operator, value] or [And | Or | Not, …]", status=422)
    if filter[0] in ("And", "Or") and len(filter) == 2 and isinstance(filter[1], list):
        parts = [_passing(part, contents) for part in filter[1]]
        start = np.full(contents.size, filter[0] == "And")
        together = np.logical_and if filter[0] == "And" else np.logical_or
        return np.asarray(together.reduce([start, *parts]), bool)
    if filter[0] == "Not" and len(filter) == 2:
        return ~_passing(filter[1], contents)
    if len(filter) not in (3, 4):
        raise Refused(f"filter on '{filter[0]}' needs an operator and a value")
    return _compared(filter[0], filter[1], filter[2], contents)


def _compared(name: str, comparison: str, value: Any, contents: Contents) -> Mask:
    attribute = _attribute(name, contents)
    if comparison in _NEGATED:
        return ~_compared(name, _NEGATED[comparison], value, contents)
    if not attribute.filterable:
        raise Refused(f"attribute '{name}' is not filterable: set filterable to true in the schema")
    column, size = contents.column(name), contents.size
    if comparison == "Eq" and value is None:
        return ~column.having_any(size)
    _check_operand(name, comparison, value, attribute)
    if comparison in ("Eq", "Contains"):
        return column.having([value], size)
    if comparison in ("In", "ContainsAny"):
        return column.having(value, size)
    return column.fulfilling(lambda each: _ORDER[comparison](each, value), size)


def _attribute(name: str, contents: Contents) -> Attribute:
    if name not in contents.schema:
        raise Refused(f"attribute '{name}' is not in the schema")
    return contents.schema[name]


def _check_operand(name: str, comparison: str, value: Any, attribute: Attribute) -> None:
    if comparison not in _KNOWN:
        raise Refused(f"this stand-in has no filter operator '{comparison}'", status=422)
    if attribute.is_list != comparison.startswith("Contains") and comparison != "In":
        raise Refused(f"{comparison} does not go with '{name}', which is {attribute.type}")
    one = Attribute(attribute.type.removeprefix("[]"))
    values = value if comparison in ("In", "ContainsAny") else [value]
    if not isinstance(values, list) or not all(fits(each, one) for each in values):
        raise Refused(f"{comparison} on '{name}' needs a value of type {one.type}")
    if any(isinstance(each, str) and len(each.encode()) > limits.FILTERABLE_VALUE_BYTES for each in values):
        raise Refused(f"a value of the filter on '{name}' is larger than 4 KiB")
