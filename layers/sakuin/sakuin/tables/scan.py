"""The search for large strings in a document, and how many there are."""

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sakuin.errors import NotFound
from sakuin.tables.entries import NO_ENTRIES, EntryRules
from sakuin.tables.json_pointer import escaped, resolve
from sakuin.tables.model import SkippedNode
from sakuin.texts.catalogue import coded, stored

# Each string is stored with its pointer: a thousand strings below a key of a megabyte would take a gigabyte.
LONGEST_POINTER = 8000  # characters; 2,000 levels of three

_NUL_OR_SURROGATE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class LargeString:
    """One string node, at its absolute pointer."""

    json_pointer: str
    text: str


def large_strings(
    document: object, scope: str, *, threshold: int, rules: EntryRules = NO_ENTRIES
) -> Iterator[LargeString | SkippedNode]:
    """Yields every string of at least `threshold` code points at or below `scope`, in document order.

    In entries, `rules` say which strings, of whatever length.

    A part whose pointer exceeds `LONGEST_POINTER` is skipped: not scanned, its pointer cut. A scope that does not
    exist raises `NotFound` at the first item.
    """
    levels: list[Iterator[tuple[str, object]]] = [iter([(scope, resolve(document, scope))])]
    # Iterative, because a Table may be nested deeper than the stack of Python.
    while levels:
        pointer, node = next(levels[-1], (None, None))
        if pointer is None:
            levels.pop()
        elif not isinstance(node, dict | list | str) or _is_short(pointer, node, threshold, rules):
            continue
        elif len(pointer) > LONGEST_POINTER:
            yield SkippedNode(pointer[:200], coded("table.long_pointer", count=len(pointer), most=LONGEST_POINTER))
        elif isinstance(node, str):
            yield LargeString(pointer, node)
        else:
            levels.append(_children(pointer, node))


def _is_short(pointer: str, node: object, threshold: int, rules: EntryRules) -> bool:
    return isinstance(node, str) and len(node) < rules.least(pointer, threshold)


def _children(pointer: str, node: dict[str, object] | list[object]) -> Iterator[tuple[str, object]]:
    if isinstance(node, dict):
        return ((f"{pointer}/{escaped(key)}", value) for key, value in node.items())
    return ((f"{pointer}/{index}", value) for index, value in enumerate(node))


@dataclass(slots=True)
class StringCount:
    """The strings of a part of a document: all, the large ones, and the length of the longest in code points.

    `missing` is the reason why there is no such part.
    """

    strings: int = 0
    large: int = 0
    longest: int = 0
    missing: str | None = None

    def add(self, text: str, least: float) -> None:
        self.strings += 1
        self.large += len(text) >= least
        self.longest = max(self.longest, len(text))

    def merge(self, inner: "StringCount") -> None:
        self.strings += inner.strings
        self.large += inner.large
        self.longest = max(self.longest, inner.longest)


def count_strings(
    document: object, scopes: Collection[str], *, threshold: int, rules: EntryRules = NO_ENTRIES
) -> Mapping[str, StringCount]:
    """Returns the counts by scope. A scope that does not exist has no strings. Keys are no strings."""
    counts = {scope: StringCount() for scope in scopes}
    inside: dict[int, StringCount] = {}
    for scope, count in counts.items():
        try:
            node = resolve(document, scope)
        except NotFound as error:
            count.missing = str(error)
            continue
        if isinstance(node, str):
            count.add(node, rules.least(scope, threshold))
        # A document is a tree: each object and list has one place.
        inside[id(node)] = count
    # Each string is counted once, in its innermost scope: scopes may be nested as deep as the document.
    levels: list[tuple[Iterator[tuple[str, object]], StringCount]] = [(iter([("", document)]), StringCount())]
    while levels:
        nodes, count = levels[-1]
        for pointer, node in nodes:
            if isinstance(node, str):
                count.add(node, rules.least(pointer, threshold))
            elif isinstance(node, dict | list):
                levels.append((_children(pointer[:LONGEST_POINTER], node), inside.get(id(node), count)))
                break
        else:
            levels.pop()
            if levels and levels[-1][1] is not count:
                levels[-1][1].merge(count)
    return counts


def found_strings(count: StringCount, threshold: int, rules: EntryRules, table_id: str) -> dict[str, Any]:
    """Returns what the scan found for a Tool: its status is `error` with the reason `missing`, if that is not None.

    `warning` is None if there is something.
    """
    return {
        "strings_count": count.strings,
        "large_strings_count": count.large,
        "chunk_threshold_chars": threshold,
        "entries": rules.pattern,
        "warning": None if count.large else stored(_warning(count, threshold, table_id)),
        "missing": stored(count.missing),
    }


def _warning(count: StringCount, threshold: int, table_id: str) -> str:
    if not count.strings:
        return coded("table.no_string")
    return coded("table.all_short", count=count.strings, least=threshold, longest=count.longest, table=table_id)


def problem_of(text: str) -> str | None:
    """Returns why Postgres cannot store `text`, as a sentence for people; None if it can."""
    match = _NUL_OR_SURROGATE.search(text)
    if match is None:
        return None
    if match[0] == "\0":
        return coded("table.nul", place=str(match.start()))
    code = f"\\u{ord(match[0]):04x}"
    return coded("table.surrogate", place=str(match.start()), code=code)


def storable(text: str) -> str:
    """Returns `text` with NUL and lone surrogates as escapes, for people. A pointer no longer resolves then."""
    return _NUL_OR_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def content_hash(text: str) -> str:
    """Returns the SHA-256 hex of the text in UTF-8. A lone surrogate counts as three bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
