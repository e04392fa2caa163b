"""What people build from the parts, over the same texts: rankings of places, best first."""

import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Ranking = list[int]
Scores = NDArray[np.float64]

# The usual constants of BM25 and of reciprocal rank fusion.
_K1, _B = 1.2, 0.75
_RRF_K = 60


def ngram_bm25(texts: Sequence[str], queries: Sequence[str], *, sizes: Sequence[int], limit: int) -> list[Ranking]:
    """BM25 over character n-grams (Robertson, Zaragoza: The Probabilistic Relevance Framework, 2009)."""
    documents = [_grams(text, sizes) for text in texts]
    lengths = np.array([sum(grams.values()) for grams in documents], dtype=float)
    norms = _K1 * (1 - _B + _B * lengths / lengths.mean())
    postings: dict[str, list[tuple[int, int]]] = {}
    for place, grams in enumerate(documents):
        for gram, count in grams.items():
            postings.setdefault(gram, []).append((place, count))
    rankings = []
    for query in queries:
        scores = np.zeros(len(texts))
        for gram in _grams(query, sizes):
            held = postings.get(gram, [])
            rarity = np.log(1 + (len(texts) - len(held) + 0.5) / (len(held) + 0.5))
            for place, count in held:
                scores[place] += rarity * count * (_K1 + 1) / (count + norms[place])
        rankings.append(_best(scores, limit))
    return rankings


def fts5_trigrams(texts: Sequence[str], queries: Sequence[str], *, limit: int) -> list[Ranking]:
    """SQLite's full-text search with its trigram tokenizer; a question asks for any of its trigrams."""
    with sqlite3.connect(":memory:") as connection:
        connection.execute("create virtual table chunk using fts5(text, tokenize = 'trigram')")
        rows = ((place, _folded(text)) for place, text in enumerate(texts))
        connection.executemany("insert into chunk (rowid, text) values (?, ?)", rows)
        found = []
        for query in queries:
            asked = " or ".join(f'"{_quoted(gram)}"' for gram in _grams(query, (3,))).replace(" or ", " OR ")
            sql = "select rowid from chunk where chunk match ? order by rank limit ?"
            found.append([row[0] for row in connection.execute(sql, (asked, limit))] if asked else [])
        return found


def nearest(passages: NDArray[np.float32], queries: NDArray[np.float32], *, limit: int) -> list[Ranking]:
    """The vectors alone."""
    return [_best(row, limit, positive=False) for row in queries @ passages.T]


def reciprocal_rank_fusion(*legs: Sequence[Ranking], limit: int) -> list[Ranking]:
    """The legs' rankings merged with equal weights and k = 60."""
    return [_fused(rankings)[:limit] for rankings in zip(*legs, strict=True)]


def _fused(rankings: Iterable[Ranking]) -> Ranking:
    scores: Counter[int] = Counter()
    for ranking in rankings:
        for rank, place in enumerate(ranking, 1):
            scores[place] += 1 / (_RRF_K + rank)  # type: ignore[assignment]
    return sorted(scores, key=lambda place: (-scores[place], place))


def _best(scores: Scores, limit: int, *, positive: bool = True) -> Ranking:
    order = np.argsort(-scores, kind="stable")[:limit]
    return [int(place) for place in order if not positive or scores[place] > 0]


def _grams(text: str, sizes: Sequence[int]) -> Counter[str]:
    words = _folded(text).split()
    return Counter(word[at : at + size] for word in words for size in sizes for at in range(len(word) - size + 1))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower()


def _quoted(gram: str) -> str:
    return gram.replace('"', '""')
