"""What people build from the parts, over the same texts: rankings of places, best first."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Ranking = list[int]
Scores = NDArray[np.float64]

# The usual constants of BM25 and of reciprocal rank fusion.
_K1, _B = 1.2, 0.75
_RRF_K = 60


def rankings(
    texts: Sequence[str], queries: Sequence[str], cosines: NDArray[np.float32], *, limit: int
) -> dict[str, list[Ranking]]:
    """Each part alone, and what people make of both, by name."""
    near = cosines.astype(float)
    of_characters, of_words = (bm25_scores(texts, queries, terms) for terms in (characters, whole_words))
    by_meaning = [_best(row, limit, positive=False) for row in near]
    by_characters, by_words = ([_best(row, limit) for row in scores] for scores in (of_characters, of_words))
    return {
        "BM25, characters 1+2": by_characters,
        "BM25, words": by_words,
        "vectors alone": by_meaning,
        "RRF, characters": _reciprocal_rank_fusion(by_meaning, by_characters, limit),
        "RRF, words": _reciprocal_rank_fusion(by_meaning, by_words, limit),
        "convex, characters": _convex_combination(of_characters, near, limit),
        "convex, words": _convex_combination(of_words, near, limit),
    }


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


def _convex_combination(words: Scores, near: Scores, limit: int) -> list[Ranking]:
    """.6 of BM25 by its best score, and .4 of the cosine, scaled over the best fifty."""
    words = words / np.maximum(words.max(axis=1, keepdims=True), 1e-9)
    best = np.sort(near, axis=1)[:, -min(50, near.shape[1]) :]
    low, high = best[:, :1], best[:, -1:]
    scaled = np.clip((near - low) / np.maximum(high - low, 1e-9), 0, None)
    return [_best(row, limit, positive=False) for row in 0.6 * words + 0.4 * scaled]


def _reciprocal_rank_fusion(near: Sequence[Ranking], words: Sequence[Ranking], limit: int) -> list[Ranking]:
    """Both rankings merged with equal weights and k = 60."""
    fused = []
    for rankings in zip(near, words, strict=True):
        scores: Counter[int] = Counter()
        for ranking in rankings:
            for rank, place in enumerate(ranking, 1):
                scores[place] += 1 / (_RRF_K + rank)
        fused.append(sorted(scores, key=lambda place: (-scores[place], place))[:limit])
    return fused


def _best(scores: Scores, limit: int, *, positive: bool = True) -> Ranking:
    order = np.argsort(-scores, kind="stable")[:limit]
    return [int(place) for place in order if not positive or scores[place] > 0]


def characters(text: str) -> Counter[str]:
    """The characters of a text, and each two beside each other."""
    words = _folded(text).split()
    return Counter(word[at : at + size] for word in words for size in (1, 2) for at in range(len(word) - size + 1))


def whole_words(text: str) -> Counter[str]:
    """The words of a text between what is no letter or digit."""
    return Counter(re.findall(r"[^\W_]+", _folded(text)))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower()
