"""Search over the in-memory index: the formula of `…_search_by_slots.sql`, chunk by chunk."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pvariance

from sakuin.domain.knowledge import Concept, Filters, KnowledgeChunk, Match, StoredChunk
from sakuin.domain.language.question import Slot, SlotKind, WeightedTerm
from sakuin.domain.similarity import Calibration
from sakuin.errors import NotFound
from sakuin.ports.embedding import Vector
from sakuin.ports.knowledge import Question

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
        judge = self._judge(question)
        judged = {id: judge.judged(stored) for id, stored in allowed.items()}
        nearest = _ranked({id: one.cosine for id, one in judged.items() if one.cosine is not None})
        matching = _ranked({id: judge.coverage(one) for id, one in judged.items() if one.words or one.readings})
        found = set(nearest) | set(matching)
        if question.filters.type is None:
            found |= {
                shown
                for id in tuple(found)
                for shown in (f"{allowed[id].chunk.material}#{anchor}" for anchor in allowed[id].chunk.illustrates)
                if shown in allowed and allowed[id].chunk.type == "example"
            }
        seen = found | ({question.expected} & allowed.keys())
        evidence = {id: judge.evidence(allowed[id], judged[id]) for id in seen}
        placed = evidence | self._raised(question, [allowed[id].chunk for id in found], evidence)
        best = sorted(found, key=lambda id: (-placed[id], id))[: question.limit]
        late = [id for id in seen if id == question.expected and id not in best]
        return [
            self._match(allowed[id].chunk, judged[id], evidence[id], placed[id], nearest.get(id), matching.get(id))
            for id in (*best, *late)
        ]

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

    def _judge(self, question: Question) -> "_Judge":
        chunks = self.index.chunks.values()
        total = len(chunks)
        having = {
            term: sum(term in stored.chunk.words.impacts for stored in chunks)
            for term in {asked.term for slot in question.slots for asked in slot.terms}
        }
        rarity = {term: math.log(1 + (total - n + 0.5) / (n + 0.5)) for term, n in having.items()}
        missing = _missing(question.slots, rarity, having)
        if question.vector is None:
            return _Judge(question, self.calibration, rarity, missing, 0.0, 1.0)
        space = question.fingerprint.space
        same = [stored.vectors[space] for stored in chunks if space in stored.vectors]
        sample = sorted(same, key=lambda one: one[0])[:SAMPLE]
        cosines = [cosine(question.vector, vector) for _, vector in sample]
        prior, size = self.calibration, self.calibration.prior_size + len(cosines)
        mean = (sum(cosines) + prior.prior_size * prior.prior_mean) / size
        variance = pvariance(cosines, fmean(cosines)) if cosines else 0.0
        spread = math.sqrt((len(cosines) * variance + prior.prior_size * prior.prior_spread**2) / size)
        return _Judge(question, self.calibration, rarity, missing, mean, spread)

    def _raised(
        self, question: Question, found: Sequence[KnowledgeChunk], evidence: Mapping[str, float]
    ) -> dict[str, float]:
        """The places of concepts that stand above their examples only because of them."""
        if question.filters.type is not None:
            return {}
        places: dict[str, float] = {}
        for one in found:
            concepts = [id for anchor in one.illustrates if (id := f"{one.material}#{anchor}") in evidence]
            if one.type == "example" and concepts:
                best = min(concepts, key=lambda id: (-evidence[id], id))
                places[best] = max(places.get(best, evidence[best]), evidence[one.id] + 0.01)
        return places

    def _match(
        self, one: KnowledgeChunk, judged: "_Judged", evidence: float, place: float, near: int | None, match: int | None
    ) -> Match:
        similarity = 1 / (1 + math.exp(-self.calibration.steepness * (place - self.calibration.threshold)))
        return Match(
            id=one.id,
            material=one.material,
            anchor=one.anchor,
            title=one.title,
            content=one.content,
            learns=one.learns.items,
            type=one.type,
            similarity=round(similarity, 4),
            cosine=judged.cosine,
            z=judged.z,
            words=judged.words,
            readings=judged.readings,
            evidence=evidence,
            nearest_rank=near,
            matching_rank=match,
            matched=judged.matched,
        )


@dataclass(frozen=True, slots=True)
class _Judged:
    """One chunk as both legs see it."""

    cosine: float | None
    z: float
    words: float
    readings: float
    matched: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Judge:
    """One question's evidence: `mean` and `spread` of its cosines with texts at random, and how rare its terms are."""

    question: Question
    calibration: Calibration
    rarity: dict[str, float]
    missing: float
    mean: float
    spread: float

    def judged(self, stored: Stored) -> _Judged:
        near = None
        has = stored.vectors.get(self.question.fingerprint.space)
        if self.question.vector is not None and has is not None:
            near = cosine(self.question.vector, has[1])
        words, matched = self._coverage("word", stored.chunk.words.impacts)
        readings, _ = self._coverage("reading", stored.chunk.words.impacts)
        return _Judged(near, 0.0 if near is None else (near - self.mean) / self.spread, words, readings, matched)

    def coverage(self, judged: _Judged) -> float:
        return max(judged.words, self.calibration.reading_weight * judged.readings)

    def evidence(self, stored: Stored, judged: _Judged) -> float:
        asked = self.question.wants_example or self.question.filters.type is not None
        handicap = stored.chunk.type == "example" and not asked
        known = judged.z + self.calibration.word_weight * self.coverage(judged)
        known -= self.calibration.missing_handicap * self.missing
        return known - (self.calibration.example_handicap if handicap else 0.0)

    def _coverage(self, kind: SlotKind, impacts: Mapping[str, float]) -> tuple[float, tuple[str, ...]]:
        slots = [slot for slot in self.question.slots if slot.kind == kind and slot.terms]
        whole = sum(max(self._gain(asked) for asked in slot.terms) for slot in slots)
        held = []
        for slot in slots:
            has = [
                (self._gain(asked) * self._share(impacts[asked.term]), asked.term)
                for asked in slot.terms
                if asked.term in impacts
            ]
            if has:
                held.append(min(has, key=lambda one: (-one[0], one[1])))
        matched = tuple(term for _, term in sorted(held, key=lambda one: (-one[0], one[1])))
        return (sum(value for value, _ in held) / whole if whole else 0.0), matched

    def _share(self, impact: float) -> float:
        return self.calibration.presence + (1 - self.calibration.presence) * impact

    def _gain(self, asked: WeightedTerm) -> float:
        return asked.weight * self.rarity[asked.term]


def _missing(slots: Sequence[Slot], rarity: Mapping[str, float], having: Mapping[str, int]) -> float:
    """The share of the word slots that no chunk has."""
    words = [slot for slot in slots if slot.kind == "word" and slot.terms]
    ceilings = [max(asked.weight * rarity[asked.term] for asked in slot.terms) for slot in words]
    lost = [
        ceiling
        for slot, ceiling in zip(words, ceilings, strict=True)
        if not any(having[asked.term] for asked in slot.terms)
    ]
    return sum(lost) / sum(ceilings) if ceilings else 0.0


def _ranked(scores: Mapping[str, float]) -> dict[str, int]:
    """The place of each id, from 1, by falling score, ties by id."""
    return {id: place for place, id in enumerate(sorted(scores, key=lambda id: (-scores[id], id)), 1)}


def cosine(one: Vector, other: Vector) -> float:
    """The cosine of two vectors of length 1."""
    return sum(a * b for a, b in zip(one, other, strict=True) if a and b)
