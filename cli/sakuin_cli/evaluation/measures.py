"""Measures of a ranking, given the right ids.

A ranking is a list of ids, best first. A repeated id counts at its first place. All measures are 0-1 and need at least
one right id.
"""

from collections.abc import Collection, Sequence
from math import fsum, log2

# The depth of MRR and nDCG; agents ask for fewer results.
DEPTH = 10


def recall_at(ranking: Sequence[str], gold: Collection[str], *, k: int) -> float:
    """Returns the share of the right ids that are among the first `k`.

    Divides by all right ids, not by min(k, right ids), so that a question with more than `k` of them cannot reach 1
    (Manning, Raghavan, Schütze: Introduction to Information Retrieval, 2008, 8.3).
    """
    return len(set(gold).intersection(ranking[:k])) / len(set(gold))


def hit_at(ranking: Sequence[str], gold: Collection[str], *, k: int) -> float:
    """Returns 1 if any right id is among the first `k`, else 0 (success@k)."""
    return float(not set(gold).isdisjoint(ranking[:k]))


def reciprocal_rank(ranking: Sequence[str], gold: Collection[str], *, depth: int = DEPTH) -> float:
    """Returns 1 / the rank of the first right id, 0 if none is among the first `depth`.

    Its mean is MRR (Voorhees: The TREC-8 Question Answering Track Report, 1999), limited as in MS MARCO's MRR@10.
    """
    right = set(gold)
    return next((1 / place for place, id in enumerate(ranking[:depth], 1) if id in right), 0.0)


def ndcg_at(ranking: Sequence[str], gold: Collection[str], *, depth: int = DEPTH) -> float:
    """Returns the normalized discounted cumulative gain of the first `depth` ids, with binary relevance.

    The gain of a right id is 1 / log2(rank + 1) (Järvelin, Kekäläinen: Cumulated gain-based evaluation of IR
    techniques, 2002).
    """
    right = set(gold)
    first = {id: place for place, id in reversed(list(enumerate(ranking[:depth], 1))) if id in right}
    possible = fsum(_gain(place) for place in range(1, min(depth, len(right)) + 1))
    return fsum(map(_gain, first.values())) / possible


def _gain(place: int) -> float:
    return 1 / log2(place + 1)
