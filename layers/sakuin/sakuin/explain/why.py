"""The reason why an answer has or lacks an expected chunk, in sentences."""

from collections.abc import Mapping

from sakuin.explain.explanation import ExplainedHit, SearchExplanation
from sakuin.knowledge.model import Filters, StoredChunk
from sakuin.language.model import AnalyzedQuery

NOT_INDEXED = (
    "Nothing is indexed under this id. `sakuin status` shows the state of its page, `sakuin validate` whether the page "
    "has the id."
)

NO_NODE = (
    "No chunk of this node is in the tool's index: it is outside the tool's scope, too short, or not indexed yet. "
    "`sakuin status --tool` shows the state of the index."
)

# Smaller differences are not mentioned.
_SLIGHT = 0.05


def outside(chunk: StoredChunk, filters: Filters) -> str | None:
    """Returns which filter excludes the chunk, None if none does."""
    wanted: Mapping[str, str | None] = {
        "type": filters.type,
        "category": filters.category,
        "level": filters.level,
        "material": filters.material,
    }
    for name, value in wanted.items():
        if value is not None and (has := getattr(chunk, name)) != value:
            return f"The filter {name}={value} excludes it: its {name} is {has or 'not given'}."
    return None


def found_or_not(explanation: SearchExplanation, hit: ExplainedHit, *, top_k: int) -> str:
    """Returns whether an agent that asks for `top_k` gets the chunk, and if not, the reasons."""
    shown = explanation.results
    if explanation.refused and shown:
        best = f"the best similarity, {shown[0].similarity:.2f}, is below {explanation.threshold:.2f}"
        reasons = [f"{_place(hit)}, but the whole answer is refused: {best}."]
        return " ".join(reasons if hit.rank == 1 else (*reasons, *_weaknesses(hit, explanation.understood)))
    if hit.rank is not None and hit.rank <= top_k:
        return f"{_place(hit)}: it is found."
    reasons = [f"{_place(hit)}, below the first {top_k}.", *_weaknesses(hit, explanation.understood)]
    if len(shown) >= top_k:
        reasons += _comparison(hit, shown[top_k - 1])
    return " ".join(reasons)


def _place(hit: ExplainedHit) -> str:
    legs = [
        f"{place} {leg}"
        for place, leg in ((hit.nearest_rank, "by meaning"), (hit.matching_rank, "by words"))
        if place is not None
    ]
    place = f"It is in place {hit.rank}" if hit.rank is not None else "Its rank is very low"
    return f"{place} ({', '.join(legs)})" if legs else place


def _weaknesses(hit: ExplainedHit, understood: AnalyzedQuery) -> list[str]:
    reasons = []
    words = {term.term for slot in understood.slots if slot.kind == "word" for term in slot.terms}
    if words and not hit.matched:
        reasons.append("It has no word in common with the question.")
    if hit.evidence is not None and hit.cosine is None and hit.z is not None:
        reasons.append("It has no vector of the present model, so only its words count.")
    if hit.type == "example":
        reasons.append("An example ranks below the concept that it shows, unless type=example is requested.")
    return reasons


def _comparison(hit: ExplainedHit, last: ExplainedHit) -> list[str]:
    """Compares the scores with those of the last shown chunk."""
    ahead = [
        f"{mine:.2f} against {its:.2f} {what}"
        for what, mine, its in (
            ("by meaning (z)", hit.z, last.z),
            ("by words", hit.words, last.words),
        )
        if mine is not None and its is not None and its > mine + _SLIGHT
    ]
    behind = f"「{last.title or last.id}」 in place {last.rank} is ahead"
    if ahead:
        return [f"{behind}: {'; '.join(ahead)}."]
    legs = [
        f"{mine or 'nowhere'} against {its} {what}"
        for what, mine, its in (
            ("by meaning", hit.nearest_rank, last.nearest_rank),
            ("by words", hit.matching_rank, last.matching_rank),
        )
        if its is not None and (mine is None or its < mine)
    ]
    return [f"{behind}{': ' + '; '.join(legs) if legs else ''}."]
