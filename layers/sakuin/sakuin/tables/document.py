"""The document of a Table: parsing and writing."""

import json
import sys
from collections.abc import Iterable
from typing import NoReturn

from sakuin.errors import Invalid
from sakuin.texts.catalogue import coded

# Deeper than documents of people, and within the limit of Postgres.
MAX_DEPTH = 2000

# A Lambda function has the text, the parsed document and its chunks in memory together.
MAX_BYTES = 100_000_000

# The bytes of a parsed object, array and value in CPython, by the sign that each has in the text.
_BYTES_OF = {"{": 240, "[": 90, ",": 60}
_MOST_BYTES_OF_CONTAINERS = 1_000_000_000

Container = dict[str, object] | list[object]


# Python 3.11 counts each level of a JSON document towards its recursion limit.
sys.setrecursionlimit(max(sys.getrecursionlimit(), 2 * MAX_DEPTH + 1000))


def parsed_table(text: str | bytes, *, most_memory: int | None = None) -> object:
    """Parses a JSON text (RFC 8259). Raises `Invalid` with the position of the error.

    Bytes are UTF-8, with or without a byte order mark. Of duplicate keys the last wins, as in Postgres. Escaped NUL
    and lone surrogates are valid here; indexing skips their nodes. NaN, Infinity, numbers that fit neither a double
    nor 4,300 digits, and nesting over `MAX_DEPTH` are invalid. `most_memory` limits the bytes that parsing and writing
    take; None means no limit.
    """
    try:
        source = text.decode() if isinstance(text, bytes) else text
        containers = sum(source.count(sign) * taken for sign, taken in _BYTES_OF.items())
        if containers > _MOST_BYTES_OF_CONTAINERS:
            raise Invalid(coded("json.many_values"))
        # Parsing needs bytes, text and strings; writing needs strings, their pieces and text.
        memory = containers + len(text) + 3 * sys.getsizeof(source)
        if most_memory is not None and memory > most_memory:
            raise Invalid(
                f"The Table would take {memory:,} bytes of memory; the limit is {most_memory:,} (table_memory_bytes). "
                "Raise the limit and the memory of SakuinApi."
            )
        return _at_most_deep(_DECODER.decode(source.removeprefix("\ufeff")))
    except RecursionError:
        raise Invalid(coded("json.deep", most=MAX_DEPTH)) from None
    except UnicodeDecodeError as error:
        raise Invalid(coded("json.utf8", place=str(error.start))) from None
    except json.JSONDecodeError as error:
        place = {"line": str(error.lineno), "column": str(error.colno)}
        raise Invalid(coded("json.syntax", error=error.msg, **place)) from None
    except ValueError:
        raise Invalid(coded("json.digits")) from None


def written_table(document: object) -> str:
    """Returns compact JSON in ASCII, which `parsed_table` reads without loss, lone surrogates included."""
    try:
        return _ENCODER.encode(document)
    except ValueError:
        raise Invalid("NaN and Infinity are not JSON numbers. Use null or a string.") from None


def written_body(document: object) -> bytes:
    """Returns compact JSON in UTF-8, for Japanese a third of the size. Only lone surrogates are escaped."""
    return _UNICODE_ENCODER.encode(document).encode("utf-8", "backslashreplace")


def _at_most_deep(document: object) -> object:
    """Returns the document. Raises `Invalid` if it is nested too deep, independent of the interpreter's limit."""
    level = [document] if isinstance(document, dict | list) else []
    for _ in range(MAX_DEPTH + 1):
        if not level:
            return document
        level = [node for holder in level for node in _values(holder) if isinstance(node, dict | list)]
    raise Invalid(coded("json.deep", most=MAX_DEPTH))


def _values(holder: Container) -> Iterable[object]:
    return holder.values() if isinstance(holder, dict) else holder


def _finite(number: str) -> float:
    value = float(number)
    if value in (float("inf"), float("-inf")):
        raise Invalid(coded("json.large_number", number=number[:40]))
    return value


def _reject_constant(name: str) -> NoReturn:
    raise Invalid(coded("json.constant", name=name))


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_reject_constant)
_UNICODE_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_ENCODER = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))
