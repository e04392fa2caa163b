"""What the entries of a document may be, and what it costs to index them."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sakuin.errors import Invalid
from sakuin.platform.openai.models import model_facts
from sakuin.retrieval.index_version import TableCut
from sakuin.retrieval.tokens import estimated_tokens
from sakuin.tables.chunking import chunks
from sakuin.tables.entries import MOST_FILTERS, MOST_LISTED, EntryRules, FieldType, value_of
from sakuin.tables.json_pointer import escaped, resolve
from sakuin.tables.objects import titles_around
from sakuin.tables.scan import LargeString, large_strings

_MODEL = "text-embedding-3-small"
_LEAST_ENTRIES = 2
# Entries of a list have most of their fields in common.
_COMMON = 0.5
_LEVELS = 3
# Names of fields that say nothing, and texts that are addresses.
_NO_TEXT = re.compile(r"^(_?id|uuid|guid|hash|url|href|link|image|icon|slug)$", re.IGNORECASE)
_ADDRESS = re.compile(r"\S+://\S+|\S+@\S+")
# A longer text is no word to choose by, on average, in characters.
_LONGEST_WORD = 30
_CENT = 0.01


@dataclass(frozen=True, slots=True)
class Proposal:
    """The entries of a document: `rules`, how many there are, and their fields."""

    rules: EntryRules
    count: int
    fields: Sequence[str]

    def __str__(self) -> str:
        found = f"{self.count:,} entries at {self.rules.pattern} with {', '.join(self.fields)}"
        search = " and ".join(self.rules.search or ["all strings"])
        filters = f", filter {' and '.join(self.rules.filter)}" if self.rules.filter else ""
        return f"{found}: search {search}{filters}"


def proposal(document: object) -> Proposal | None:
    """Returns the entries that a document seems to have: its list of objects with the most text; None without one."""
    lists = [(pattern, entries) for pattern, entries in _lists("", document, _LEVELS) if _are_alike(entries)]
    if not lists:
        return None
    pattern, entries = max(lists, key=lambda each: (sum(map(_characters, each[1])), -len(each[0])))
    fields = list(dict.fromkeys(name for entry in entries for name in entry))
    values = {name: [entry[name] for entry in entries if entry.get(name) is not None] for name in fields}
    search = [name for name in fields if _is_searched(name, values[name])]
    kinds = {name: kind for name in fields if (kind := type_of(values[name])) and _is_filter(name, kind, values[name])}
    filters = dict(list(kinds.items())[:MOST_FILTERS])
    named = {name: escaped(name) for name in fields}
    rules = EntryRules(
        pattern,
        tuple(named[name] for name in search if name not in filters) or None,
        filter={named[name]: kind for name, kind in filters.items()},
    )
    return Proposal(rules, len(entries), fields)


def _lists(pointer: str, node: object, levels: int) -> Iterator[tuple[str, list[dict[str, object]]]]:
    """Yields the lists of objects of a document, and objects of objects, with the pattern of their entries."""
    children = list(node.values()) if isinstance(node, dict) else node if isinstance(node, list) else []
    objects = [each for each in children if isinstance(each, dict)]
    if len(objects) >= _LEAST_ENTRIES and len(objects) == len(children):
        yield f"{pointer}/*", objects
    if isinstance(node, dict) and levels:
        for key, value in node.items():
            yield from _lists(f"{pointer}/{escaped(key)}", value, levels - 1)


def _are_alike(entries: Sequence[dict[str, object]]) -> bool:
    names = [name for entry in entries for name in entry]
    return bool(names) and len(names) / len(set(names)) >= _COMMON * len(entries)


def _characters(node: object) -> int:
    if isinstance(node, str):
        return len(node)
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return sum(map(_characters, children))


def type_of(values: Sequence[object]) -> FieldType | None:
    """Returns the type that all these values have as those of a filter; None if there is none."""
    kinds: tuple[FieldType, ...] = ("boolean", "number", "date", "string")
    for kind in kinds:
        if values and all(value_of(kind, value) is not None for value in values):
            return kind
    lists = [each for value in values if isinstance(value, list) for each in value]
    is_list = lists and all(isinstance(value, list) for value in values)
    return "list" if is_list and all(isinstance(each, str) for each in lists) else None


def types_in(document: object, pattern: str, kinds: Mapping[str, str]) -> dict[str, str]:
    """Returns the types of fields, those that are missing as the entries of a document have them.

    Raises `Invalid` for a field that has no type.
    """
    rules = EntryRules.of({"pattern": pattern})
    found = large_strings(document, "", threshold=1, rules=rules)
    places = {rules.entry_of(each.json_pointer) for each in found} - {None}
    fields_of = EntryRules.of({"pattern": pattern, "search": [*kinds]}).searched
    entries = [fields_of(resolve(document, place)) for place in places if place is not None]
    types = {}
    for name, kind in kinds.items():
        values = [entry[name] for entry in entries if entry.get(name) is not None]
        types[name] = kind or type_of(values) or ""
        if not types[name]:
            raise Invalid(f"The entries have no values of one type in {name!r}. Name it: --filter {name}:string")
    return types


def options_of(rules: EntryRules) -> str:
    """Returns the options of the command that give these rules."""
    options = [("--entries", rules.pattern), *(("--search", name) for name in rules.search or ())]
    options += [("--filter", f"{name}:{kind}") for name, kind in rules.filter.items()]
    return " ".join(f"{option} {shlex.quote(value)}" for option, value in options)


def _is_filter(name: str, kind: FieldType, values: Sequence[object]) -> bool:
    if _NO_TEXT.match(name) or kind not in ("string", "list"):
        return not _NO_TEXT.match(name)
    words = [str(each) for value in values for each in (value if isinstance(value, list) else [value])]
    is_short = sum(map(len, words)) <= _LONGEST_WORD * len(words)
    return is_short and len(set(words)) <= min(MOST_LISTED, len(words) // 2)


def _is_searched(name: str, values: Sequence[object]) -> bool:
    texts = [value for value in values if isinstance(value, str)]
    if texts:
        return not _NO_TEXT.match(name) and not all(map(_ADDRESS.fullmatch, texts)) and type_of(values) != "date"
    return any(map(_characters, values))


def estimate(document: object, rules: EntryRules, threshold: int) -> str:
    """Returns how many chunks a document gives, and what their embedding costs with the default model of OpenAI."""
    found = large_strings(document, "", threshold=threshold, rules=rules)
    strings = [string for string in found if isinstance(string, LargeString)]
    count = tokens = 0
    for string, title in zip(strings, titles_around(document, strings, [""], rules), strict=True):
        pieces = chunks(string.text, size=TableCut().chunk_size, overlap=TableCut().overlap)
        count += len(pieces)
        tokens += sum(estimated_tokens(f"{title}\n{piece.text}") for piece in pieces)
    dollars = tokens * (model_facts(_MODEL).usd_read or 0) / 1_000_000
    price = f"${dollars:.2f}" if dollars >= _CENT else "less than a cent"
    return f"{count:,} chunks, about {tokens:,} tokens: {price} with OpenAI's {_MODEL}"
