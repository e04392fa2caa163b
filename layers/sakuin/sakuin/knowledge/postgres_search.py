"""The functions in Postgres that search and read pages."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from sakuin.errors import Invalid
from sakuin.knowledge.markdown import plain_text
from sakuin.knowledge.model import (
    EVERYTHING,
    HIGHEST_IMPACT,
    Filters,
    FilterValues,
    FoundText,
    ListedConcept,
    ListedMaterial,
    LocatedText,
    Match,
    PagePart,
    Place,
    StoredChunk,
    TextMatch,
)
from sakuin.knowledge.names import (
    UNREACHABLE,
    chunk_id,
    chunk_of_link,
    folder_of_name,
    link,
    place_of_link,
    plain_name,
    split_chunk_id,
    with_links,
)
from sakuin.knowledge.page import type_of_anchor
from sakuin.language.model import LexiconEntries, LexiconLookup, Slot
from sakuin.language.notation import canonical
from sakuin.language.unicode_text import nfc
from sakuin.platform.embedding import Vector
from sakuin.platform.supabase.client import Client, call, vector_text
from sakuin.retrieval.exact_text import exact_pattern
from sakuin.retrieval.filters import MOST_LISTED, check_known, said_elsewhere
from sakuin.retrieval.index_version import PageIndexVersion
from sakuin.retrieval.proximity import COMPARED, ComparedText, ranked_by_texts
from sakuin.retrieval.ranking import (
    Candidate,
    Frequencies,
    Ranked,
    WordMatch,
    behind_by_language,
    known_share,
    rank,
    unrelated,
    word_matches,
)
from sakuin.retrieval.weights import SAMPLE, Weights


@dataclass(frozen=True, slots=True)
class Question:
    """A query to the index. Without `vector` it searches by words alone, without `slots` by meaning alone.

    `expected` is the id of a chunk that is scored wherever it ranks. With `wants_example` examples get no penalty;
    concepts that they illustrate still come first. If it `asks_nothing`, nothing is a good match. Chunks below a folder
    of `folder_slots` are searched by those slots instead; of several folders the deepest counts.
    """

    vector: Vector | None
    slots: Sequence[Slot]
    version: PageIndexVersion
    filters: Filters
    limit: int
    expected: str | None = None
    wants_example: bool = False
    asks_nothing: bool = False
    folder_slots: Mapping[str, Sequence[Slot]] = field(default_factory=dict)

    @property
    def has_words(self) -> bool:
        """Whether there are slots, of all pages or of a folder."""
        return any((self.slots, *self.folder_slots.values()))

    def slots_of(self, folder: str) -> Sequence[Slot]:
        """Returns the slots for the chunks of a folder; "" is every other chunk."""
        return self.folder_slots[folder] if folder else self.slots

    def folder_of(self, id: str) -> str:
        """Returns the folder whose slots a chunk is searched by; "" for the others."""
        if not self.folder_slots:
            return ""
        material, _ = split_chunk_id(id)
        return max((folder for folder in self.folder_slots if material.startswith(folder)), key=len, default="")


# The nearest and the matching chunks that are ranked. It does not depend on `top_k`, so that the order does not either.
DEPTH = 100
# Concepts or pages in one list.
ENTRIES_A_PAGE = 100
# Where `FilterValues` has the values of each filter.
_LISTS = {
    **{"type": "types", "category": "categories", "level": "levels", "language": "languages"},
    **{"material": "materials", "folder": "folders"},
}
# Values of a filter that finds something where others do not.
_HINTED = 5
# Described folders in one answer.
_PLACES = 20
# Explanations in one part of a page, and those with a text that is searched for.
PARTS, _FOUND = 50, 20
# Explanations of a page among which a link to a text is looked up.
_LINKED = 900
# How long one call compares texts: some 20,000 explanations (docs/decisions/0120).
_SCAN_SECONDS = 1.0


# The chunks of postings that a question reads.
POSTING_BUDGET = 10_000


class CandidateStore(Protocol):
    """Where a search finds its candidates: Postgres or turbopuffer."""

    def candidates(self, question: Question) -> Mapping[str, Any]:
        """Returns the candidates of a question in the form of the SQL function `search_candidates`."""

    def texts(self, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        """Returns what an answer shows of chunks, by id. An id without a chunk is left out."""

    def has_terms(self, terms: Sequence[Sequence[str]], filters: Filters) -> list[bool]:
        """Returns for each list of terms whether a chunk that passes the filters has all of them."""


@dataclass(frozen=True, slots=True)
class PostgresChunks:
    """The `CandidateStore` in Postgres.

    `posting_budget`: the chunks to read from postings; the question's more frequent words beyond it only score the
    chunks that rarer words found.
    """

    client: Client
    posting_budget: int = POSTING_BUDGET

    def candidates(self, question: Question) -> dict[str, Any]:
        found: dict[str, Any] = call(
            self.client,
            "search_candidates",
            {
                "p_embedding": vector_text(question.vector) if question.vector is not None else None,
                "p_slots": _slots(question),
                "p_folders": ["", *question.folder_slots],
                "p_space": question.version.space,
                "p_depth": DEPTH,
                "p_sample": SAMPLE if question.vector is not None else 0,
                "p_posting_budget": self.posting_budget,
                "p_expected": question.expected,
                "p_filter": question.filters.stored,
                "p_fixed": _fixed(question.filters),
            },
        )
        return found

    def stored_candidates(self, question: Question, rows: Sequence[str]) -> dict[str, Any]:
        """Returns what Postgres adds to rows that a search in turbopuffer found: the SQL function of this name."""
        slots = [slot for slots in (question.slots, *question.folder_slots.values()) for slot in slots]
        found: dict[str, Any] = call(
            self.client,
            "stored_candidates",
            {
                "p_rows": list(rows),
                "p_terms": sorted({term for slot in slots for term in slot.terms}),
                "p_space": question.version.space,
                "p_sample": SAMPLE if question.vector is not None else 0,
                "p_expected": question.expected,
                "p_filter": question.filters.stored,
                "p_fixed": _fixed(question.filters),
            },
        )
        return found

    def texts(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        return {row["id"]: row for row in call(self.client, "chunks_to_show", {"p_ids": list(ids)})} if ids else {}

    def has_terms(self, terms: Sequence[Sequence[str]], filters: Filters) -> list[bool]:
        return list(call(self.client, "has_terms", {"p_terms": list(map(list, terms)), "p_filter": filters.stored}))


@dataclass(frozen=True, slots=True)
class ChunkSearch:
    """Ranks the chunks that a store finds for an analyzed question."""

    chunks: CandidateStore
    weights: Weights

    def matches(self, question: Question) -> list[Match]:
        """Returns the best `limit` chunks by falling similarity, ties by id; fewer only if the filters leave fewer.

        The expected chunk follows if it is not among them and passes the filters. Vectors of another `space` are
        never compared: such chunks, and all chunks if `vector` is None, are found by words alone.
        """
        found = self.chunks.candidates(question)
        rows = {row["id"]: row for row in found["candidates"]}
        candidates = [_candidate(row) for row in rows.values()]
        frequencies = Frequencies(found["total"], found["frequency"])
        in_folder: dict[str, list[Candidate]] = defaultdict(list)
        for candidate in candidates:
            in_folder[question.folder_of(candidate.id)].append(candidate)
        words: dict[str, WordMatch] = {}
        for folder, those in in_folder.items():
            words |= word_matches(question.slots_of(folder), frequencies, those)
        share = known_share(question.slots, frequencies)
        others = unrelated([cosine for _, cosine in found["cosines"]], self.weights, known_share=share)
        sample = [(_language(language), cosine) for language, cosine in found["cosines"]]
        some = [each for each in candidates if rows[each.id]["is_found"]]
        others = replace(others, behind=behind_by_language(sample, some, words, others, self.weights))
        has_vector = question.vector is not None
        scale = self.weights.scale(
            has_words=question.has_words, has_vector=has_vector, known_share=share, lower=others.lower
        )
        scale = replace(scale, least=math.inf) if question.asks_nothing else scale
        ranked = partial(
            rank,
            candidates,
            others=others,
            weights=self.weights,
            scale=scale,
            lowers_examples=question.filters.type is None and not question.wants_example,
        )
        first = [each for each in ranked(words) if rows[each.id]["is_found"]][: max(question.limit, COMPARED)]
        texts = self.chunks.texts([*(each.id for each in first), *([question.expected] if question.expected else [])])
        # A page that changes meanwhile may lose chunks.
        compared = [each for each in first[:COMPARED] if each.id in texts]
        read: dict[str, dict[str, ComparedText]] = defaultdict(dict)
        for each in compared:
            read[question.folder_of(each.id)][each.id] = _compared(texts[each.id])
        by_slots = [(question.slots_of(folder), some) for folder, some in read.items()]
        ranking = ranked_by_texts(ranked, words, first, by_slots, frequencies)
        best = [each for each in ranking if rows[each.id]["is_found"]][: question.limit]
        shown = [*best, *(each for each in ranking if each.id == question.expected and each not in best)]
        return [_match(each, rows[each.id], texts[each.id]) for each in shown if each.id in texts]


@dataclass(frozen=True, slots=True)
class ReadKnowledge:
    """Reads chunks and pages without searching. Links begin with `base_url`.

    For a caller whose key fixes a filter there is nothing else.
    """

    client: Client
    base_url: str
    fixed: Filters = EVERYTHING

    def within(self, filters: Filters) -> Filters:
        """Returns the filters, limited to what the caller's key fixes; raises `Invalid` for a field that it fixes.

        The material may be the link of a page, and the folder that of its index.
        """
        if hidden := self._fixed_fields & {each.field for each in filters.own}:
            raise _no_field(min(hidden), self.filter_values())
        if place := place_of_link((filters.material or "").strip(), self.base_url):
            filters = replace(filters, material=place[0])
        if filters.folder:
            filters = replace(filters, folder=folder_of_name(filters.folder, self.base_url))
        return filters if self.fixed == EVERYTHING else replace(filters, fixed=self.fixed)

    @property
    def _fixed_fields(self) -> Set[str]:
        return {each.field for each in self.fixed.own}

    def chunks(self, names: Sequence[str], *, with_neighbours: bool = False) -> list[StoredChunk | None]:
        """Returns the chunk of each id or link, None if there is none. Raises `Invalid` for a name of another form."""
        meanings = [self._ids(name) for name in names]
        ids = sorted({id for several in meanings for id in several})
        arguments = {"p_ids": ids, "p_neighbours": with_neighbours, "p_filter": self.fixed.stored}
        rows = call(self.client, "read_chunks", arguments)
        chunks = {row["id"]: _stored(self._with_links(row)) for row in rows}
        return [next((chunks[id] for id in several if id in chunks), None) for several in meanings]

    def _ids(self, name: str) -> tuple[str, ...]:
        """Returns the ids that a name may mean: itself, and what it is as a link. A link to a text has no id in it."""
        plain = plain_name(name)
        of_links = (chunk_of_link(each, self.base_url) for each in (name, plain))
        ids = (chunk_id(*split_chunk_id(name)), chunk_id(*plain.rpartition("#")[::2]), *filter(None, of_links))
        # A web server answers a folder with its index.
        ids += tuple(chunk_id(f"{id.partition('#')[0].rstrip('/')}/index", id.partition("#")[2]) for id in ids)
        place = place_of_link(name, self.base_url) if UNREACHABLE in name else None
        if place is None:
            return ids
        fragment = unquote(urlsplit(name).fragment)
        concepts, _ = self.concepts(self.within(Filters(material=place[0])), None, limit=_LINKED)
        urls = {one.id: self.url(one.material, one.anchor, one.text) for one in concepts}
        return (*(id for id, url in urls.items() if unquote(urlsplit(url).fragment) == fragment), *ids)

    def url(self, material: str, anchor: str, text: str = "") -> str:
        """Returns the link to an element that begins with `text`."""
        return link(material, anchor, self.base_url, text=text)

    def outline(self, name: str) -> tuple[Sequence[PagePart], str]:
        """Returns all explanations of a page without their texts, none if there is no such page, and an anchor.

        `name` is a material, or an id or a link, of which that is the anchor.
        """
        names: list[tuple[str, str]] = []
        for each in dict.fromkeys([name, plain_name(name)]):
            material, _, anchor = nfc(each).rpartition("#")
            places = [place_of_link(each, self.base_url), (nfc(each), ""), (material, anchor) if material else None]
            names += [(material.rstrip("/"), anchor) for material, anchor in filter(None, places)]
        # A web server answers a folder with its index.
        folders = [(f"{material}/index".lstrip("/"), anchor) for material, anchor in names]
        names += [(material.removesuffix("/index"), anchor) for material, anchor in names]
        for material, anchor in dict.fromkeys([*names, *folders]):
            if parts := self._parts(material, p_has_content=False):
                return parts, anchor
        return (), ""

    def parts(
        self, material: str, *, start: int = 0, end: int | None = None, line: int | None = None
    ) -> Sequence[PagePart]:
        """Returns explanations of a page from a position on, one more than `PARTS` if there are more before `end`.

        With `line` they begin with the one that has this line of them all; there are none if there is no such line.
        """
        parts = self._parts(material, p_limit=PARTS + 1, p_position=start, p_line=line)
        return [part for part in parts if end is None or part.position < end]

    def _parts(self, material: str, **arguments: Any) -> Sequence[PagePart]:
        rows = call(self.client, "read_page", {"p_material": material, "p_filter": self.fixed.stored, **arguments})
        return [PagePart(**self._with_links(row)) for row in rows]

    def _with_links(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Returns a text, and those beside it, with the whole addresses of its links."""
        beside = {name: self._with_links(row[name]) for name in ("previous", "next") if row.get(name)}
        return {**row, **beside, "content": with_links(row["content"], row["material"], self.base_url)}

    def find(self, text: str, filters: Filters, after: tuple[str, int] | None) -> FoundText:
        """Returns the lines that contain a text, after a material and position."""
        material, position = after or (None, None)
        arguments = {
            **{"p_pattern": exact_pattern(text), "p_limit": _FOUND, "p_seconds": _SCAN_SECONDS},
            **{"p_after_material": material, "p_after_position": position},
            **{"p_material": filters.material, "p_in": filters.beginning, "p_filter": filters.stored},
        }
        answer = call(self.client, "find_text", arguments)
        matches = tuple(TextMatch(**{**row, "lines": tuple(row["lines"])}) for row in answer["found"])
        return FoundText(matches, answer["read"], None if answer["ended"] else (answer["material"], answer["position"]))

    def concepts(
        self, filters: Filters, after: tuple[str, int] | None, *, limit: int = ENTRIES_A_PAGE
    ) -> tuple[Sequence[ListedConcept], bool]:
        """Returns concepts in the order of the pages after a material and position, and whether there are more."""
        material, position = after or (None, None)
        arguments = {
            "p_limit": limit + 1,
            "p_after_material": material,
            "p_after_position": position,
            "p_filter": filters.stored,
        }
        concepts = [ListedConcept(**row) for row in call(self.client, "list_concepts", arguments)]
        return concepts[:limit], len(concepts) > limit

    def materials(
        self, filters: Filters, after: str | None, *, limit: int = ENTRIES_A_PAGE
    ) -> tuple[Sequence[ListedMaterial], bool]:
        """Returns the pages of the folder by name after a name, and whether there are more."""
        arguments = {"p_limit": limit + 1, "p_after": after, "p_filter": filters.stored}
        rows = call(self.client, "list_materials", arguments)
        return [ListedMaterial(**row) for row in rows[:limit]], len(rows) > limit

    def places(self, filters: Filters = EVERYTHING) -> Sequence[Place]:
        """Returns the library or the folder of the filters, then the described folders in it that have pages."""
        arguments = {"p_limit": _PLACES, "p_in": self.within(filters).beginning, "p_filter": self.fixed.stored}
        whole, *described = call(self.client, "library_places", arguments)
        return [Place(**row) for row in (whole, *(row for row in described if row["pages"]))]

    def filter_values(self, *, like: str | None = None, filters: Filters = EVERYTHING) -> FilterValues:
        """Returns the first values of each filter beside `filters`, and the materials whose names are like `like`."""
        arguments = {"p_limit": MOST_LISTED, "p_material": like, "p_in": self.fixed.beginning, "p_fields": True}
        values_by_name = call(self.client, "filter_values", arguments | {"p_filter": self.within(filters).stored})
        fields = {name: each for name, each in values_by_name.pop("fields").items() if name not in self._fixed_fields}
        return FilterValues(**{name: tuple(values) for name, values in values_by_name.items()}, fields=fields)

    def check_filters(self, filters: Filters) -> None:
        """Raises `Invalid` for a filter whose value no chunk has, with the values that there are.

        For calls without a result: a value that some chunk has needs no check.
        """
        if replace(filters, type=None, fixed=None) == EVERYTHING:
            return
        listed = self.filter_values(like=filters.material)
        for condition in filters.own:
            if condition.field not in listed.fields:
                raise _no_field(condition.field, listed)
            check_known(condition, {"values": listed.fields[condition.field]})
        for name, values in _lists(listed).items():
            value = getattr(filters, name)
            # There may be more values than are listed. The caller's own folder may be empty, and types are known.
            is_own = name == "type" or (name == "folder" and value == self.fixed.folder)
            alone = self.within(Filters(**{name: value}))
            if value and not is_own and value not in values and not self.concepts(alone, None, limit=1)[0]:
                raise Invalid(_unknown(name, value, values))

    def hint(self, filters: Filters) -> str | None:
        """Returns with which values of one filter the others find something; None unless there are two or more."""
        needed = {name: f"{name}={value}" for name in _LISTS if (value := getattr(filters, name))}
        needed |= {each.field: str(each) for each in filters.own}
        places = []
        for name in needed if len(needed) > 1 else ():
            conditions = tuple(each for each in filters.own if each.field != name)
            looser = replace(filters, own=conditions, **({name: None} if name in _LISTS else {}))
            listed = self.filter_values(filters=looser)
            if values := {**listed.fields, **_lists(listed)}.get(name, ()):
                places.append(f"{name} {', '.join(values[:_HINTED])}")
        return said_elsewhere(needed.values(), places)


def _no_field(name: str, listed: FilterValues) -> Invalid:
    return Invalid(f"'filter' has no field {name!r}. Its fields: {', '.join(listed.fields) or 'none'}")


def _lists(listed: FilterValues) -> dict[str, Sequence[str]]:
    """Returns the values of the filters by their names."""
    return {name: getattr(listed, values) for name, values in _LISTS.items()}


def _unknown(name: str, value: str, values: Sequence[str]) -> str:
    if not values:
        argument = "in" if name == "folder" else name
        return f"No page has a {name}. Leave {argument!r} out."
    advice = " list_materials lists the others." if len(values) == MOST_LISTED else ""
    return f"There is no {name} {value!r}. There are: {', '.join(values)}.{advice}"


def _stored(row: Mapping[str, Any]) -> StoredChunk:
    around = {name: LocatedText(**row[name]) for name in ("previous", "next") if row.get(name)}
    lists = {name: tuple(row[name]) for name in ("learns", "prerequisites")}
    return StoredChunk(**{**row, **lists, "previous": None, "next": None, **around})


def _candidate(row: Mapping[str, Any]) -> Candidate:
    page, anchor = split_chunk_id(row["id"])
    return Candidate(
        id=row["id"],
        cosine=row["cosine"],
        head=row["head"],
        impacts={term: impact / HIGHEST_IMPACT for term, impact in row["impacts"].items()},
        is_example=row["type"] == "example",
        illustrates=tuple(row["illustrates"]),
        language=_language(row["language"]),
        page=page,
        is_box=UNREACHABLE not in anchor and type_of_anchor(anchor) == row["type"],
    )


def _language(of_page: str | None) -> str:
    """Returns the language that a page names, without its region; empty without one."""
    return (of_page or "").partition("-")[0].lower()


def _compared(text: Mapping[str, Any]) -> ComparedText:
    titles = dict.fromkeys((text["title"], text["section"], text["page_title"]))
    return ComparedText(plain_text(text["content"]), "\n".join(filter(None, titles)))


def _match(ranked: Ranked, row: Mapping[str, Any], text: Mapping[str, Any]) -> Match:
    evidence = {name: row[name] for name in ("cosine", "nearest_rank", "matching_rank")}
    return Match(**{**text, "learns": tuple(text["learns"])}, ranked=ranked, **evidence)


def _slots(question: Question) -> list[dict[str, Any]]:
    """Returns each slot once, with its `folders` unless it belongs to all of them."""
    folders = ("", *question.folder_slots)
    of_slot: dict[tuple[Slot, int], list[str]] = defaultdict(list)
    for folder in folders:
        times: Counter[Slot] = Counter()
        for slot in question.slots_of(folder):
            of_slot[slot, times[slot]].append(folder)
            times[slot] += 1
    return [
        {"terms": slot.terms} | ({"folders": those} if len(those) < len(folders) else {})
        for (slot, _), those in of_slot.items()
    ]


def _fixed(filters: Filters) -> dict[str, Any] | None:
    return filters.fixed.stored if filters.fixed else None


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The words of the indexed texts, and the synonyms of the site and its folders."""

    client: Client

    def look_up(self, query: str, words: LexiconLookup, filters: Filters = EVERYTHING) -> LexiconEntries:
        """Returns what is known about the words of `query`; it may be nothing.

        Of synonyms, only those of folders with pages that pass the filters count.
        """
        arguments = {"p_readings": sorted(words.readings), "p_words": dict(words.words), "p_query": canonical(query)}
        pages = {"p_material": filters.material, "p_in": filters.beginning, "p_fixed": _fixed(filters)}
        return LexiconEntries.of(call(self.client, "lexicon_entries", {**arguments, **pages}))
