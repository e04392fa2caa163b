"""Fusion of the ranked lists of a hybrid search: one by vectors, one by words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Measured: docs/decisions/0017-fusion-of-tables.md.
WORDS_WEIGHT = 0.7


@dataclass(frozen=True, slots=True)
class ScoredId:
    """An id with its score in a ranked list; a higher score is better."""

    name: str
    score: float


def fuse(nearest: Sequence[ScoredId], matching: Sequence[ScoredId], *, words: float = WORDS_WEIGHT) -> list[ScoredId]:
    """Returns every id of both lists with a score from 0 to 1, best first.

    The score is a convex combination of both lists' min-max normalized scores (Bruch, Gai, Ingber: An Analysis of
    Fusion Functions for Hybrid Retrieval, TOIS 2023); `words` is the weight of `matching`. The minimum of `nearest` is
    its lowest cosine, since cosines have no absolute zero; the minimum of `matching` is 0, the score without a common
    word. The first occurrence of an id in a list counts. Ties go to the better best rank, then to the smaller id.
    """
    by_meaning, by_words = _first_scores(nearest), _first_scores(matching)
    near = _spread(by_meaning, lowest=min(by_meaning.values(), default=0.0))
    match = _spread(by_words, lowest=0.0)
    ranks = _best_ranks(by_meaning, by_words)
    scores = {name: (1 - words) * near.get(name, 0.0) + words * match.get(name, 0.0) for name in ranks}
    order = sorted(scores, key=lambda name: (-scores[name], ranks[name], name))
    return [ScoredId(name, scores[name]) for name in order]


def _first_scores(ranking: Sequence[ScoredId]) -> dict[str, float]:
    scores: dict[str, float] = {}
    for each in ranking:
        scores.setdefault(each.name, each.score)
    return scores


def _spread(scores: Mapping[str, float], *, lowest: float) -> dict[str, float]:
    """Returns scores normalized from 0 for `lowest` to 1 for the best; all 1 if they are equal."""
    width = max(scores.values(), default=0.0) - lowest
    return {name: (score - lowest) / width if width > 0 else 1.0 for name, score in scores.items()}


def _best_ranks(*rankings: Mapping[str, float]) -> dict[str, int]:
    best: dict[str, int] = {}
    for ranking in rankings:
        for rank, name in enumerate(ranking, start=1):
            best[name] = min(rank, best.get(name, rank))
    return best
