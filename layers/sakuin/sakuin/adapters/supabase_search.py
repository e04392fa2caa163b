"""The knowledge index in Supabase, as agents read it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from postgrest import SyncPostgrestClient as Client

from sakuin.adapters.supabase_client import answer, call
from sakuin.adapters.supabase_index import written
from sakuin.domain.knowledge import Concept, Filters, Match, StoredChunk
from sakuin.domain.similarity import Calibration
from sakuin.errors import NotFound
from sakuin.ports.knowledge import Question

_CHUNK = "id,material,anchor,title,content,learns,type,category,level,prerequisites,position,content_hash,generation"


@dataclass(frozen=True, slots=True)
class SupabaseSearch:
    """A `KnowledgeSearch`. `calibration` makes the model's cosines comparable."""

    client: Client
    calibration: Calibration

    def matches(self, question: Question) -> Sequence[Match]:
        rows = call(
            self.client,
            "search_knowledge",
            {
                "p_embedding": written(question.vector) if question.vector is not None else None,
                "p_slots": [asdict(slot) for slot in question.slots],
                "p_space": question.fingerprint.space,
                "p_limit": question.limit,
                "p_calibration": self._weights(question),
                "p_expected": question.expected,
                **_filters(question.filters),
            },
        )
        return [Match(**{**row, "learns": tuple(row["learns"]), "matched": tuple(row["matched"])}) for row in rows]

    def _weights(self, question: Question) -> dict[str, float]:
        weighed = replace(self.calibration, example_handicap=0.0) if question.wants_example else self.calibration
        return weighed.as_json()

    def chunk(self, id: str) -> StoredChunk:
        rows = answer(self.client.table("knowledge_chunks").select(_CHUNK).eq("id", id))
        if not rows:
            raise NotFound(f"There is no chunk {id!r}: take an id from search_knowledge or list_concepts")
        row = rows[0]
        return StoredChunk(**{**row, "learns": tuple(row["learns"]), "prerequisites": tuple(row["prerequisites"])})

    def concepts(self, filters: Filters, *, after: str | None, limit: int) -> tuple[Sequence[Concept], str | None]:
        arguments = {"p_limit": limit + 1, "p_after": after, **_filters(filters)}
        concepts = [Concept(**row) for row in call(self.client, "list_concepts", arguments)]
        return concepts[:limit], (concepts[limit - 1].id if len(concepts) > limit else None)


def _filters(filters: Filters) -> dict[str, Any]:
    return {
        "p_type": filters.type,
        "p_category": filters.category,
        "p_level": filters.level,
        "p_material": filters.material,
    }
