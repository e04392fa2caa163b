"""The schema of a namespace, and the documents and values that fit it."""

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import orjson
import regex
from numpy.typing import NDArray

from sakuin_local.turbopuffer import limits
from sakuin_local.turbopuffer.limits import Refused

Floats = NDArray[np.float32]

_VECTOR = re.compile(r"\[(\d+)\]f16")
_IS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63,
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

    tokenizer: str
    max_token_length: int = limits.TOKEN_BYTES
    k1: float = 1.2
    b: float = 0.75

    @property
    def is_pre_tokenized(self) -> bool:
        return self.tokenizer == PRE_TOKENIZED

    def tokens(self, value: str | Sequence[str]) -> list[str]:
        """Returns the tokens of a stored value or a query, in order, without those that are too long."""
        tokens = value if self.is_pre_tokenized else _words(str(value))
        return [token for token in tokens if len(token.encode()) <= self.max_token_length]


def _words(text: str) -> list[str]:
    return [segment.lower() for segment in _BOUNDARY.split(text) if _WORD.search(segment)]


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of a namespace: a string, an int, a list of strings, or a vector."""

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

    @property
    def size(self) -> int:
        """Returns the bytes of its attributes and its vector."""
        return len(orjson.dumps(self.attributes)) + (0 if self.vector is None else self.vector.nbytes)


def merged(before: Schema | None, definitions: Any) -> Schema:
    """Returns the schema after a write with these definitions. Here no attribute changes, there no type does."""
    if not isinstance(definitions, dict):
        raise Refused("schema must be an object", status=422)
    schema = dict(before or {"id": Attribute("string")})
    for name, definition in definitions.items():
        if not name or name.startswith("$") or len(name.encode()) > limits.ATTRIBUTE_NAME_BYTES:
            raise Refused(f"'{name[:80]}' is not a valid attribute name: 1 to 128 bytes, not beginning with '$'")
        attribute = _attribute(name, definition)
        if schema.setdefault(name, attribute) != attribute:
            raise Refused(f"cannot change attribute '{name}', which is {schema[name].type}")
    if len(schema) > limits.ATTRIBUTES:
        raise Refused(f"a namespace has at most {limits.ATTRIBUTES} attributes")
    if before and "vector" in schema.keys() - before.keys():
        raise Refused("a namespace gets its vectors with its first write, not later")
    return schema


def _attribute(name: str, definition: Any) -> Attribute:
    options = {"type": definition} if isinstance(definition, str) else definition
    if not isinstance(options, dict) or options.keys() - {"type", "filterable", "full_text_search", "ann"}:
        raise Refused(f"this stand-in does not support the schema of '{name}': {definition}", status=422)
    attribute = Attribute(str(options.get("type")))
    if attribute.dimensions:
        if name != "vector" or attribute.dimensions > limits.DIMENSIONS:
            raise Refused(f"a vector is named 'vector' and has 1 to {limits.DIMENSIONS} dimensions")
        return Attribute(attribute.type, filterable=False)
    if attribute.type not in ("string", "int", "[]string"):
        raise Refused(f"this stand-in has no type '{attribute.type}' for '{name}'", status=422)
    full_text = _full_text(name, attribute.type, options.get("full_text_search"))
    filterable = bool(options.get("filterable", full_text is None))
    if filterable and full_text:
        raise Refused(f"this stand-in has one index for '{name}': for filters or for full texts", status=422)
    return Attribute(attribute.type, filterable, full_text)


def _full_text(name: str, type_name: str, definition: Any) -> FullText | None:
    if definition in (None, False):
        return None
    options = {"tokenizer": "word_v4"} if definition is True else definition
    if not isinstance(options, dict) or options.keys() - {"tokenizer", "max_token_length", "k1", "b"}:
        raise Refused(f"this stand-in does not support full_text_search of '{name}': {definition}", status=422)
    full_text = FullText(**{"tokenizer": "word_v4", **options})
    if _TOKENIZERS.get(type_name) != full_text.tokenizer:
        raise Refused(f"this stand-in does not tokenize '{name}', which is {type_name}, by {full_text.tokenizer}")
    if not 1 <= full_text.max_token_length <= limits.LONGEST_TOKEN_BYTES:
        raise Refused(f"max_token_length of '{name}' is 1 to {limits.LONGEST_TOKEN_BYTES}")
    return full_text


def document_of(row: Mapping[str, Any], schema: Schema) -> Document:
    """Parses a row of an upsert."""
    attributes = {name: value for name, value in row.items() if name not in ("id", "vector") and value is not None}
    for name, value in attributes.items():
        _check(name, value, schema)
    vector = None
    if "vector" in schema:
        vector = _rounded(vector_of(row.get("vector"), schema["vector"].dimensions))
    document = Document(_id_of(row["id"]), attributes, vector)
    if document.size > limits.DOCUMENT_BYTES:
        raise Refused(f"document '{row['id']}' is larger than 64 MiB")
    return document


def _id_of(value: Any) -> str:
    """Parses a document's id: a string of 1 to 64 bytes."""
    if not isinstance(value, str):
        raise Refused("an id is a string: this stand-in has no numbers as ids", status=422)
    if not 0 < len(value.encode()) <= limits.ID_BYTES:
        raise Refused(f"id '{value}' has {len(value.encode())} bytes, the maximum is {limits.ID_BYTES}")
    return value


def vector_of(value: Any, dimensions: int) -> Floats:
    """Parses a vector, a list or base64, without zeros at its end: padding costs neither memory nor time."""
    try:
        if isinstance(value, str):
            vector = np.frombuffer(base64.b64decode(value, validate=True), "<f4").astype(np.float32)
        else:
            vector = np.array(value, np.float32)
    except (ValueError, TypeError, binascii.Error) as error:
        raise Refused("a vector is a list of numbers or base64 of little-endian float32", status=422) from error
    if vector.ndim != 1 or not np.isfinite(vector).all():
        raise Refused("a document of this namespace needs a vector of finite numbers")
    if len(vector) != dimensions:
        raise Refused(f"the vector has {len(vector)} dimensions, the namespace has {dimensions}")
    used = np.flatnonzero(vector)
    return vector[: used[-1] + 1] if len(used) else vector[:0]


def _rounded(vector: Floats) -> Floats:
    """Returns a vector as 16-bit floats keep it."""
    with np.errstate(over="ignore"):
        half = vector.astype(np.float16)
    if not np.isfinite(half).all():
        raise Refused("a number of the vector is too large for f16")
    return half.astype(np.float32)


def fits(value: Any, type_name: str) -> bool:
    """Returns whether a value has the type."""
    is_one = _IS[type_name.removeprefix("[]")]
    if type_name.startswith("[]"):
        return isinstance(value, list) and all(is_one(item) for item in value)
    return is_one(value)


def _check(name: str, value: Any, schema: Schema) -> None:
    if name not in schema:
        raise Refused(f"attribute '{name}' is not in the schema: this stand-in infers no types")
    attribute = schema[name]
    if not fits(value, attribute.type):
        raise Refused(f"attribute '{name}' is {attribute.type}, its value is not")
    sizes = [len(text.encode()) for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]
    if sum(sizes) > limits.VALUE_BYTES:
        raise Refused(f"the value of attribute '{name}' is larger than 8 MiB")
    if attribute.filterable and max(sizes, default=0) > limits.FILTERABLE_VALUE_BYTES:
        raise Refused(f"the value of the filterable attribute '{name}' is larger than 4 KiB")
