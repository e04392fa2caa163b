"""A Table's document as text: read strictly, written so that every string survives, changed by pointer."""

import json
import sys
from collections.abc import Iterable, Mapping
from typing import NoReturn

from sakuin.errors import Invalid, NotFound
from sakuin.tables.json_pointer import index_of, pointer_of, resolve, shown, tokens

# Far over any document that people write, and under what Postgres parses.
MAX_DEPTH = 2000

# A Lambda function holds it, its parsed form and its chunks at once.
MAX_BYTES = 100_000_000

# Each is a copy of the way to its place.
MOST_OPERATIONS = 5000

# What an object, an array and a value take when they are read, by the sign that stands for each (CPython, bytes).
_TAKEN = {"{": 240, "[": 90, ",": 60}

_MOST_TAKEN = 1_000_000_000

_TOO_DEEP = f"The document is nested more than {MAX_DEPTH:,} levels deep. Flatten it."


Container = dict[str, object] | list[object]


# Python 3.11 counts each level of a JSON document that C code reads as one of Python's own.
sys.setrecursionlimit(max(sys.getrecursionlimit(), 2 * MAX_DEPTH + 1000))


def parsed_table(text: str | bytes, *, most_memory: int | None = None) -> object:
    """The document in a JSON text (RFC 8259); `Invalid` says where it is wrong.

    Bytes are UTF-8, with or without a byte order mark. Of duplicate keys the last wins, as in Postgres. Escaped NUL
    and lone surrogates stay: the node that holds them fails alone, later. NaN, Infinity and numbers that a double or
    a 4,300 digit integer cannot hold are refused, and so is nesting over `MAX_DEPTH`. `most_memory`: how many bytes
    the reading and writing of it may take; None where there is room for every Table.
    """
    try:
        source = text.decode() if isinstance(text, bytes) else text
        containers = sum(source.count(sign) * taken for sign, taken in _TAKEN.items())
        if containers > _MOST_TAKEN:
            raise Invalid("The document has too many objects, arrays and values to be read at once. Split it.")
        # Bytes, text and strings while it is read; strings, their written pieces and text while it is written.
        memory = containers + len(text) + 3 * sys.getsizeof(source)
        if most_memory is not None and memory > most_memory:
            raise Invalid(
                f"The table would take {memory:,} bytes of memory; the limit is {most_memory:,} (table_memory_bytes). "
                "Upload it as a whole: POST /v1/tables/{id}/uploads. Or raise the limit and the memory of SakuinApi."
            )
        return _at_most_deep(_DECODER.decode(source.removeprefix("\ufeff")))
    except RecursionError:
        raise Invalid(_TOO_DEEP) from None
    except UnicodeDecodeError as error:
        raise Invalid(f"The document is not UTF-8: byte {error.start} fits no character. Save it as UTF-8.") from None
    except json.JSONDecodeError as error:
        raise Invalid(
            f"The document is not JSON: {error.msg} at line {error.lineno}, column {error.colno}. Correct it there."
        ) from None
    except ValueError:
        raise Invalid("The document has a number of more than 4,300 digits. Write it as a string.") from None


def written_table(document: object) -> str:
    """Compact JSON in ASCII, from which `parsed_table` reads the same document, lone surrogates included."""
    try:
        return _ENCODER.encode(document)
    except ValueError:
        raise Invalid("NaN and Infinity are no JSON numbers. Use null or a string.") from None


def written_body(document: object) -> bytes:
    """The same in UTF-8, for whom size matters: a third of it in Japanese. Only lone surrogates are escaped."""
    return _WHOLE_ENCODER.encode(document).encode("utf-8", "backslashreplace")


def patched(document: object, operations: Iterable[Mapping[str, object]]) -> object:
    """A new document after `operations`, in order; the old one stays as it was. All of them or, with an error, none.

    Each has `op`, a pointer `path`, and `value` but for `remove`. `add`, `replace` and `remove` are those of
    RFC 6902; `set` replaces what stands there or adds it. `Invalid` and `NotFound` name the pointer.
    """
    wanted = list(operations)
    if len(wanted) > MOST_OPERATIONS:
        raise Invalid(
            f"There are {len(wanted):,} operations; {MOST_OPERATIONS:,} may come together. Send the rest after."
        )
    own: dict[int, object] = {}
    for operation in wanted:
        op, path = operation.get("op"), operation.get("path")
        if op not in ("add", "replace", "set", "remove"):
            raise Invalid(f"The operation {shown(op)} is unknown. Use add, replace, set or remove.")
        if not isinstance(path, str):
            raise Invalid(f"The operation {op!r} has no path. Give it a JSON Pointer.")
        if op != "remove" and "value" not in operation:
            raise Invalid(f"The operation {op!r} at {shown(path)} has no value. Give it one.")
        document = _changed(document, op, path, operation.get("value"), own)
    return _at_most_deep(document)


def _at_most_deep(document: object) -> object:
    """The document itself; `Invalid` if it is nested too deep, whatever the interpreter's own limit is."""
    level = [document] if isinstance(document, dict | list) else []
    for _ in range(MAX_DEPTH + 1):
        if not level:
            return document
        level = [node for holder in level for node in _values(holder) if isinstance(node, dict | list)]
    raise Invalid(_TOO_DEEP)


def _values(holder: Container) -> Iterable[object]:
    return holder.values() if isinstance(holder, dict) else holder


def _changed(document: object, op: str, path: str, value: object, own: dict[int, object]) -> object:
    """The document with one change; only the containers on the way to it are copied, each once.

    `own` holds the copies: nobody else sees them, so that the next change may go into the same.
    """
    steps = tokens(path)
    if not steps:
        if op == "remove":
            raise Invalid('The whole document (path "") cannot be removed. Delete the Table, or set it to null.')
        return value
    # What is replaced or removed must be there, what is added needs a place to be put.
    needed = path if op in ("replace", "remove") else pointer_of(steps[:-1])
    try:
        resolve(document, needed)
    except NotFound:
        raise NotFound(f"Cannot {op} {shown(path)}: the document has nothing at {shown(needed)}. Check it.") from None
    root = node = _owned(document, own)
    for step in steps[:-1]:
        below = _owned(resolve(node, pointer_of((step,))), own)
        _change(node, "set", step, below, path)
        node = below
    _change(node, op, steps[-1], value, path)
    return root


def _change(holder: object, op: str, step: str, value: object, path: str) -> None:
    if isinstance(holder, dict):
        if op == "remove":
            del holder[step]
        else:
            holder[step] = value
    elif isinstance(holder, list):
        index = len(holder) if step == "-" and op in ("add", "set") else index_of(step)
        if index is None or index > len(holder):
            raise NotFound(
                f'The array has no place for {shown(path)}. Use an index up to its length, or "-" to append.'
            )
        if op == "remove":
            del holder[index]
        else:
            # A slice: with nothing in it the value is inserted.
            holder[index : index if op == "add" else index + 1] = [value]
    else:
        raise NotFound(f"{shown(path)} stands in neither an object nor an array. Check the pointer against the Table.")


def _owned(node: object, own: dict[int, object]) -> object:
    if not isinstance(node, dict | list) or id(node) in own:
        return node
    copy = node.copy()
    own[id(copy)] = copy
    return copy


def _finite(number: str) -> float:
    value = float(number)
    if value in (float("inf"), float("-inf")):
        raise Invalid(f"The number {number[:40]} is too large for a double. Write it as a string.")
    return value


def _refused(name: str) -> NoReturn:
    raise Invalid(f"The document is not JSON: {name} is no number there. Use null or a string.")


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_refused)

_WHOLE_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))

_ENCODER = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))
