"""The explanation of a search: the interpreted question, the ranked chunks, the expected chunk, and its reason."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sakuin.knowledge.model import Filters, StoredChunk
from sakuin.language.model import AnalyzedQuery
from sakuin.retrieval.weights import NEAREST
from sakuin.texts.catalogue import Texts

# Smaller differences are not mentioned.
_SLIGHT = 0.05


@dataclass(frozen=True, slots=True)
class ExplainedHit:
    """One chunk with its scores; None where a value does not apply.

    `id` is that of a knowledge chunk, or the json_pointer of a Table's node; `chunk_index` counts the node's chunks.
    `rank` is the final rank, `nearest_rank` the rank by meaning, `matching_rank` the rank by words. `z` and
    `words` are the parts of `evidence`. Agents see `similarity`. `missing` are specifics of the question that it lacks.
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
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected chunk, its scores (None if it has none) and the reason in a sentence."""

    id: str
    hit: ExplainedHit | None
    why: str


@dataclass(frozen=True, slots=True)
class SearchExplanation:
    """The interpreted question, the best chunks with their scores, and the expected chunk.

    `results` are ordered as in the index. `refused`: it is `no_good_match`, since the similarity of the best is below
    `threshold`. Search Tools have an `index_state`. `degraded` names the unavailable part of the search.
    """

    understood: AnalyzedQuery
    results: tuple[ExplainedHit, ...]
    refused: bool
    threshold: float
    expected: Expected | None = None
    index_state: str | None = None
    degraded: str | None = None

    def as_json(self) -> dict[str, Any]:
        fields = asdict(self)
        if self.degraded is None:
            del fields["degraded"]
        understood = fields.pop("understood")
        return {"query": understood.pop("query"), "understood": understood, **fields}


def outside(chunk: StoredChunk, filters: Filters, say: Texts) -> str | None:
    """Returns which filter excludes the chunk, None if none does."""
    wanted: Mapping[str, str | None] = {
        "type": filters.type,
        "category": filters.category,
        "level": filters.level,
        "language": filters.language,
        "material": filters.material,
    }
    for name, value in wanted.items():
        if value is not None and (has := getattr(chunk, name)) != value:
            return say("why.outside_filter", name=name, value=value, has=has or say("why.not_given"))
    if not chunk.material.startswith(filters.beginning or ""):
        has = chunk.material.rpartition("/")[0]
        return say("why.outside_filter", name="folder", value=filters.folder, has=has or say("why.not_given"))
    # It is indexed and passes all others.
    return say("why.outside_own", filter=", ".join(map(str, filters.own))) if filters.own else None


def found_or_not(explanation: SearchExplanation, hit: ExplainedHit, say: Texts, *, top_k: int) -> str:
    """Returns whether an agent that asks for `top_k` gets the chunk, and if not, the reasons."""
    shown = explanation.results
    if explanation.refused and shown:
        best, threshold = shown[0].similarity, explanation.threshold
        reasons = [say("why.refused", place=_place(hit, say), best=best, threshold=threshold, nearest=NEAREST)]
        return _joined(say, reasons if hit.rank == 1 else (*reasons, *_weaknesses(hit, explanation.understood, say)))
    if hit.rank is not None and hit.rank <= top_k:
        return say("why.found", place=_place(hit, say))
    reasons = [say("why.below", place=_place(hit, say), top_k=top_k), *_weaknesses(hit, explanation.understood, say)]
    if len(shown) >= top_k:
        reasons.append(_comparison(hit, shown[top_k - 1], say))
    return _joined(say, reasons)


def _place(hit: ExplainedHit, say: Texts) -> str:
    legs = [
        say(f"why.{leg}", place=place)
        for place, leg in ((hit.nearest_rank, "by_meaning"), (hit.matching_rank, "by_words"))
        if place is not None
    ]
    place = say("why.rank", rank=hit.rank) if hit.rank is not None else say("why.no_rank")
    return say("why.legs", place=place, legs=_joined(say, legs, "legs")) if legs else place


def _weaknesses(hit: ExplainedHit, understood: AnalyzedQuery, say: Texts) -> list[str]:
    reasons = []
    words = {term for slot in understood.slots if slot.kind == "word" for term in slot.terms}
    if words and not hit.matched:
        reasons.append(say("why.no_common_word"))
    if hit.evidence is not None and hit.cosine is None and hit.z is not None:
        reasons.append(say("why.no_vector"))
    if hit.type == "example":
        reasons.append(say("why.example"))
    return reasons


def _comparison(hit: ExplainedHit, last: ExplainedHit, say: Texts) -> str:
    """Compares the scores with those of the last shown chunk."""
    scores = (("score_by_meaning", hit.z, last.z), ("score_by_words", hit.words, last.words))
    points = [
        say(f"why.{what}", mine=mine, its=its)
        for what, mine, its in scores
        if mine is not None and its is not None and its > mine + _SLIGHT
    ]
    ranks = (
        ("leg_by_meaning", hit.nearest_rank, last.nearest_rank),
        ("leg_by_words", hit.matching_rank, last.matching_rank),
    )
    points = points or [
        say(f"why.{what}", mine=mine or say("why.nowhere"), its=its)
        for what, mine, its in ranks
        if its is not None and (mine is None or its < mine)
    ]
    ahead = {"title": last.title or last.id, "rank": last.rank}
    return say("why.ahead_by", points=_joined(say, points, "points"), **ahead) if points else say("why.ahead", **ahead)


def _joined(say: Texts, parts: Iterable[str], between: str = "sentences") -> str:
    """Returns the parts as one text."""
    return say(f"why.between.{between}").join(parts)
