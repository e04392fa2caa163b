"""What people build from the parts, over the same texts: rankings of places, best first."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Ranking = list[int]
Scores = NDArray[np.float64]

# The usual constants of BM25 and of reciprocal rank fusion.
_K1, _B = 1.2, 0.75
_RRF_K = 60


def ngram_bm25(texts: Sequence[str], queries: Sequence[str], *, sizes: Sequence[int], limit: int) -> list[Ranking]:
    """BM25 over character n-grams."""
    return [_best(row, limit) for row in bm25_scores(texts, queries, lambda text: _grams(text, sizes))]


def bm25_scores(texts: Sequence[str], queries: Sequence[str], terms: Callable[[str], Counter[str]]) -> Scores:
    """A row a query, a column a text (Robertson, Zaragoza: The Probabilistic Relevance Framework, 2009)."""
    documents = [terms(text) for text in texts]
    lengths = np.array([sum(counts.values()) for counts in documents], dtype=float)
    norms = _K1 * (1 - _B + _B * lengths / lengths.mean())
    postings: dict[str, list[tuple[int, int]]] = {}
    for place, counts in enumerate(documents):
        for term, count in counts.items():
            postings.setdefault(term, []).append((place, count))
    scores = np.zeros((len(queries), len(texts)))
    for row, query in zip(scores, queries, strict=True):
        for term in terms(query):
            held = postings.get(term, [])
            rarity = np.log(1 + (len(texts) - len(held) + 0.5) / (len(held) + 0.5))
            for place, count in held:
                row[place] += rarity * count * (_K1 + 1) / (count + norms[place])
    return scores


def word_bm25(texts: Sequence[str], queries: Sequence[str], *, limit: int) -> list[Ranking]:
    """BM25 over whole words."""
    return [_best(row, limit) for row in bm25_scores(texts, queries, whole_words)]


def convex_combination(
    texts: Sequence[str],
    queries: Sequence[str],
    cosines: NDArray[np.float32],
    terms: Callable[[str], Counter[str]],
    *,
    limit: int,
) -> list[Ranking]:
    """.6 of BM25 by its best score, and .4 of the cosine, scaled over the best fifty."""
    words = bm25_scores(texts, queries, terms)
    words = words / np.maximum(words.max(axis=1, keepdims=True), 1e-9)
    best = np.sort(cosines, axis=1)[:, -min(50, len(texts)) :]
    low, high = best[:, :1], best[:, -1:]
    near = np.clip((cosines - low) / np.maximum(high - low, 1e-9), 0, None)
    return [_best(row, limit, positive=False) for row in 0.6 * words + 0.4 * near]


def nearest(cosines: NDArray[np.float32], *, limit: int) -> list[Ranking]:
    """The vectors alone."""
    return [_best(row, limit, positive=False) for row in cosines]


def rankings(
    texts: Sequence[str], queries: Sequence[str], cosines: NDArray[np.float32], *, limit: int
) -> dict[str, list[Ranking]]:
    """Each part alone, and what people make of both, by name."""
    by_meaning = nearest(cosines, limit=limit)
    by_characters = ngram_bm25(texts, queries, sizes=(1, 2), limit=limit)
    by_words = word_bm25(texts, queries, limit=limit)
    return {
        "BM25, characters 1+2": by_characters,
        "BM25, words": by_words,
        "vectors alone": by_meaning,
        "RRF, characters": reciprocal_rank_fusion(by_meaning, by_characters, limit=limit),
        "RRF, words": reciprocal_rank_fusion(by_meaning, by_words, limit=limit),
        "convex, characters": convex_combination(texts, queries, cosines, characters, limit=limit),
        "convex, words": convex_combination(texts, queries, cosines, whole_words, limit=limit),
    }


def reciprocal_rank_fusion(*legs: Sequence[Ranking], limit: int) -> list[Ranking]:
    """The legs' rankings merged with equal weights and k = 60."""
    return [_fused(rankings)[:limit] for rankings in zip(*legs, strict=True)]


def _fused(rankings: Iterable[Ranking]) -> Ranking:
    scores: Counter[int] = Counter()
    for ranking in rankings:
        for rank, place in enumerate(ranking, 1):
            scores[place] += 1 / (_RRF_K + rank)
    return sorted(scores, key=lambda place: (-scores[place], place))


def _best(scores: Scores, limit: int, *, positive: bool = True) -> Ranking:
    order = np.argsort(-scores, kind="stable")[:limit]
    return [int(place) for place in order if not positive or scores[place] > 0]


def _grams(text: str, sizes: Sequence[int]) -> Counter[str]:
    words = _folded(text).split()
    return Counter(word[at : at + size] for word in words for size in sizes for at in range(len(word) - size + 1))


def characters(text: str) -> Counter[str]:
    """The characters of a text, and each two beside each other."""
    return _grams(text, (1, 2))


def whole_words(text: str) -> Counter[str]:
    """The words of a text between what is no letter or digit."""
    return Counter(re.findall(r"[^\W_]+", _folded(text)))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower()
