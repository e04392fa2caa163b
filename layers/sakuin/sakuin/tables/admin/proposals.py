"""What the entries of a document may be, what their fields hold, and what it costs to index them."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from sakuin.errors import Invalid, NotFound
from sakuin.language.character_grams import character_grams
from sakuin.language.impacts import impacts_in_chunk
from sakuin.language.model import Slot
from sakuin.language.unicode_text import estimated_tokens, folded
from sakuin.platform.openai.models import model_facts
from sakuin.retrieval.filters import MOST_FILTERS, MOST_LISTED, FieldType, value_of
from sakuin.retrieval.index_version import TableCut
from sakuin.retrieval.ranking import Candidate, Frequencies, word_matches
from sakuin.tables.chunking import chunks
from sakuin.tables.entries import EntryRules
from sakuin.tables.json_pointer import escaped, resolve, tokens
from sakuin.tables.objects import titles_around
from sakuin.tables.scan import LargeString, large_strings

_MODEL = "text-embedding-3-small"
_LEAST_ENTRIES = 2
# Entries of a list have most of their fields in common.
_COMMON = 0.5
_LEVELS = 3
# Names of fields that say nothing, and strings that nobody asks for: addresses, UUIDs, hashes, Base64.
_NO_TEXT = re.compile(r"^(_?id|uuid|guid|hash|url|href|link|image|icon|slug)$", re.IGNORECASE)
_NO_WORDS = re.compile(
    r"\S+://\S+|\S+@\S+|(?:urn:)?(?:uuid:)?[\da-fA-F]{8}(?:-[\da-fA-F]{4}){3}-[\da-fA-F]{12}"
    r"|(?:\w+[:-])?(?=\d*[a-fA-F])[\da-fA-F]{16,}|(?:\w+-)?(?=\S*\d)(?=\S*[a-z])(?=\S*[A-Z])[\w+/]{22,}={0,2}"
)
# Strings that are longer on average, in characters, are no words to choose by.
_LONGEST_WORD = 30
_CENT = 0.01
_MOST_FOUND = 5
_KINDS = {str: "string", bool: "boolean", int: "number", float: "number", list: "list", type(None): "null"}


@dataclass(frozen=True, slots=True)
class Proposal:
    """The entries of a document: `rules`, how many there are, and their fields."""

    rules: EntryRules
    count: int
    fields: Sequence[str]

    def __str__(self) -> str:
        entries = f"{self.count:,} entries at {self.rules.pattern} with {', '.join(self.fields)}"
        search = " and ".join(self.rules.search or ["all strings"])
        filters = f", filter {' and '.join(self.rules.filter)}" if self.rules.filter else ""
        return f"{entries}: search {search}{filters}"


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
    return sum(len(text) for _, text in _texts("", node))


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
    entries = list(entries_in(document, EntryRules.of({"pattern": pattern})).values())
    types = {}
    for name, kind in kinds.items():
        values = [value for value in _values(entries, name) if value is not None]
        types[name] = kind or type_of(values) or ""
        if not types[name]:
            raise Invalid(f"The entries have no values of one type in {name!r}. Name it: --filter {name}:string")
    return types


def _values(entries: Sequence[object], name: str) -> Iterator[object]:
    for entry in entries:
        with suppress(NotFound):
            yield resolve(entry, f"/{name}")


def entries_in(document: object, rules: EntryRules) -> dict[str, object]:
    """Returns the entries of a document by their pointers, in its order."""
    nodes = {"": document}
    for step in tokens(rules.pattern):
        nodes = {
            f"{pointer}/{escaped(key)}": child
            for pointer, node in nodes.items()
            for key, child in _children(node)
            if step in ("*", key)
        }
    return nodes


def _children(node: object) -> Iterator[tuple[str, object]]:
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return ((str(key), child) for key, child in children)


@dataclass(frozen=True, slots=True)
class Column:
    """A field of entries: how many have it with which type, how many values it has, and the type of its filter."""

    name: str
    kinds: Mapping[str, int]
    values_count: int
    filter: FieldType | None

    @property
    def is_inner(self) -> bool:
        """Whether it is a field of an object in the entry."""
        return "/" in self.name


def columns(entries: Sequence[object], rules: EntryRules) -> list[Column]:
    """Returns the fields of entries, and of objects in them, and those that rules name."""
    names = dict.fromkeys(name for entry in entries for name in _names(entry))
    names |= dict.fromkeys([*(rules.search or ()), *(rules.show or ()), *rules.filter])
    return [_column(name, list(_values(entries, name))) for name in names]


def _names(entry: object) -> Iterator[str]:
    for name, value in entry.items() if isinstance(entry, dict) else ():
        yield escaped(name)
        yield from (f"{escaped(name)}/{escaped(inner)}" for inner in (value if isinstance(value, dict) else ()))


def _column(name: str, values: Sequence[object]) -> Column:
    kinds = Counter(_KINDS.get(type(value), "object") for value in values)
    different = {json.dumps(value, sort_keys=True) for value in values}
    return Column(
        name, dict(kinds.most_common()), len(different), type_of([each for each in values if each is not None])
    )


def _is_filter(name: str, kind: FieldType, values: Sequence[object]) -> bool:
    words = [text for value in values for _, text in _texts(name, value)]
    return not _NO_TEXT.match(name) and (kind not in ("string", "list") or _are_choices(words))


def _is_searched(name: str, values: Sequence[object]) -> bool:
    """Returns whether a field, or one in it, has texts that people ask for."""
    texts = defaultdict(list)
    for value in values:
        for inner, text in _texts(name, value):
            texts[inner].append(text)
    return any(
        not (_NO_TEXT.match(inner) or all(map(_NO_WORDS.fullmatch, strings)) or type_of(strings) == "date")
        and not _are_choices(strings)
        for inner, strings in texts.items()
    )


def _texts(name: str, value: object) -> Iterator[tuple[str, str]]:
    """Yields the strings in the value of a field, each with the name of the field that it is in."""
    if isinstance(value, str) and value:
        yield name, value
    for key, child in _children(value):
        yield from _texts(key if isinstance(value, dict) else name, child)


def _are_choices(words: Sequence[str]) -> bool:
    """Returns whether strings are few short words, of which about half or more stand there again."""
    is_short, different = sum(map(len, words)) <= _LONGEST_WORD * len(words), len(set(words))
    return is_short and different <= min(MOST_LISTED, len(words) // 2 + 1, len(words) - 1)


@dataclass(frozen=True, slots=True)
class Cost:
    """The chunks of a document, and about how many tokens their texts have."""

    chunks: int
    tokens: int

    def dollars(self, usd_per_million: float) -> str:
        """Returns what their embedding costs."""
        return f"${max(_CENT, self.tokens * usd_per_million / 1_000_000):.2f}"

    def __str__(self) -> str:
        price = self.dollars(model_facts(_MODEL).usd_read or 0)
        return f"{self.chunks:,} chunks, about {self.tokens:,} tokens: at most {price} with OpenAI's {_MODEL}"


def cost_of(document: object, rules: EntryRules, threshold: int) -> Cost:
    """Returns what the index of a document costs."""
    scanned = large_strings(document, "", threshold=threshold, rules=rules)
    strings = [string for string in scanned if isinstance(string, LargeString)]
    count = tokens = 0
    for string, title in zip(strings, titles_around(document, strings, [""], rules), strict=True):
        pieces = chunks(string.text, size=TableCut().chunk_size, overlap=TableCut().overlap)
        count += len(pieces)
        tokens += sum(estimated_tokens(f"{title}\n{piece.text}") for piece in pieces)
    return Cost(count, tokens)


def found_by_words(entries: Mapping[str, object], rules: EntryRules, query: str) -> list[str]:
    """Returns the entries that have most of a question's words, by their pointers, the best first.

    Only character grams are compared: the function `api` has no morphological analyzer.
    """
    slots = [Slot("gram", (gram,)) for gram in dict.fromkeys(character_grams(folded(query)))]
    candidates = []
    for pointer, entry in entries.items():
        counts = Counter(character_grams(folded("\n".join(text for _, text in _texts("", rules.searched(entry))))))
        candidates.append(
            Candidate(pointer, None, impacts_in_chunk(counts, counts.total(), average=TableCut().chunk_size))
        )
    frequencies = Frequencies(len(candidates), Counter(gram for each in candidates for gram in each.impacts))
    words = word_matches(slots, frequencies, candidates)
    best = sorted((each for each in words if words[each].share), key=lambda each: -words[each].share)
    return best[:_MOST_FOUND]
