"""Reciprocal rank fusion."""

from collections.abc import Sequence
from math import fsum, isfinite

from sakuin.errors import Invalid

# Cormack, Clarke, Büttcher: Reciprocal Rank Fusion outperforms Condorcet, SIGIR 2009.
RRF_K = 60


def fused(
    rankings: Sequence[Sequence[str]], *, k: int = RRF_K, weights: Sequence[float] | None = None
) -> list[tuple[str, float]]:
    """Every id of `rankings` with the sum of weight / (k + rank), best first; ranks begin at 1.

    All ids come back, whatever a caller shows of them. Ties go to the better best rank, then to the smaller id. Of an
    id that stands twice in one ranking the first place counts.
    """
    shares = [1.0] * len(rankings) if weights is None else list(weights)
    if len(shares) != len(rankings) or not all(isfinite(share) and share >= 0 for share in shares):
        raise Invalid("Each ranking needs one weight, zero or more.")
    if k < 0:
        raise Invalid("k must be zero or more.")
    parts: dict[str, list[float]] = {}
    best: dict[str, int] = {}
    for ranking, share in zip(rankings, shares, strict=True):
        for rank, name in enumerate(dict.fromkeys(ranking), start=1):
            parts.setdefault(name, []).append(share / (k + rank))
            best[name] = min(rank, best.get(name, rank))
    # fsum: the same parts in another order must not differ in the last bit.
    scores = {name: fsum(part) for name, part in parts.items()}
    return sorted(scores.items(), key=lambda item: (-item[1], best[item[0]], item[0]))
