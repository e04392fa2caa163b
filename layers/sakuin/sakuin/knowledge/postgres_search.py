"""The functions in Postgres that search and read pages."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
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
    is_in_folder,
    link,
    place_of_link,
    split_chunk_id,
)
from sakuin.language.model import LexiconEntries, LexiconLookup, Slot
from sakuin.language.notation import canonical
from sakuin.language.unicode_text import nfc
from sakuin.platform.embedding import Vector
from sakuin.platform.supabase.client import Client, call, vector_text
from sakuin.retrieval.index_version import PageIndexVersion
from sakuin.retrieval.proximity import COMPARED, ComparedText, ranked_by_texts
from sakuin.retrieval.ranking import (
    Candidate,
    Frequencies,
    Ranked,
    Reach,
    Unrelated,
    WordMatch,
    behind_by_language,
    known_share,
    rank,
    reach,
    unrelated,
    word_matches,
)
from sakuin.retrieval.weights import SAMPLE, Scale, Weights


@dataclass(frozen=True, slots=True)
class Question:
    """A query to the index. Without `vector` it searches by words alone, without `slots` by meaning alone.

    `expected` is the id of a chunk that is scored wherever it ranks. With `wants_example` examples get no penalty;
    concepts that they illustrate still come first. Chunks below a folder of `folder_slots` are searched by those slots
    instead; of several folders the deepest counts.
    """

    vector: Vector | None
    slots: Sequence[Slot]
    version: PageIndexVersion
    filters: Filters
    limit: int
    expected: str | None = None
    wants_example: bool = False
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
# Filter values in a list or an error.
_VALUES = 50
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
    """Where a search finds its candidates: Postgres, or pages that are not pushed yet."""

    def candidates(self, question: Question) -> Mapping[str, Any]:
        """Returns the candidates of a question in the form of the SQL function `search_candidates`."""

    def texts(self, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        """Returns what an answer shows of chunks, by id. An id without a chunk is left out."""


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
                **_filters(question.filters),
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
                **_filters(question.filters),
            },
        )
        return found

    def texts(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        return {row["id"]: row for row in call(self.client, "chunks_to_show", {"p_ids": list(ids)})} if ids else {}


@dataclass(frozen=True, slots=True)
class IndexAnswer:
    """The matches of a question, best first, and what their scores depend on."""

    matches: Sequence[Match]
    frequencies: Frequencies
    others: Unrelated
    weights: Weights
    scale: Scale

    def reach(self, slots: Sequence[Slot]) -> Reach:
        """Returns what another chunk needs to be the best good match, without slots of folders."""
        best = self.matches[0].ranked if self.matches else None
        if best is None or not best.is_good:
            return reach(slots, self.frequencies, self.others, self.weights, self.scale.least)
        # What its example lends a concept depends on other concepts, too.
        words = best.words
        own = self.weights.score(best.z, words.share, words.covered) + self.weights.scattered * words.scattered
        own += self.others.credit(_language(self.matches[0].language), words)
        score = max(self.scale.least, min(best.evidence, own))
        return reach(slots, self.frequencies, self.others, self.weights, score)


@dataclass(frozen=True, slots=True)
class ChunkSearch:
    """Ranks the chunks that a store finds for an analyzed question."""

    chunks: CandidateStore
    weights: Weights

    def answer(self, question: Question) -> IndexAnswer:
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
        matches = [_match(each, rows[each.id], texts[each.id]) for each in shown if each.id in texts]
        return IndexAnswer(matches, frequencies, others, self.weights, scale)


@dataclass(frozen=True, slots=True)
class ReadKnowledge:
    """Reads chunks and pages without searching. Links begin with `base_url`.

    A caller with a `folder` reads nothing else; it has no slash at its end, and is empty for the whole library.
    """

    client: Client
    base_url: str
    folder: str = ""

    def within(self, filters: Filters) -> Filters:
        """Returns the filters, limited to the caller's folder; raises `Invalid` for another folder."""
        if is_in_folder(f"{filters.folder or ''}/", self.folder):
            return filters
        if filters.folder:
            raise Invalid(_unknown("folder", filters.folder, self.filter_values().folders))
        return replace(filters, folder=self.folder)

    def chunks(self, names: Sequence[str], *, with_neighbours: bool = False) -> list[StoredChunk | None]:
        """Returns the chunk of each id or link, None if there is none. Raises `Invalid` for a name of another form."""
        meanings = [self._ids(name) for name in names]
        ids = sorted({id for several in meanings for id in several})
        rows = call(self.client, "read_chunks", {"p_ids": ids, "p_neighbours": with_neighbours})
        chunks = {row["id"]: _stored(row) for row in rows}
        return [next((chunks[id] for id in several if id in chunks), None) for several in meanings]

    def _ids(self, name: str) -> tuple[str, ...]:
        """Returns the ids that a name may mean: itself, and what it is as a link. A link to a text has no id in it.

        Ids of other folders mean nothing.
        """
        of_link = chunk_of_link(name, self.base_url)
        ids = (chunk_id(*split_chunk_id(name)), *([of_link] if of_link else []))
        ids = tuple(id for id in ids if is_in_folder(id, self.folder))
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

    def page(
        self, name: str, *, section: str | None = None, position: int | None = None, line: int | None = None
    ) -> Sequence[PagePart]:
        """Returns the first explanations of a page in its order, one more than `PARTS` if there are more.

        `name` is a material, or an id or a link; then they begin there, if the page has that anchor. With `position`
        they begin at that place instead; with `section` they are those below a heading, or of an anchor; with `line`
        they begin with the one that has this line of them all. There are none if there is no such page, section or
        line.
        """
        material, _, anchor = nfc(name).rpartition("#")
        places = [place_of_link(name, self.base_url), (nfc(name), ""), (material, anchor) if material else None]
        for material, anchor in dict.fromkeys(filter(None, places)):
            if not is_in_folder(material, self.folder):
                continue
            start = {"p_anchor": anchor or None} if position is None else {"p_position": position}
            arguments = {"p_material": material, "p_limit": PARTS + 1, "p_section": section, "p_line": line, **start}
            if rows := call(self.client, "read_page", arguments):
                return [PagePart(**row) for row in rows]
        return []

    def find(self, pattern: str, filters: Filters, after: tuple[str, int] | None) -> FoundText:
        """Returns the lines that match a pattern (`line_pattern.py`), after a material and position.

        Raises `Invalid` for a pattern that Postgres rejects.
        """
        material, position = after or (None, None)
        arguments = {
            **{"p_pattern": pattern, "p_limit": _FOUND, "p_seconds": _SCAN_SECONDS},
            **{"p_after_material": material, "p_after_position": position},
            **{"p_material": filters.material, "p_in": filters.beginning},
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
            **_filters(filters),
        }
        concepts = [ListedConcept(**row) for row in call(self.client, "list_concepts", arguments)]
        return concepts[:limit], len(concepts) > limit

    def materials(
        self, filters: Filters, after: str | None, *, limit: int = ENTRIES_A_PAGE
    ) -> tuple[Sequence[ListedMaterial], bool]:
        """Returns the pages of the folder by name after a name, and whether there are more."""
        arguments = {"p_limit": limit + 1, "p_after": after, "p_in": filters.beginning}
        rows = call(self.client, "list_materials", arguments)
        return [ListedMaterial(**row) for row in rows[:limit]], len(rows) > limit

    def places(self, filters: Filters = EVERYTHING) -> Sequence[Place]:
        """Returns the library or the folder of the filters, then the described folders in it that have pages."""
        beginning = self.within(filters).beginning
        own, *described = call(self.client, "library_places", {"p_limit": _PLACES, "p_in": beginning})
        return [Place(**row) for row in (own, *(row for row in described if row["pages"]))]

    def filter_values(self, *, like: str | None = None) -> FilterValues:
        """Returns the first values that each filter accepts, and of the materials those whose names are like `like`."""
        beginning = Filters(folder=self.folder).beginning
        values_by_name = call(self.client, "filter_values", {"p_limit": _VALUES, "p_material": like, "p_in": beginning})
        return FilterValues(**{name: tuple(values) for name, values in values_by_name.items()})

    def check_filters(self, filters: Filters) -> None:
        """Raises `Invalid` for a filter whose value no chunk has, with the values that there are.

        For calls without a result: a value that some chunk has needs no check.
        """
        if filters.category is filters.level is filters.material is filters.beginning is None:
            return
        known = self.filter_values(like=filters.material)
        for name, value, alone, values in (
            ("category", filters.category, Filters(category=filters.category), known.categories),
            ("level", filters.level, Filters(level=filters.level), known.levels),
            ("material", filters.material, Filters(material=filters.material), known.materials),
            ("folder", filters.folder or None, Filters(folder=filters.folder), known.folders),
        ):
            # There may be more values than are listed. The caller's own folder may be empty.
            is_own = name == "folder" and value == self.folder
            if value is None or is_own or value in values or self.concepts(self.within(alone), None, limit=1)[0]:
                continue
            raise Invalid(_unknown(name, value, values))


def _unknown(name: str, value: str, values: Sequence[str]) -> str:
    if not values:
        argument = "in" if name == "folder" else name
        return f"No page has a {name}. Leave {argument!r} out."
    more = " list_materials lists the others." if len(values) == _VALUES else ""
    return f"There is no {name} {value!r}. There are: {', '.join(values)}.{more}"


def _stored(row: Mapping[str, Any]) -> StoredChunk:
    around = {name: LocatedText(**row[name]) for name in ("previous", "next") if row.get(name)}
    lists = {name: tuple(row[name]) for name in ("learns", "prerequisites")}
    return StoredChunk(**{**row, **lists, "previous": None, "next": None, **around})


def _candidate(row: Mapping[str, Any]) -> Candidate:
    return Candidate(
        id=row["id"],
        cosine=row["cosine"],
        impacts={term: impact / HIGHEST_IMPACT for term, impact in row["impacts"].items()},
        is_example=row["type"] == "example",
        illustrates=tuple(row["illustrates"]),
        language=_language(row["language"]),
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


def _filters(filters: Filters) -> dict[str, Any]:
    return {
        "p_type": filters.type,
        "p_category": filters.category,
        "p_level": filters.level,
        "p_material": filters.material,
        "p_in": filters.beginning,
    }


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The words of the indexed texts, and the synonyms of the site and its folders."""

    client: Client

    def look_up(self, query: str, words: LexiconLookup, filters: Filters = EVERYTHING) -> LexiconEntries:
        """Returns what is known about the words of `query`; it may be nothing.

        Of synonyms, only those of folders with pages that pass the filters count.
        """
        arguments = {"p_readings": sorted(words.readings), "p_words": dict(words.words), "p_query": canonical(query)}
        pages = {"p_material": filters.material, "p_in": filters.beginning}
        return LexiconEntries.of(call(self.client, "lexicon_entries", {**arguments, **pages}))
