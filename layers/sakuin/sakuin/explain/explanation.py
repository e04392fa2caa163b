"""What became of one question in the index, step by step and leg by leg."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sakuin.language.model import AnalyzedQuery


@dataclass(frozen=True, slots=True)
class ExplainedHit:
    """One chunk as it was judged; what does not apply is None.

    `id` is a knowledge chunk's, or the json_pointer of a Table's node, of which `chunk_index` is the chunk.
    `rank` is its place in the whole order, `nearest_rank` and `matching_rank` those in the legs.
    `z`, `words` and `readings` are the parts of `evidence`; `similarity` is what agents see, `score` a Search Tool's.
    """

    rank: int | None
    id: str
    title: str
    url: str | None = None
    type: str | None = None
    chunk_index: int | None = None
    similarity: float | None = None
    score: float | None = None
    evidence: float | None = None
    cosine: float | None = None
    z: float | None = None
    words: float | None = None
    readings: float | None = None
    nearest_rank: int | None = None
    matching_rank: int | None = None
    matched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expected:
    """The id that should have been found: how it was judged, None where it was not, and in a sentence why."""

    id: str
    hit: ExplainedHit | None
    why: str


@dataclass(frozen=True, slots=True)
class SearchExplanation:
    """A question as it was understood, the best chunks as they were judged, and what became of the expected one.

    `results` come in the order of the index, also where `refused` keeps them from agents: the best is below
    `threshold` then. Search Tools refuse nothing; `index_state` says how far a tool's index is. `degraded` says what
    the search had to do without.
    """

    understood: "AnalyzedQuery"
    results: tuple[ExplainedHit, ...]
    refused: bool
    threshold: float | None
    expected: Expected | None = None
    index_state: str | None = None
    degraded: str | None = None

    def as_json(self) -> dict[str, Any]:
        """As it travels."""
        said = asdict(self)
        if self.degraded is None:
            del said["degraded"]
        understood = said.pop("understood")
        return {"query": understood.pop("query"), "understood": understood, **said}


def hit_of(said: Mapping[str, Any]) -> ExplainedHit:
    """A hit out of its JSON; members that a later version adds are passed over."""
    known = {name: said[name] for name in ExplainedHit.__slots__ if name in said}
    return ExplainedHit(**{**known, "matched": tuple(said.get("matched") or ())})
