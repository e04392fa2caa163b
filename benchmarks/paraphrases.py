"""What other texts, vectors and weights would change in the ranking of pages: each alone, against the product's.

`python -m benchmarks.paraphrases LABELS.jsonl FOLDER [PART …]` asks the questions of the half `dev` that have an
answer. `paraphrases.jsonl` beside this file asks about the samples in words that their pages do not use. PART: texts,
vectors, neighbours, learns, forms or words; without one, all. Figures: docs/decisions/0069-paraphrases.md.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sakuin.knowledge.learns.postgres import LearnsRecords
from sakuin.knowledge.learns.sources import LearnsSources
from sakuin.knowledge.model import Learns
from sakuin.knowledge.page import Explanation, body_text, embedded_text, whole_text
from sakuin.knowledge.reading.page_reader import read_page
from sakuin.language.indexing import LEARNS_WEIGHT, WRITTEN_LEARNS_WEIGHT, index_words
from sakuin.language.model import AnalyzedQuery, Slot
from sakuin.language.vocabulary import Vocabulary, vocabulary_of
from sakuin.retrieval.calibration import GOOD_MATCH, SAMPLE_OF_MEAN, Calibration, calibration_of
from sakuin.retrieval.ranking import Candidate, Frequencies, background, rank, word_matches
from sakuin.retrieval.vectors import text_hash
from sakuin_cli.evaluation.figures import hit_at, recall_at, reciprocal_rank
from sakuin_cli.evaluation.labels import LabelledQuestion, labelled_questions
from sakuin_cli.evaluation.statistics import Resamples, mean_difference

from benchmarks.cached_model import CachedModel
from benchmarks.in_process import Folder, indexed

VECTORS = Path(__file__).resolve().parent.parent / "build" / "benchmarks" / "vectors.db"
MAX_PAGE_BYTES = 10_000_000
TODAY = "the product's"
MEASURES: Mapping[str, Callable[[Sequence[str], Sequence[str]], float]] = {
    "hit@1": lambda ranking, gold: hit_at(ranking, gold, k=1),
    "hit@5": lambda ranking, gold: hit_at(ranking, gold, k=5),
    "recall@5": lambda ranking, gold: recall_at(ranking, gold, k=5),
    "MRR": reciprocal_rank,
}

Vector = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Chunk:
    """What the index knows of an element. `product` is the text that the product embeds."""

    id: str
    material: str
    page_title: str
    explanation: Explanation
    learns: Learns
    product: str


@dataclass(frozen=True, eq=False)
class Site:
    """All chunks of a folder, in the memory of this program."""

    chunks: Sequence[Chunk]
    model: CachedModel
    vocabulary: Vocabulary

    @cached_property
    def sample(self) -> NDArray[np.intp]:
        """The chunks that say how near unrelated texts are: those that the product takes."""
        return np.argsort([text_hash(chunk.product) for chunk in self.chunks])[:SAMPLE_OF_MEAN]

    @cached_property
    def same_page(self) -> Vector:
        """Row by row the other chunks of a chunk's page, with equal weights."""
        pages = np.array([chunk.material for chunk in self.chunks])
        same = (pages[:, None] == pages[None, :]) & ~np.eye(len(pages), dtype=bool)
        weights: Vector = same / np.maximum(same.sum(axis=1, keepdims=True), 1)
        return weights

    @lru_cache(maxsize=8)  # noqa: B019 - one site a run
    def vectors(self, text: Callable[[Chunk], str]) -> Vector:
        """Returns the vectors of a text of each chunk."""
        return self.model.matrix([embedded_text(text(chunk)) for chunk in self.chunks], queries=False)

    @lru_cache(maxsize=8)  # noqa: B019 - one site a run
    def impacts(self, author: float, written: float) -> list[Mapping[str, float]]:
        """Returns the terms of each chunk, if the words of `learns` have these weights; 0 leaves them out."""
        found = []
        for chunk in self.chunks:
            weight = author if chunk.learns.source in ("author", "model") else written
            words = index_words(
                title=chunk.explanation.title,
                learns=chunk.learns.items if weight else (),
                body=body_text(chunk.explanation, chunk.page_title),
                learns_weight=weight,
                vocabulary=self.vocabulary,
            )
            found.append(words.impacts)
        return found


def _product(chunk: Chunk) -> str:
    return chunk.product


def _body(chunk: Chunk) -> str:
    return chunk.explanation.content


def _title_body(chunk: Chunk) -> str:
    return f"{chunk.explanation.title}\n{chunk.explanation.content}"


def _headings_body(chunk: Chunk) -> str:
    return whole_text(chunk.explanation, (), chunk.page_title)


def _title_learns(chunk: Chunk) -> str:
    return "\n".join([chunk.explanation.title, "、".join(chunk.learns.items)])


def _learns_first(chunk: Chunk) -> str:
    return "\n".join(["、".join(chunk.learns.items), _headings_body(chunk)])


# The cosines of a question with all chunks of a site.
Cosines = Callable[[Site, Vector], Vector]


def _of(text: Callable[[Chunk], str]) -> Cosines:
    return lambda site, question: site.vectors(text) @ question


def _two(first: Callable[[Chunk], str], second: Callable[[Chunk], str], *, mean: bool = False) -> Cosines:
    """Returns the best of the cosines with two texts of each chunk, or their mean."""
    return lambda site, question: (np.mean if mean else np.max)(
        [site.vectors(first) @ question, site.vectors(second) @ question], axis=0
    )


def _feedback(best: int, share: float) -> Cosines:
    """Adds the mean of the best vectors to that of the question (Rocchio)."""

    def cosines(site: Site, question: Vector) -> Vector:
        stored = site.vectors(_product)
        nearest = np.argsort(-(stored @ question))[:best]
        changed = question + share * stored[nearest].mean(axis=0)
        # The same mean as before, which the calibration expects.
        moved = stored @ (changed / np.linalg.norm(changed))
        result: Vector = moved - moved.mean() + (stored @ question).mean()
        return result

    return cosines


def _from_page(share: float) -> Cosines:
    def cosines(site: Site, question: Vector) -> Vector:
        own = site.vectors(_product) @ question
        result: Vector = (1 - share) * own + share * (site.same_page @ own)
        return result

    return cosines


def _other_forms(factor: float) -> Callable[[Slot], Slot]:
    """Returns what multiplies the weights of all terms of a word slot but the first."""

    def changed(slot: Slot) -> Slot:
        if slot.kind == "gram":
            return slot
        first, *rest = slot.terms
        others = (replace(term, weight=min(1.0, term.weight * factor)) for term in rest if factor)
        return replace(slot, terms=(first, *others))

    return changed


PRODUCT = _of(_product)


@dataclass(frozen=True)
class Variant:
    """One change of the ranking. `learns`: the weights of the words of authors' and of rule-written `learns`."""

    cosines: Cosines = PRODUCT
    learns: tuple[float, float] = (LEARNS_WEIGHT, WRITTEN_LEARNS_WEIGHT)
    slot: Callable[[Slot], Slot] = lambda slot: slot
    word_weight: float | None = None

    def answer(
        self, site: Site, understood: AnalyzedQuery, question: Vector, calibration: Calibration
    ) -> tuple[list[str], bool]:
        """Returns the ids, best first, and whether the answer is `no_good_match`."""
        if self.word_weight is not None:
            calibration = replace(calibration, word_weight=self.word_weight)
        cosines, impacts = self.cosines(site, question), site.impacts(*self.learns)
        slots = [self.slot(slot) for slot in understood.slots]
        terms = {term.term for slot in slots for term in slot.terms}
        frequencies = Frequencies(len(impacts), {term: sum(term in one for one in impacts) for term in terms})
        candidates = [
            Candidate(
                chunk.id,
                float(cosine),
                {term: one[term] for term in terms if term in one},
                is_example=chunk.explanation.type == "example",
                illustrates=tuple(f"{chunk.material}#{anchor}" for anchor in chunk.explanation.illustrates),
            )
            for chunk, cosine, one in zip(site.chunks, cosines, impacts, strict=True)
        ]
        words = word_matches(slots, frequencies, candidates)
        unrelated = background(
            [float(cosines[at]) for at in site.sample], candidates, words, calibration, slots, frequencies
        )
        ranking = rank(
            candidates,
            words,
            dict.fromkeys(words, unrelated),
            calibration,
            lowers_examples=not understood.wants_example,
        )
        return [each.id for each in ranking], ranking[0].similarity < GOOD_MATCH


PARTS: Mapping[str, Mapping[str, Variant]] = {
    "texts": {
        "body": Variant(_of(_body)),
        "title, body": Variant(_of(_title_body)),
        "title, headings, body": Variant(_of(_headings_body)),
        "title, learns": Variant(_of(_title_learns)),
        "learns first": Variant(_of(_learns_first)),
    },
    "vectors": {
        "title + learns and body, best": Variant(_two(_title_learns, _body)),
        "title + learns and body, mean": Variant(_two(_title_learns, _body, mean=True)),
        "title, body and the product's, best": Variant(_two(_title_body, _product)),
        "title, body and the product's, mean": Variant(_two(_title_body, _product, mean=True)),
    },
    "neighbours": {
        **{f"question + {share} of the best 3": Variant(_feedback(3, share)) for share in (0.2, 0.5, 1.0)},
        **{f"{share} of the page's cosines": Variant(_from_page(share)) for share in (0.1, 0.2, 0.3)},
    },
    "learns": {
        f"weights {author:g} and {written:g}": Variant(learns=(author, written))
        for author, written in ((0, 0), (3, 0), (1, 1), (3, 3), (5, 2), (5, 5))
    },
    "forms": {f"other forms x {factor:g}": Variant(slot=_other_forms(factor)) for factor in (0, 0.5, 0.75, 2)},
    "words": {f"word weight {weight:g}": Variant(word_weight=weight) for weight in (0, 5, 10, 20)},
}


def main(labels: Path, folder: Path, parts: Sequence[str]) -> None:
    """Prints a row a variant: the means, and the paired intervals of their changes."""
    questions = [one for one in labelled_questions(labels.read_text("utf-8"))[0] if one.gold and one.half == "dev"]
    model = CachedModel.in_file(VECTORS)
    site, asked = _read(folder, model, questions)
    vectors = model.matrix([one.text for one in asked], queries=True)
    calibration, resamples = calibration_of(model.name), Resamples()
    table = Table(title=f"{len(asked)} questions, {len(site.chunks)} chunks", title_justify="left", box=None)
    for column in ("variant", *MEASURES, "refused"):
        table.add_column(column, justify="left" if column == "variant" else "right")
    before: dict[str, list[float]] = {}
    for name, variant in _variants(parts):
        answers = [variant.answer(site, one, vector, calibration) for one, vector in zip(asked, vectors, strict=True)]
        cells = []
        for measure, value in MEASURES.items():
            now = [value(ids, one.gold) for (ids, _), one in zip(answers, questions, strict=True)]
            change = mean_difference(before.setdefault(measure, now), now, resamples)
            assert change is not None
            interval = "" if name == TODAY else f" ({change.low:+.2f} … {change.high:+.2f})"
            cells.append(f"{change.after:.3f}{interval}")
        table.add_row(name, *cells, str(sum(refused for _, refused in answers)))
    Console(width=140).print(table)


def _variants(parts: Sequence[str]) -> Iterator[tuple[str, Variant]]:
    yield TODAY, Variant()
    for part in parts or PARTS:
        yield from PARTS[part].items()


def _read(folder: Path, model: CachedModel, questions: Sequence[LabelledQuestion]) -> tuple[Site, list[AnalyzedQuery]]:
    """Returns the chunks of a folder, and the questions as the product over an index of it understands them."""
    chunks = []
    with indexed(folder, model) as library:
        search = library.explain.searches.knowledge_search()
        bucket = Folder(folder)
        learns = LearnsSources(bucket, LearnsRecords(search.index.client), None, "")
        for key in bucket.keys(""):
            material = key.removesuffix(".html")
            page = read_page(bucket.read(key, max_bytes=MAX_PAGE_BYTES).body)
            written = learns(key, material, page).learns
            for each in page.explanations:
                id = f"{material}#{each.anchor}"
                chunks.append(Chunk(id, material, page.title, each, written[each.anchor], library.texts[id]))
        asked = [library.explain(one.query).understood for one in questions]
        return Site(chunks, model, vocabulary_of(search.version.vocabulary)), asked


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
