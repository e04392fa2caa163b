"""The search functions of pages in Postgres."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sakuin.errors import NotFound
from sakuin.knowledge.model import Filters, ListedConcept, Match, StoredChunk
from sakuin.language.model import LexiconEntries, LexiconLookup, Slot
from sakuin.language.notation import canonical
from sakuin.language.questions.query_analysis import synonyms_in
from sakuin.platform.embedding import Vector
from sakuin.platform.supabase.client import Client, answer, call, vector_text
from sakuin.retrieval.calibration import Calibration
from sakuin.retrieval.index_version import PageIndexVersion


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


_CHUNK = "id,material,anchor,title,content,learns,type,category,level,prerequisites,position,content_hash,generation"


@dataclass(frozen=True, slots=True)
class KnowledgeSearch:
    """Reads knowledge chunks. `calibration` makes the cosines of the model comparable."""

    client: Client
    calibration: Calibration

    def matches(self, question: Question) -> Sequence[Match]:
        """Returns the best `limit` chunks by falling similarity, ties by id; fewer only if the filters leave fewer.

        The expected chunk follows if it is not among them and passes the filters. Vectors of another `space` are
        never compared: such chunks, and all chunks if `vector` is None, are found by words alone.
        """
        rows = call(
            self.client,
            "search_knowledge",
            {
                "p_embedding": vector_text(question.vector) if question.vector is not None else None,
                "p_slots": [asdict(slot) for slot in question.slots],
                "p_space": question.version.space,
                "p_limit": question.limit,
                "p_calibration": self._weights(question),
                "p_expected": question.expected,
                **_filters(question.filters),
            },
        )
        return [Match(**{**row, "learns": tuple(row["learns"]), "matched": tuple(row["matched"])}) for row in rows]

    def _weights(self, question: Question) -> dict[str, float]:
        weighed = replace(self.calibration, example_penalty=0.0) if question.wants_example else self.calibration
        return weighed.as_json()

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
