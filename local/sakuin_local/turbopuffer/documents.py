"""Documents of a write, checked against turbopuffer's rules for ids, types and sizes."""

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from sakuin_local.turbopuffer import limits
from sakuin_local.turbopuffer.limits import Refused
from sakuin_local.turbopuffer.schema import Attribute, Schema
from sakuin_local.turbopuffer.vectors import Floats, trimmed

Id = int | str

_IS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "uuid": lambda value: isinstance(value, str),
    "datetime": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "int": lambda value: _is_whole(value) and -(2**63) <= value < 2**63,
    "uint": lambda value: _is_whole(value) and 0 <= value < 2**64,
    "float": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
}


@dataclass(frozen=True, slots=True)
class Document:
    """A valid document."""

    id: Id
    attributes: Mapping[str, Any]
    vector: Floats | None = None

    @property
    def size(self) -> int:
        """Returns the bytes of its attributes and its vector."""
        return len(orjson.dumps(self.attributes)) + (0 if self.vector is None else self.vector.nbytes)


def id_of(value: Any) -> Id:
    """Parses a document's id: an unsigned 64-bit integer, or a string of 1 to 64 bytes."""
    if isinstance(value, str):
        if not 0 < len(value.encode()) <= limits.ID_BYTES:
            raise Refused(f"id '{value}' has {len(value.encode())} bytes, the maximum is {limits.ID_BYTES}")
        return value
    if _is_whole(value) and 0 <= value < 2**64:
        return int(value)
    raise Refused("an id must be an unsigned 64-bit integer or a string", status=422)


def document_of(row: Mapping[str, Any], schema: Schema) -> Document:
    """Parses a row of an upsert."""
    attributes = {name: value for name, value in row.items() if name not in ("id", "vector") and value is not None}
    for name, value in attributes.items():
        _check(name, value, schema.get(name))
    dimensions = schema["vector"].dimensions if "vector" in schema else 0
    vector = None
    if dimensions:
        vector = vector_of(row.get("vector"), dimensions)
        if schema["vector"].is_half:
            vector = _rounded(vector)
    document = Document(id_of(row["id"]), attributes, vector)
    if document.size > limits.DOCUMENT_BYTES:
        raise Refused(f"document '{row['id']}' is larger than 64 MiB")
    return document


def vector_of(value: Any, dimensions: int) -> Floats:
    """Parses a vector, a list or base64, without zeros at its end."""
    vector = floats_of(value)
    if len(vector) != dimensions:
        raise Refused(f"the vector has {len(vector)} dimensions, the namespace has {dimensions}")
    return trimmed(vector)


def floats_of(value: Any) -> Floats:
    """Parses a vector with all its numbers, including zeros at its end."""
    try:
        if isinstance(value, str):
            vector = np.frombuffer(base64.b64decode(value, validate=True), "<f4").astype(np.float32)
        else:
            vector = np.array(value, np.float32)
    except (ValueError, TypeError, binascii.Error) as error:
        raise Refused("a vector is a list of numbers or base64 of little-endian float32", status=422) from error
    if vector.ndim != 1 or not len(vector) or not np.isfinite(vector).all():
        raise Refused("a document of this namespace needs a vector of finite numbers")
    return vector


def _rounded(vector: Floats) -> Floats:
    """Returns a vector as 16-bit floats keep it."""
    with np.errstate(over="ignore"):
        half = vector.astype(np.float16)
    if not np.isfinite(half).all():
        raise Refused("a number of the vector is too large for f16")
    return half.astype(np.float32)


def fits(value: Any, attribute: Attribute) -> bool:
    """Returns whether a value has the attribute's type."""
    is_one = _IS[attribute.type.removeprefix("[]")]
    if attribute.is_list:
        return isinstance(value, list) and all(is_one(each) for each in value)
    return is_one(value)


def _check(name: str, value: Any, attribute: Attribute | None) -> None:
    # An empty list of an undeclared attribute has no type.
    if attribute is None:
        return
    if not fits(value, attribute):
        raise Refused(f"attribute '{name}' is {attribute.type}, its value is not")
    each = value if isinstance(value, list) else [value]
    sizes = [len(text.encode()) for text in each if isinstance(text, str)]
    if sum(sizes) > limits.VALUE_BYTES:
        raise Refused(f"the value of attribute '{name}' is larger than 8 MiB")
    if attribute.filterable and max(sizes, default=0) > limits.FILTERABLE_VALUE_BYTES:
        raise Refused(f"the value of the filterable attribute '{name}' is larger than 4 KiB")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
