"""The document of a Table: parsing, writing, and changes by JSON Pointer."""

import csv
import io
import json
import re
import sys
from collections.abc import Iterable, Mapping
from typing import NoReturn

from sakuin.errors import Invalid, NotFound
from sakuin.tables.json_pointer import index_of, pointer_of, resolve, shown, tokens
from sakuin.texts.catalogue import coded

# Deeper than documents of people, and within the limit of Postgres.
MAX_DEPTH = 2000

# A Lambda function has the text, the parsed document and its chunks in memory together.
MAX_BYTES = 100_000_000

# Each operation copies the containers above its node.
MOST_OPERATIONS = 5000

# The bytes of a parsed object, array and value in CPython, by the sign that each has in the text.
_BYTES_OF = {"{": 240, "[": 90, ",": 60}
_MOST_BYTES_OF_CONTAINERS = 1_000_000_000

# Longer numbers, and those that begin with 0, are codes.
_TYPED = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?|true|false")

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
                "Upload it as a whole: POST /v1/tables/{id}/uploads. Or raise the limit and the memory of SakuinApi."
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


def table_of_csv(text: str | bytes) -> list[dict[str, object]]:
    """Returns the entries of a CSV text, whose first row names their fields. Raises `Invalid` with the line.

    A column of numbers, or of true and false, has these. An empty cell is no field.
    """
    try:
        lines = (text.decode() if isinstance(text, bytes) else text).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise Invalid(coded("json.utf8", place=str(error.start))) from None
    header = lines.partition("\n")[0]
    reader = csv.reader(io.StringIO(lines, newline=""), strict=True, delimiter=max(",;\t", key=header.count))
    names, rows = [], []
    try:
        names = [name.strip() for name in next(reader, [])]
        if not any(names) or "" in names or len(set(names)) < len(names):
            raise Invalid(coded("csv.header"))
        for row in reader:
            if len(row) > len(names):
                raise Invalid(coded("csv.cells", line=reader.line_num, count=len(row), most=len(names)))
            rows.append(row)
    except csv.Error as error:
        raise Invalid(coded("csv.syntax", error=str(error), line=reader.line_num)) from error
    columns = [[row[place] for row in rows if place < len(row) and row[place]] for place in range(len(names))]
    typed = {name for name, cells in zip(names, columns, strict=True) if all(map(_TYPED.fullmatch, cells))}
    entries = (zip(names, row, strict=False) for row in rows if any(row))
    return [{name: json.loads(cell) if name in typed else cell for name, cell in entry if cell} for entry in entries]


def written_table(document: object) -> str:
    """Returns compact JSON in ASCII, which `parsed_table` reads without loss, lone surrogates included."""
    try:
        return _ENCODER.encode(document)
    except ValueError:
        raise Invalid("NaN and Infinity are not JSON numbers. Use null or a string.") from None


def written_body(document: object) -> bytes:
    """Returns compact JSON in UTF-8, for Japanese a third of the size. Only lone surrogates are escaped."""
    return _UNICODE_ENCODER.encode(document).encode("utf-8", "backslashreplace")


def patched(document: object, operations: Iterable[Mapping[str, object]]) -> object:
    """Returns a new document after all `operations` in order; `document` does not change.

    Each operation has `op`, a pointer `path`, and `value` except for `remove`. `add`, `replace` and `remove` are those
    of RFC 6902; `set` replaces or adds a node. Raises `Invalid` and `NotFound` with the pointer.
    """
    changes = list(operations)
    if len(changes) > MOST_OPERATIONS:
        raise Invalid(
            f"There are {len(changes):,} operations; the limit is {MOST_OPERATIONS:,}. Send the others later."
        )
    own: dict[int, object] = {}
    for operation in changes:
        op, path = operation.get("op"), operation.get("path")
        if op not in ("add", "replace", "set", "remove"):
            raise Invalid(f"The operation {shown(op)} is unknown. Use add, replace, set or remove.")
        if not isinstance(path, str):
            raise Invalid(f"The operation {op!r} has no path. Add a JSON Pointer.")
        if op != "remove" and "value" not in operation:
            raise Invalid(f"The operation {op!r} at {shown(path)} has no value. Add one.")
        document = _changed(document, op, path, operation.get("value"), own)
    return _at_most_deep(document)


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


def _changed(document: object, op: str, path: str, value: object, own: dict[int, object]) -> object:
    """Returns the document with one change. Only the containers above it are copied, each once.

    `own` has the copies, which the next change can modify.
    """
    steps = tokens(path)
    if not steps:
        if op == "remove":
            raise Invalid(
                'The whole document (path "") cannot be removed. Delete the Table, or set the document to null.'
            )
        return value
    # A node to replace or remove must exist; a node to add needs a parent.
    needed = path if op in ("replace", "remove") else pointer_of(steps[:-1])
    try:
        resolve(document, needed)
    except NotFound:
        raise NotFound(f"Cannot {op} {shown(path)}: the document has no node at {shown(needed)}.") from None
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
            # An empty slice inserts the value.
            holder[index : index if op == "add" else index + 1] = [value]
    else:
        raise NotFound(
            f"The parent of {shown(path)} is neither an object nor an array. Compare the pointer with the Table."
        )


def _owned(node: object, own: dict[int, object]) -> object:
    if not isinstance(node, dict | list) or id(node) in own:
        return node
    copy = node.copy()
    own[id(copy)] = copy
    return copy


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
