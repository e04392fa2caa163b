"""Search over the in-memory index: the formula of `…_search_knowledge.sql`, chunk by chunk."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, pvariance

from sakuin.domain.knowledge import Concept, Filters, Match, StoredChunk
from sakuin.domain.similarity import Calibration
from sakuin.errors import NotFound
from sakuin.ports import Question, Vector

from tests.in_memory.embedder import CALIBRATION
from tests.in_memory.index import MemoryIndex, Stored

SAMPLE = 200


@dataclass(frozen=True, slots=True)
class MemorySearch:
    """A `KnowledgeSearch`."""

    index: MemoryIndex
    calibration: Calibration = CALIBRATION

    def matches(self, question: Question) -> Sequence[Match]:
        allowed = {stored.chunk.id: stored for stored in self._allowed(question.filters)}
        found = self._found(question, allowed)
        if question.filters.type is None:
            shown = [f"{one.chunk.material}#{anchor}" for one in found.values() for anchor in one.chunk.illustrates]
            found |= {id: allowed[id] for id in shown if id in allowed}
        judge = self._judge(question)
        evidence = {id: judge.evidence(stored) for id, stored in found.items()}
        placed = {id: self._below_its_concept(question, stored, evidence) for id, stored in found.items()}
        best = sorted(found, key=lambda id: (-placed[id], id))[: question.limit]
        return [_match(found[id], self._similarity(placed[id])) for id in best]

    def chunk(self, id: str) -> StoredChunk:
        stored = self.index.chunks.get(id)
        if stored is None:
            raise NotFound(f"There is no chunk {id!r}: take an id from search_knowledge or list_concepts")
        one = stored.chunk
        return StoredChunk(
            id=one.id,
            material=one.material,
            anchor=one.anchor,
            title=one.title,
            content=one.content,
            learns=one.learns.items,
            type=one.type,
            category=one.category,
            level=one.level,
            prerequisites=one.prerequisites,
            position=one.position,
            content_hash=one.content_hash,
            generation=stored.generation,
        )

    def concepts(self, filters: Filters, *, after: str | None, limit: int) -> tuple[Sequence[Concept], str | None]:
        after_place = tuple(after.rpartition("#")[::2]) if after is not None else ("", "")
        chunks = sorted((one.chunk for one in self._allowed(filters)), key=lambda one: (one.material, one.anchor))
        rest = [one for one in chunks if (one.material, one.anchor) > after_place]
        concepts = [Concept(one.id, one.title, one.type, one.material, one.anchor) for one in rest[:limit]]
        return concepts, concepts[-1].id if len(rest) > limit else None

    def _allowed(self, filters: Filters) -> Iterable[Stored]:
        for stored in self.index.chunks.values():
            has = stored.chunk
            wanted = ((filters.type, has.type), (filters.category, has.category), (filters.level, has.level))
            if all(want in (None, got) for want, got in (*wanted, (filters.material, has.material))):
                yield stored

    def _found(self, question: Question, allowed: dict[str, Stored]) -> dict[str, Stored]:
        """What either leg can see: vectors of the same fingerprint, chunks that share a term."""
        return {
            id: stored
            for id, stored in allowed.items()
            if (question.vector is not None and stored.fingerprint == question.fingerprint)
            or not set(question.terms).isdisjoint(stored.chunk.terms)
        }

    def _judge(self, question: Question) -> "_Judge":
        chunks = self.index.chunks.values()
        total = len(chunks)
        rarity = {}
        for term in question.terms:
            having = sum(term in stored.chunk.terms for stored in chunks)
            rarity[term] = math.log(1 + (total - having + 0.5) / (having + 0.5))
        if question.vector is None:
            return _Judge(question, self.calibration, rarity, 0.0, 1.0)
        same = [stored for stored in chunks if stored.fingerprint == question.fingerprint]
        sample = sorted(same, key=lambda stored: stored.chunk.text_hash)[:SAMPLE]
        cosines = [cosine(question.vector, stored.vector) for stored in sample]
        prior, size = self.calibration, self.calibration.prior_size + len(cosines)
        mean = (sum(cosines) + prior.prior_size * prior.prior_mean) / size
        variance = pvariance(cosines, fmean(cosines)) if cosines else 0.0
        spread = math.sqrt((len(cosines) * variance + prior.prior_size * prior.prior_spread**2) / size)
        return _Judge(question, self.calibration, rarity, mean, spread)

    def _below_its_concept(self, question: Question, stored: Stored, evidence: dict[str, float]) -> float:
        own = evidence[stored.chunk.id]
        if stored.chunk.type != "example" or question.filters.type is not None:
            return own
        concepts = [evidence.get(f"{stored.chunk.material}#{anchor}") for anchor in stored.chunk.illustrates]
        known = [each for each in concepts if each is not None]
        return min(own, max(known) - 0.01) if known else own

    def _similarity(self, evidence: float) -> float:
        return round(1 / (1 + math.exp(-self.calibration.steepness * (evidence - self.calibration.threshold))), 4)


@dataclass(frozen=True, slots=True)
class _Judge:
    """One question's evidence: `mean` and `spread` of its cosines with texts at random, and how rare its terms are."""

    question: Question
    calibration: Calibration
    rarity: dict[str, float]
    mean: float
    spread: float

    def evidence(self, stored: Stored) -> float:
        distance = 0.0
        if self.question.vector is not None and stored.fingerprint == self.question.fingerprint:
            distance = (cosine(self.question.vector, stored.vector) - self.mean) / self.spread
        readings = {term for term in self.rarity if term.startswith("~")}
        coverage = max(self._coverage(self.rarity.keys() - readings, stored), self._coverage(readings, stored))
        handicap = stored.chunk.type == "example" and self.question.filters.type is None
        return (
            distance
            + self.calibration.word_weight * coverage
            - (self.calibration.example_handicap if handicap else 0.0)
        )

    def _coverage(self, terms: Collection[str], stored: Stored) -> float:
        held = sum(
            self.rarity[term] * (1 if term in stored.chunk.title_terms else self.calibration.body_weight)
            for term in terms
            if term in stored.chunk.terms
        )
        return held / max(sum(self.rarity[term] for term in terms), 1e-9)


def cosine(one: Vector, other: Vector) -> float:
    """The cosine of two vectors of length 1."""
    return sum(a * b for a, b in zip(one, other, strict=True) if a and b)


def _match(stored: Stored, similarity: float) -> Match:
    one = stored.chunk
    return Match(one.id, one.material, one.anchor, one.title, one.content, one.learns.items, one.type, similarity)
