"""The search for large strings in a document."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from sakuin.tables.json_pointer import escaped, resolve

THRESHOLD = 1000  # code points

# Each string is stored with its pointer: a thousand strings below a key of a megabyte would take a gigabyte.
LONGEST_POINTER = 8000  # characters; 2,000 levels of three

_NUL_OR_SURROGATE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class LargeString:
    """One string node, at its absolute pointer."""

    json_pointer: str
    text: str


@dataclass(frozen=True, slots=True)
class UnreachablePart:
    """A part of a document that is not scanned, because its pointers are too long. `json_pointer` is cut."""

    json_pointer: str
    problem: str


def large_strings(
    document: object, scope: str, *, threshold: int = THRESHOLD
) -> Iterator[LargeString | UnreachablePart]:
    """Yields every string of at least `threshold` code points at or below `scope`, in document order.

    A part whose pointer exceeds `LONGEST_POINTER` is yielded once and not scanned. A scope that does not exist raises
    `NotFound` at the first item.
    """
    levels: list[Iterator[tuple[str, object]]] = [iter([(scope, resolve(document, scope))])]
    # Iterative, because a Table may be nested deeper than the stack of Python.
    while levels:
        pointer, node = next(levels[-1], (None, None))
        if pointer is None:
            levels.pop()
        elif not isinstance(node, dict | list | str) or (isinstance(node, str) and len(node) < threshold):
            continue
        elif len(pointer) > LONGEST_POINTER:
            yield _unreachable(pointer)
        elif isinstance(node, str):
            yield LargeString(pointer, node)
        else:
            levels.append(_children(pointer, node))


def _children(pointer: str, node: dict[str, object] | list[object]) -> Iterator[tuple[str, object]]:
    if isinstance(node, dict):
        return ((f"{pointer}/{escaped(key)}", value) for key, value in node.items())
    return ((f"{pointer}/{index}", value) for index, value in enumerate(node))


def _unreachable(pointer: str) -> UnreachablePart:
    problem = f"Its pointer has {len(pointer):,} characters, more than {LONGEST_POINTER:,}. Shorten the keys."
    return UnreachablePart(pointer[:200], problem)


def problem_of(text: str) -> str | None:
    """Returns why Postgres cannot store `text`, as a sentence for people; None if it can."""
    found = _NUL_OR_SURROGATE.search(text)
    if found is None:
        return None
    if found[0] == "\0":
        return f"Character {found.start()} is NUL (\\u0000), which Postgres cannot store. Remove it."
    code = f"\\u{ord(found[0]):04x}"
    return f"Character {found.start()} is half of a surrogate pair ({code}), which is not text. Replace it."


def storable(text: str) -> str:
    """Returns `text` with NUL and lone surrogates as escapes, for people. A pointer no longer resolves then."""
    return _NUL_OR_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def content_hash(text: str) -> str:
    """Returns the SHA-256 hex of the text in UTF-8. A lone surrogate counts as three bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
