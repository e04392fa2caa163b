"""The schema of a namespace: the type of each attribute, and its indexes."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from sakuin_local.turbopuffer import limits
from sakuin_local.turbopuffer.limits import Refused

_SCALARS = ("string", "int", "uint", "float", "uuid", "datetime", "bool")
_VECTOR = re.compile(r"\[(\d+)\]f(16|32)")
_TOKENIZERS = ("word_v0", "word_v1", "word_v2", "word_v3", "word_v4", "pre_tokenized_array")
_ID_TYPES = ("string", "uint", "uuid")


@dataclass(frozen=True, slots=True)
class FullText:
    """Full-text search of an attribute; the numbers are BM25's."""

    tokenizer: str = "word_v4"
    k1: float = 1.2
    b: float = 0.75
    k3: float = 8.0
    case_sensitive: bool = False
    max_token_length: int = limits.TOKEN_BYTES

    @property
    def is_pre_tokenized(self) -> bool:
        return self.tokenizer == "pre_tokenized_array"


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of a namespace."""

    type: str
    filterable: bool = True
    full_text: FullText | None = None

    @property
    def dimensions(self) -> int:
        """Returns the length of a vector, 0 for other types."""
        found = _VECTOR.fullmatch(self.type)
        return int(found[1]) if found else 0

    @property
    def is_half(self) -> bool:
        """Whether it is a vector of 16-bit floats."""
        return bool(self.dimensions) and self.type.endswith("f16")

    @property
    def is_list(self) -> bool:
        return self.type.startswith("[]")

    def described(self, metric: str | None) -> dict[str, Any]:
        """Returns the attribute as JSON."""
        described: dict[str, Any] = {"type": self.type, "filterable": self.filterable}
        if self.full_text:
            described["full_text_search"] = {
                **asdict(self.full_text),
                "language": "english",
                "stemming": False,
                "remove_stopwords": False,
                "ascii_folding": False,
            }
        if self.dimensions:
            described["ann"] = {"distance_metric": metric}
        return described


Schema = Mapping[str, Attribute]


def merged(before: Schema, given: Any) -> dict[str, Attribute]:
    """Returns the schema after a write with the schema `given`; a type never changes."""
    if not isinstance(given, dict):
        raise Refused("schema must be an object", status=422)
    schema = dict(before)
    for name, definition in given.items():
        check_name(name)
        attribute = _attribute(name, definition, before.get(name))
        if name in before and before[name].type != attribute.type:
            raise Refused(f"cannot change the type of attribute '{name}' from {before[name].type} to {attribute.type}")
        schema[name] = attribute
    check_number(schema)
    return schema


def inferred(name: str, value: Any) -> Attribute | None:
    """Returns the type of an undeclared attribute by its value, None if the value has no type."""
    check_name(name)
    if isinstance(value, list):
        element = inferred(name, value[0]) if value else None
        return replace(element, type=f"[]{element.type}") if element and not element.is_list else None
    for kind, type_name in ((bool, "bool"), (int, "int"), (float, "float"), (str, "string")):
        if isinstance(value, kind):
            return Attribute(type_name)
    if value is None:
        return None
    raise Refused(f"attribute '{name}' has a value of no known type", status=422)


def check_number(schema: Schema) -> None:
    """Raises `Refused` for a schema with too many attributes, declared or not."""
    if len(schema) > limits.ATTRIBUTES:
        raise Refused(f"a namespace has at most {limits.ATTRIBUTES} attributes")


def check_name(name: str) -> None:
    """Raises `Refused` for an invalid name of an attribute."""
    if not name or name.startswith("$") or len(name.encode()) > limits.ATTRIBUTE_NAME_BYTES:
        raise Refused(f"'{name[:80]}' is not a valid attribute name: 1 to 128 bytes, not beginning with '$'")


def _attribute(name: str, definition: Any, before: Attribute | None) -> Attribute:
    options = {"type": definition} if isinstance(definition, str) else definition
    if not isinstance(options, dict) or not isinstance(options.get("type"), str):
        raise Refused(f"schema of attribute '{name}' needs a type", status=422)
    type_name: str = options["type"]
    if name == "id":
        if type_name not in _ID_TYPES:
            raise Refused(f"an id is one of {', '.join(_ID_TYPES)}, not {type_name}")
        return Attribute(type_name)
    if _VECTOR.fullmatch(type_name):
        return _vector(name, type_name)
    if type_name.removeprefix("[]") not in _SCALARS:
        raise Refused(f"attribute '{name}' has an unknown type: {type_name}", status=422)
    full_text = _full_text(name, type_name, options.get("full_text_search"), before)
    if options.get("glob") or options.get("regex"):
        raise Refused(f"this stand-in has no glob and no regex index, which '{name}' asks for")
    # A full-text index replaces the filter index, unless both are requested.
    by_default = before.filterable if before else not full_text
    return Attribute(type_name, bool(options.get("filterable", by_default)), full_text)


def _vector(name: str, type_name: str) -> Attribute:
    if name != "vector":
        raise Refused(f"this stand-in supports vectors in 'vector' only, not in '{name}'")
    attribute = Attribute(type_name, filterable=False)
    if not 0 < attribute.dimensions <= limits.DIMENSIONS:
        raise Refused(f"a vector has 1 to {limits.DIMENSIONS} dimensions, not {attribute.dimensions}")
    return attribute


def _full_text(name: str, type_name: str, given: Any, before: Attribute | None) -> FullText | None:
    if given is None:
        return before.full_text if before else None
    if given is False:
        return None
    if type_name not in ("string", "[]string"):
        raise Refused(f"full-text search needs a string or []string, '{name}' is {type_name}")
    known = (before.full_text if before else None) or FullText()
    options = {} if given is True else given
    if not isinstance(options, dict) or options.get("tokenizer", known.tokenizer) not in _TOKENIZERS:
        raise Refused(f"full_text_search of '{name}' is not valid: {given}", status=422)
    kept = {option: value for option, value in options.items() if option in FullText.__slots__}
    full_text = replace(known, **kept)
    if not 1 <= full_text.max_token_length <= limits.LONGEST_TOKEN_BYTES:
        raise Refused(f"max_token_length of '{name}' is 1 to {limits.LONGEST_TOKEN_BYTES}")
    if full_text.is_pre_tokenized and type_name != "[]string":
        raise Refused(f"tokenizer pre_tokenized_array needs []string, '{name}' is {type_name}")
    return replace(full_text, case_sensitive=True) if full_text.is_pre_tokenized else full_text
