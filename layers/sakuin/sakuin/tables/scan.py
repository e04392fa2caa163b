"""Finds the large strings of a document."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from sakuin.tables.json_pointer import escaped, resolve

THRESHOLD = 1000

# Every string carries its own pointer: below a key of a megabyte, a thousand strings would be a gigabyte.
LONGEST_POINTER = 8000  # characters; 2,000 levels of three

_NUL_OR_SURROGATE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class LargeString:
    """One string node, at its absolute pointer."""

    json_pointer: str
    text: str


@dataclass(frozen=True, slots=True)
class OutOfReach:
    """A part of a document that is not walked, since no pointer into it is short enough. `json_pointer` is cut."""

    json_pointer: str
    problem: str


def large_strings(document: object, scope: str, *, threshold: int = THRESHOLD) -> Iterator[LargeString | OutOfReach]:
    """Every string of at least `threshold` code points at or below `scope`, in document order.

    What has a pointer over `LONGEST_POINTER` is given once, as a whole, and its neighbours are walked. No string large
    enough is not an error; a scope that is not there raises `NotFound`, at the first item.
    """
    ways: list[Iterator[tuple[str, object]]] = [iter([(scope, resolve(document, scope))])]
    # A list of iterators instead of recursion: a Table may be nested deeper than Python's stack.
    while ways:
        pointer, node = next(ways[-1], (None, None))
        if pointer is None:
            ways.pop()
        elif not isinstance(node, dict | list | str) or (isinstance(node, str) and len(node) < threshold):
            continue
        elif len(pointer) > LONGEST_POINTER:
            yield _out_of_reach(pointer)
        elif isinstance(node, str):
            yield LargeString(pointer, node)
        else:
            ways.append(_below(pointer, node))


def _below(pointer: str, node: dict[str, object] | list[object]) -> Iterator[tuple[str, object]]:
    if isinstance(node, dict):
        return ((f"{pointer}/{escaped(key)}", value) for key, value in node.items())
    return ((f"{pointer}/{index}", value) for index, value in enumerate(node))


def _out_of_reach(pointer: str) -> OutOfReach:
    problem = f"Its pointer has {len(pointer):,} characters, more than {LONGEST_POINTER:,}. Shorten the keys."
    return OutOfReach(pointer[:200], problem)


def problem_of(text: str) -> str | None:
    """Why Postgres cannot hold `text`, as a sentence for `skipped_nodes`; None if it can. Ask for pointers too."""
    found = _NUL_OR_SURROGATE.search(text)
    if found is None:
        return None
    if found[0] == "\0":
        return f"Character {found.start()} is NUL (\\u0000), which Postgres text cannot hold. Remove it."
    return (
        f"Character {found.start()} is half of a surrogate pair (\\u{ord(found[0]):04x}), which is no text. Replace it."
    )


def storable(text: str) -> str:
    """`text` with each NUL and lone surrogate as its escape, for people: no longer an address."""
    return _NUL_OR_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def content_hash(text: str) -> str:
    """SHA-256 hex of the whole string's UTF-8; a lone surrogate counts as its three bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
