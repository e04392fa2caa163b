"""The rows that match a filter."""

import fnmatch
import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from sakuin_local.turbopuffer import limits
from sakuin_local.turbopuffer.contents import Contents, Mask
from sakuin_local.turbopuffer.documents import fits
from sakuin_local.turbopuffer.limits import Refused
from sakuin_local.turbopuffer.postings import tokens
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
    "NotGlob": "Glob",
    "NotIGlob": "IGlob",
}
_TOKENS = ("ContainsAllTokens", "ContainsAnyToken")


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
    if comparison in _TOKENS:
        return _holding_tokens(name, comparison, value, attribute, contents)
    if not (attribute.filterable or (comparison in ("Glob", "IGlob") and attribute.glob)):
        raise Refused(f"attribute '{name}' is not filterable: set filterable to true in the schema")
    column, size = contents.column(name), contents.size
    if comparison == "Eq" and value is None:
        return ~column.having_any(size)
    _check_operand(name, comparison, value, attribute)
    if comparison in ("Eq", "Contains"):
        return column.having([value], size)
    if comparison in ("In", "ContainsAny"):
        return column.having(value, size)
    if comparison.removeprefix("Any") in _ORDER:
        compare = _ORDER[comparison.removeprefix("Any")]
        return column.fulfilling(lambda each: compare(each, value), size)
    if comparison == "Regex" and not attribute.regex:
        raise Refused(f"attribute '{name}' has no regex index: set regex to true in the schema")
    pattern = re.compile(
        value if comparison == "Regex" else fnmatch.translate(value), re.IGNORECASE if comparison == "IGlob" else 0
    )
    matches = pattern.search if comparison == "Regex" else pattern.match
    return column.fulfilling(lambda each: matches(each) is not None, size)


def _attribute(name: str, contents: Contents) -> Attribute:
    if name not in contents.schema:
        raise Refused(f"attribute '{name}' is not in the schema")
    return contents.schema[name]


def _check_operand(name: str, comparison: str, value: Any, attribute: Attribute) -> None:
    is_element = comparison in ("Contains", "ContainsAny") or comparison.startswith("Any")
    known = {"Eq", "In", "Contains", "ContainsAny", "Glob", "IGlob", "Regex", *_ORDER}
    if comparison.removeprefix("Any") not in known and comparison not in known:
        raise Refused(f"unknown filter operator '{comparison}'", status=422)
    if attribute.is_list != is_element and comparison not in ("In", "Glob", "IGlob", "Regex"):
        raise Refused(f"{comparison} does not go with '{name}', which is {attribute.type}")
    one = Attribute(attribute.type.removeprefix("[]"))
    values = value if comparison in ("In", "ContainsAny") else [value]
    if not isinstance(values, list) or not all(fits(each, one) for each in values):
        raise Refused(f"{comparison} on '{name}' needs a value of type {one.type}")
    if any(isinstance(each, str) and len(each.encode()) > limits.FILTERABLE_VALUE_BYTES for each in values):
        raise Refused(f"a value of the filter on '{name}' is larger than 4 KiB")


def _holding_tokens(name: str, comparison: str, value: Any, attribute: Attribute, contents: Contents) -> Mask:
    if attribute.full_text is None:
        raise Refused(f"{comparison} needs full_text_search on '{name}'")
    asked = set(tokens(value, attribute.full_text))
    at_least = len(asked) if comparison == "ContainsAllTokens" else 1
    return contents.postings(name).holding(sorted(asked), contents.size, at_least=max(at_least, 1))
