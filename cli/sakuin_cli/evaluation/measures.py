"""The measures of a ranking against the ids that are right.

A ranking has ids, best first. An id that stands in it twice counts at its first place: of a node's chunks the best.
All give 0-1 and need at least one right id.
"""

from collections.abc import Collection, Sequence
from math import fsum, log2

# How deep MRR and nDCG look; agents ask for fewer.
DEPTH = 10


def recall_at(ranking: Sequence[str], gold: Collection[str], *, k: int) -> float:
    """The share of the right ids among the first `k`.

    The textbook's recall (Manning, Raghavan, Schütze: Introduction to Information Retrieval, 2008, 8.3): over all
    right ids, not over min(k, right ids), so that a question with more than `k` of them cannot reach 1.
    """
    return len(set(gold).intersection(ranking[:k])) / len(set(gold))


def hit_at(ranking: Sequence[str], gold: Collection[str], *, k: int) -> float:
    """1 if any right id is among the first `k`, else 0; also called success@k."""
    return float(not set(gold).isdisjoint(ranking[:k]))


def reciprocal_rank(ranking: Sequence[str], gold: Collection[str], *, depth: int = DEPTH) -> float:
    """1 / the place of the first right id, 0 if none is among the first `depth`.

    Its mean is MRR (Voorhees: The TREC-8 Question Answering Track Report, 1999), cut as in MS MARCO's MRR@10.
    """
    right = set(gold)
    return next((1 / place for place, id in enumerate(ranking[:depth], 1) if id in right), 0.0)


def ndcg_at(ranking: Sequence[str], gold: Collection[str], *, depth: int = DEPTH) -> float:
    """The gain 1 / log2(place + 1) of the right ids among the first `depth`, over what is possible.

    Järvelin, Kekäläinen: Cumulated gain-based evaluation of IR techniques, 2002; an id is right or it is not.
    """
    right = set(gold)
    first = {id: place for place, id in reversed(list(enumerate(ranking[:depth], 1))) if id in right}
    possible = fsum(_gain(place) for place in range(1, min(depth, len(right)) + 1))
    return fsum(map(_gain, first.values())) / possible


def _gain(place: int) -> float:
    return 1 / log2(place + 1)
