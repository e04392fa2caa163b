"""The explanation of a search: the interpreted question, the ranked chunks and the expected chunk."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sakuin.language.model import AnalyzedQuery


@dataclass(frozen=True, slots=True)
class ExplainedHit:
    """One chunk with its scores; None where a value does not apply.

    `id` is that of a knowledge chunk, or the json_pointer of a Table's node; `chunk_index` counts the node's chunks.
    `rank` is the final rank, `nearest_rank` the rank by meaning, `matching_rank` the rank by words. `z` and
    `words` are the parts of `evidence`. Agents see `similarity`.
    """

    rank: int | None
    id: str
    title: str
    url: str | None = None
    type: str | None = None
    chunk_index: int | None = None
    similarity: float | None = None
    evidence: float | None = None
    cosine: float | None = None
    z: float | None = None
    words: float | None = None
    nearest_rank: int | None = None
    matching_rank: int | None = None
    matched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected chunk, its scores (None if it has none) and the reason in a sentence."""

    id: str
    hit: ExplainedHit | None
    why: str


@dataclass(frozen=True, slots=True)
class SearchExplanation:
    """The interpreted question, the best chunks with their scores, and the expected chunk.

    `results` are ordered as in the index. `refused`: it is `no_good_match`, since the evidence of the best is below
    `threshold`. Search Tools have an `index_state`. `degraded` names the unavailable part of the search.
    """

    understood: "AnalyzedQuery"
    results: tuple[ExplainedHit, ...]
    refused: bool
    threshold: float | None
    expected: Expected | None = None
    index_state: str | None = None
    degraded: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Returns the JSON of the answer."""
        fields = asdict(self)
        if self.degraded is None:
            del fields["degraded"]
        understood = fields.pop("understood")
        return {"query": understood.pop("query"), "understood": understood, **fields}


def hit_of(fields: Mapping[str, Any]) -> ExplainedHit:
    """Returns a hit from its JSON. Unknown members of a later version are ignored."""
    members = {name: fields[name] for name in ExplainedHit.__slots__ if name in fields}
    return ExplainedHit(**{**members, "matched": tuple(fields.get("matched") or ())})
