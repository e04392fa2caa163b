"""The candidates of a question among pages that are not pushed yet, as `search_candidates` in Postgres finds them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sakuin.knowledge.postgres_search import DEPTH, POSTING_BUDGET, Question
from sakuin.language.model import Slot
from sakuin.retrieval.ranking import Frequencies
from sakuin.retrieval.weights import SAMPLE

from sakuin_cli.prediction.pages import PredictedSite
from sakuin_cli.prediction.vectors import Cosines, Vectors
from sakuin_cli.prediction.words import PredictedWords


class PredictedChunks:
    """The `CandidateStore` of a site: every chunk is compared, without filters.

    A passage without a vector has the cosine `assumed`, and is in no sample. `chunks` are in the order of the names of
    their pages, `places` has the numbers of their passages in `cosines`, by id, `sample` those of unrelated passages.
    """

    def __init__(self, site: PredictedSite, vectors: Vectors, *, assumed: float | None = None) -> None:
        self.chunks = [chunk for material in sorted(site.pages) for chunk in site.pages[material].chunks]
        self._by_id = {chunk.id: chunk for chunk in self.chunks}
        self._assumed = assumed
        self.words = PredictedWords(self.chunks, site.synonyms)
        passages = sorted((name, chunk.id) for chunk in self.chunks for name in chunk.passages)
        places = {name: place for place, name in enumerate(dict(passages))}
        self.cosines = Cosines.of_passages(vectors, list(places))
        self.sample = [places[name] for name, _ in passages[:SAMPLE]]
        self._languages = [self._by_id[id].shown["language"] for _, id in passages[:SAMPLE]]
        self.places = {chunk.id: [places[name] for name in chunk.passages] for chunk in self.chunks}
        # Equally near passages rank by the ids of their chunks.
        self._ids = [id for id in sorted(self.places) for _ in self.places[id]]
        self._in_order = np.array([place for id in sorted(self.places) for place in self.places[id]], dtype=int)

    def candidates(self, question: Question) -> Mapping[str, Any]:
        """Returns what `search_candidates` returns."""
        slots = [slot for folder in ("", *question.folder_slots) for slot in question.slots_of(folder)]
        terms = {term for slot in slots for term in slot.terms}
        frequency = {term: float(self.words.count(term)) for term in terms}
        known = self.cosines.of(question.vector)
        assumed = self._assumed if question.vector is not None else None
        cosines = known if assumed is None else np.nan_to_num(known, nan=assumed)
        nearest = self._nearest(cosines)
        matching = self._matching(question, Frequencies(len(self.chunks), frequency))
        found = dict.fromkeys((*nearest, *matching))
        found |= dict.fromkeys(
            concept
            for id in tuple(found)
            if self._by_id[id].is_example
            for concept in self._by_id[id].illustrates
            if concept in self._by_id
        )
        return {
            "total": len(self.chunks),
            "frequency": frequency,
            "cosines": [
                (language, cosine)
                for language, cosine in zip(self._languages, known[self.sample].tolist(), strict=True)
                if cosine == cosine
            ],
            "candidates": [self._row(id, nearest, matching, cosines, terms) for id in found],
        }

    def texts(self, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        """Returns what `chunks_to_show` returns."""
        return {id: self._by_id[id].shown for id in ids if id in self._by_id}

    def _nearest(self, cosines: NDArray[np.float64]) -> dict[str, int]:
        """Returns the ranks by meaning of the chunks with the nearest passages."""
        values = cosines[self._in_order]
        first = np.argsort(-values, kind="stable")[: min(2 * DEPTH, np.count_nonzero(~np.isnan(values)))]
        ids = dict.fromkeys(self._ids[place] for place in first)
        return {id: rank for rank, id in enumerate(list(ids)[:DEPTH], 1)}

    def _matching(self, question: Question, frequencies: Frequencies) -> dict[str, int]:
        """Returns the ranks by words of the chunks with the greatest sums over the slots."""
        scores: defaultdict[int, float] = defaultdict(float)
        # Most sites have no synonyms of a folder.
        folders = [question.folder_of(chunk.id) for chunk in self.chunks] if question.folder_slots else []
        for folder in ("", *question.folder_slots):
            for slot in _within_budget(question.slots_of(folder), frequencies):
                best: dict[int, float] = {}
                for term in slot.terms:
                    gain = frequencies.rarity(term)
                    for number, impact in self.words.postings.get(term, ()):
                        if gain * impact > best.get(number, 0.0):
                            best[number] = gain * impact
                for number, value in best.items():
                    if not folders or folders[number] == folder:
                        scores[number] += value
        numbers = sorted(scores, key=lambda number: (-scores[number], number))[:DEPTH]
        return {self.chunks[number].id: rank for rank, number in enumerate(numbers, 1)}

    def _row(
        self,
        id: str,
        nearest: Mapping[str, int],
        matching: Mapping[str, int],
        cosines: NDArray[np.float64],
        terms: set[str],
    ) -> dict[str, Any]:
        chunk = self._by_id[id]
        return {
            "id": id,
            "type": chunk.shown["type"],
            "language": chunk.shown["language"],
            "nearest_rank": nearest.get(id),
            "matching_rank": matching.get(id),
            "is_found": True,
            "illustrates": chunk.illustrates,
            "impacts": {term: chunk.terms[term] for term in terms if term in chunk.terms},
            "cosine": max((each for each in cosines[self.places[id]].tolist() if each == each), default=None),
        }


def _within_budget(slots: Sequence[Slot], frequencies: Frequencies) -> Iterator[Slot]:
    """Yields the slots whose chunks are read: the rarest one, and the next ones while the sum is within the budget."""
    sizes = [sum(frequencies.chunks[term] for term in slot.terms) for slot in slots]
    total, has_earlier = 0.0, False
    for number in sorted(range(len(slots)), key=lambda number: (sizes[number], number)):
        total += sizes[number]
        if total <= POSTING_BUDGET or not has_earlier:
            yield slots[number]
        has_earlier = has_earlier or sizes[number] > 0
