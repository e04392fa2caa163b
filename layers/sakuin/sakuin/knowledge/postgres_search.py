"""The search functions of pages in Postgres."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sakuin.errors import NotFound
from sakuin.knowledge.model import HIGHEST_IMPACT, Filters, ListedConcept, Match, StoredChunk
from sakuin.language.model import LexiconEntries, LexiconLookup, Slot
from sakuin.language.notation import canonical
from sakuin.language.questions.query_analysis import synonyms_in
from sakuin.platform.embedding import Vector
from sakuin.platform.supabase.client import Client, answer, call, vector_text
from sakuin.retrieval.calibration import Calibration
from sakuin.retrieval.index_version import PageIndexVersion
from sakuin.retrieval.ranking import Candidate, Frequencies, Ranked, background, rank, shares_of_words


@dataclass(frozen=True, slots=True)
class Question:
    """A query to the index. Without `vector` it searches by words alone, without `slots` by meaning alone.

    `expected` is the id of a chunk that is scored wherever it ranks. With `wants_example` examples get no penalty;
    concepts that they illustrate still come first.
    """

    vector: Vector | None
    slots: Sequence[Slot]
    version: PageIndexVersion
    filters: Filters
    limit: int
    expected: str | None = None
    wants_example: bool = False


# The nearest and the matching chunks that are ranked. It does not depend on `top_k`, so that the order does not either.
DEPTH = 100
_CHUNK = "id,material,anchor,title,content,learns,type,category,level,prerequisites,position,content_hash,generation"


@dataclass(frozen=True, slots=True)
class KnowledgeSearch:
    """Reads knowledge chunks. `calibration` makes the cosines of the model comparable.

    `posting_budget`: the chunks to read from postings; the question's more frequent words beyond it only score the
    chunks that rarer words found.
    """

    client: Client
    calibration: Calibration
    posting_budget: int = 10_000

    def matches(self, question: Question) -> Sequence[Match]:
        """Returns the best `limit` chunks by falling similarity, ties by id; fewer only if the filters leave fewer.

        The expected chunk follows if it is not among them and passes the filters. Vectors of another `space` are
        never compared: such chunks, and all chunks if `vector` is None, are found by words alone.
        """
        found = self._candidates(question)
        rows = {row["id"]: row for row in found["candidates"]}
        candidates = [_candidate(row) for row in rows.values()]
        words = shares_of_words(question.slots, Frequencies(found["total"], found["frequency"]), candidates)
        ranking = rank(
            candidates,
            words,
            background(found["cosines"], self.calibration),
            self.calibration,
            lowers_examples=question.filters.type is None and not question.wants_example,
        )
        best = [each for each in ranking if rows[each.id]["is_found"]][: question.limit]
        shown = [*best, *(each for each in ranking if each.id == question.expected and each not in best)]
        texts = self._texts([each.id for each in shown])
        # A page that changes meanwhile may lose chunks.
        return [_match(each, rows[each.id], texts[each.id]) for each in shown if each.id in texts]

    def _candidates(self, question: Question) -> dict[str, Any]:
        found: dict[str, Any] = call(
            self.client,
            "search_candidates",
            {
                "p_embedding": vector_text(question.vector) if question.vector is not None else None,
                "p_slots": [asdict(slot) for slot in question.slots],
                "p_space": question.version.space,
                "p_depth": DEPTH,
                "p_sample": self.calibration.sample if question.vector is not None else 0,
                "p_posting_budget": self.posting_budget,
                "p_expected": question.expected,
                **_filters(question.filters),
            },
        )
        return found

    def _texts(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        return {row["id"]: row for row in call(self.client, "chunks_to_show", {"p_ids": list(ids)})} if ids else {}

    def chunk(self, id: str) -> StoredChunk:
        """Returns one chunk. Raises `NotFound` if there is none with this id."""
        rows = answer(self.client.table("knowledge_chunks").select(_CHUNK).eq("id", id))
        if not rows:
            raise NotFound(f"There is no chunk {id!r}. Use an id from search_knowledge or list_concepts")
        row = rows[0]
        return StoredChunk(**{**row, "learns": tuple(row["learns"]), "prerequisites": tuple(row["prerequisites"])})

    def concepts(
        self, filters: Filters, *, after: str | None, limit: int
    ) -> tuple[Sequence[ListedConcept], str | None]:
        """Returns chunks by material and anchor after the id `after`, and the next cursor (None at the end)."""
        arguments = {"p_limit": limit + 1, "p_after": after, **_filters(filters)}
        concepts = [ListedConcept(**row) for row in call(self.client, "list_concepts", arguments)]
        return concepts[:limit], (concepts[limit - 1].id if len(concepts) > limit else None)


def _candidate(row: Mapping[str, Any]) -> Candidate:
    return Candidate(
        id=row["id"],
        cosine=row["cosine"],
        impacts={term: impact / HIGHEST_IMPACT for term, impact in row["impacts"].items()},
        is_example=row["type"] == "example",
        illustrates=tuple(row["illustrates"]),
    )


def _match(ranked: Ranked, row: Mapping[str, Any], text: Mapping[str, Any]) -> Match:
    return Match(
        **{**text, "learns": tuple(text["learns"])},
        similarity=ranked.similarity,
        cosine=row["cosine"],
        z=ranked.z,
        words=ranked.words,
        evidence=ranked.evidence,
        nearest_rank=row["nearest_rank"],
        matching_rank=row["matching_rank"],
        matched=ranked.matched,
    )


def _filters(filters: Filters) -> dict[str, Any]:
    return {
        "p_type": filters.type,
        "p_category": filters.category,
        "p_level": filters.level,
        "p_material": filters.material,
    }


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The words of the indexed texts, and the synonyms of the site."""

    client: Client

    def look_up(self, query: str, words: LexiconLookup) -> LexiconEntries:
        """Returns what is known about the words of `query`; it may be nothing."""
        asked = {"p_readings": sorted(words.readings), "p_words": dict(words.words), "p_query": canonical(query)}
        found = call(self.client, "lexicon_entries", asked)
        groups = [tuple(group) for group in found["synonyms"]]
        return LexiconEntries(_tuples(found["written"]), _tuples(found["near"]), synonyms_in(query, groups))


def _tuples(lists: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    return {word: tuple(forms) for word, forms in lists.items()}
