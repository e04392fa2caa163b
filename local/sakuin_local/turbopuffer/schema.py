"""The schema of a namespace, and the documents and values that fit it."""

import base64
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import orjson
import regex
from numpy.typing import NDArray

from sakuin_local.turbopuffer import limits
from sakuin_local.turbopuffer.limits import require

Floats = NDArray[np.float32]

_VECTOR = re.compile(r"\[(\d+)\]f16")
_IS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "int": lambda value: type(value) is int and -(2**63) <= value < 2**63,
    "float": lambda value: type(value) in (int, float) and math.isfinite(value),
}
PRE_TOKENIZED = "pre_tokenized_array"
_TOKENIZERS = {"string": "word_v4", "[]string": PRE_TOKENIZED}

# Unicode's default word boundaries (UAX #29): kanji and hiragana are single, katakana stay together.
_BOUNDARY = regex.compile(r"(?V1w)\b")
# Spaces and punctuation are no words; an emoji is.
_WORD = regex.compile(r"[\p{Alphabetic}\p{N}]|\p{Emoji_Presentation}")


@dataclass(frozen=True, slots=True)
class FullText:
    """The full-text index of an attribute."""

    tokenizer: str = "word_v4"
    max_token_length: int = limits.TOKEN_BYTES
    k1: float = 1.2
    b: float = 0.75

    @property
    def is_pre_tokenized(self) -> bool:
        return self.tokenizer == PRE_TOKENIZED

    def tokens(self, value: str | Sequence[str]) -> list[str]:
        """Returns the tokens of a stored value or a query, in order, without those that are too long."""
        words = value
        if not self.is_pre_tokenized:
            words = [segment.lower() for segment in _BOUNDARY.split(str(value)) if _WORD.search(segment)]
        return [word for word in words if len(word.encode()) <= self.max_token_length]


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of a namespace: a string, a number, a list of strings, or a vector."""

    type: str
    filterable: bool = True
    full_text: FullText | None = None

    @property
    def dimensions(self) -> int:
        """Returns the length of a vector, 0 for other types."""
        match = _VECTOR.fullmatch(self.type)
        return int(match[1]) if match else 0

    @property
    def is_list(self) -> bool:
        return self.type.startswith("[]")

    def described(self) -> dict[str, Any]:
        """Returns the attribute as metadata have it."""
        full_text = {"full_text_search": asdict(self.full_text)} if self.full_text else {}
        return {"type": self.type, "filterable": self.filterable, **full_text}


Schema = Mapping[str, Attribute]


@dataclass(frozen=True, slots=True)
class Document:
    """A valid document."""

    id: str
    attributes: Mapping[str, Any]
    vector: Floats | None = None


def merged(before: Schema | None, definitions: Mapping[str, Any]) -> Schema:
    """Returns the schema after a write with these definitions. Here no attribute changes, there no type does."""
    schema = dict(before or {"id": Attribute("string")})
    for name, definition in definitions.items():
        is_name = name and not name.startswith("$") and len(name.encode()) <= limits.ATTRIBUTE_NAME_BYTES
        require(is_name, f"'{name[:80]}' is not a valid attribute name: 1 to 128 bytes, not beginning with '$'")
        attribute = attribute_of(name, definition)
        is_same = schema.setdefault(name, attribute) == attribute
        require(is_same, f"cannot change attribute '{name}', which is {schema[name].type}")
    require(len(schema) <= limits.ATTRIBUTES, f"a namespace has at most {limits.ATTRIBUTES} attributes")
    is_late = before and "vector" in schema.keys() - before.keys()
    require(not is_late, "a namespace gets its vectors with its first write, not later")
    return schema


def attribute_of(name: str, definition: Any) -> Attribute:
    """Parses the definition of an attribute, which is a type or has options."""
    options: dict[str, Any] = {"type": definition} if isinstance(definition, str) else {**definition}
    kind, full_text = options.pop("type"), options.pop("full_text_search", None)
    if dimensions := Attribute(kind).dimensions:
        is_vector = name == "vector" and dimensions <= limits.DIMENSIONS
        require(is_vector, f"a vector is named 'vector' and has 1 to {limits.DIMENSIONS} dimensions")
        return Attribute(kind, filterable=False)
    supported = kind in ("string", "int", "float", "[]string") and not options.keys() - {"filterable"}
    require(supported, f"this stand-in does not support the schema of '{name}': {definition}", status=422)
    if not full_text:
        return Attribute(kind, bool(options.get("filterable", True)))
    search = FullText(**({} if full_text is True else full_text))
    is_tokenized = _TOKENIZERS.get(kind) == search.tokenizer and not options.get("filterable")
    require(is_tokenized, f"this stand-in does not tokenize '{name}', which is {kind}, by {search.tokenizer}")
    is_short = 1 <= search.max_token_length <= limits.LONGEST_TOKEN_BYTES
    require(is_short, f"max_token_length of '{name}' is 1 to {limits.LONGEST_TOKEN_BYTES}")
    return Attribute(kind, filterable=False, full_text=search)


def document_of(row: Mapping[str, Any], schema: Schema) -> Document:
    """Parses a row of an upsert."""
    id, attributes = row["id"], {name: row[name] for name in row.keys() - {"id", "vector"} if row[name] is not None}
    require(isinstance(id, str), "an id is a string: this stand-in has no numbers as ids", status=422)
    size = len(id.encode())
    require(0 < size <= limits.ID_BYTES, f"id '{id}' has {size} bytes, the maximum is {limits.ID_BYTES}")
    for name, value in attributes.items():
        _check(name, value, schema)
    size = len(orjson.dumps(attributes))
    require(size <= limits.DOCUMENT_BYTES, f"document '{id}' is larger than 64 MiB")
    if "vector" not in schema:
        return Document(id, attributes)
    with np.errstate(over="ignore"):
        half = vector_of(row.get("vector"), schema["vector"].dimensions).astype(np.float16)
    require(np.isfinite(half).all(), "a number of the vector is too large for f16")
    return Document(id, attributes, half.astype(np.float32))


def vector_of(value: Any, dimensions: int) -> Floats:
    """Parses a vector, a list or base64, without zeros at its end: padding costs neither memory nor time."""
    numbers = np.frombuffer(base64.b64decode(value, validate=True), "<f4") if isinstance(value, str) else value
    vector = np.array(numbers, np.float32)
    is_vector = vector.ndim == 1 and np.isfinite(vector).all()
    require(is_vector, "a document of this namespace needs a vector of finite numbers")
    is_as_long = len(vector) == dimensions
    require(is_as_long, f"the vector has {len(vector)} dimensions, the namespace has {dimensions}")
    return np.trim_zeros(vector, "b")


def fits(value: Any, type_name: str) -> bool:
    """Returns whether a value has the type."""
    is_one = _IS[type_name.removeprefix("[]")]
    if type_name.startswith("[]"):
        return isinstance(value, list) and all(map(is_one, value))
    return is_one(value)


def _check(name: str, value: Any, schema: Schema) -> None:
    require(name in schema, f"attribute '{name}' is not in the schema: this stand-in infers no types")
    attribute = schema[name]
    require(fits(value, attribute.type), f"attribute '{name}' is {attribute.type}, its value is not")
    sizes = [len(text.encode()) for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]
    require(sum(sizes) <= limits.VALUE_BYTES, f"the value of attribute '{name}' is larger than 8 MiB")
    is_short = not attribute.filterable or max(sizes, default=0) <= limits.FILTERABLE_VALUE_BYTES
    require(is_short, f"the value of the filterable attribute '{name}' is larger than 4 KiB")
