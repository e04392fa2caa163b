"""The measures of a ranking, and the figures of a run: all questions, by half and by category."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, log2
from typing import Literal

from sakuin.retrieval.weights import NEAREST

from sakuin_cli.evaluation.labels import LabelledQuestion
from sakuin_cli.evaluation.statistics import Estimate, Resamples

WHOLE = "all"
# The depth of MRR and nDCG; agents ask for fewer results.
DEPTH = 10


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question: the ids, best first, and whether it is `no_good_match`.

    `changed`: the share of its words in the index that were not searched as typed; None if the index has none.
    """

    ranking: tuple[str, ...]
    refused: bool = False
    changed: float | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """The figures of some questions by measure; a measure without questions is left out."""

    name: str
    questions: int
    figures: Mapping[str, Estimate]


def measures(k: int) -> tuple[str, ...]:
    """Returns the names of the measures of a ranking, in their order."""
    return (f"recall@{k}", f"hit@{k}", f"MRR@{DEPTH}", f"nDCG@{DEPTH}")


RECOGNISED = "recognised"
REFUSED = "refused"
CHANGED = "changed"


# agent               what an agent gets: a refused question has the nearest results alone
# order and refusals  the order without the threshold, and the refusals
# order               the order only, for rankings to which the threshold does not apply
View = Literal["agent", "order and refusals", "order"]


def values(question: LabelledQuestion, asked: Answer, *, k: int, view: View) -> dict[str, float]:
    """Returns the value of each measure for a question.

    `recognised` is 1 for a refused question without an answer, `refused` is 1 for a refused one with an answer.
    `changed` is the share of correct words that were not searched as typed.
    """
    refused = float(asked.refused)
    changed = {} if asked.changed is None else {CHANGED: asked.changed}
    if not question.gold:
        return changed if view == "order" else {RECOGNISED: refused, **changed}
    ranking = asked.ranking[:NEAREST] if view == "agent" and asked.refused else asked.ranking
    found = (
        recall_at(ranking, question.gold, k=k),
        hit_at(ranking, question.gold, k=k),
        reciprocal_rank(ranking, question.gold),
        ndcg_at(ranking, question.gold),
    )
    measured = {**dict(zip(measures(k), found, strict=True)), **changed}
    return measured if view == "order" else {**measured, REFUSED: refused}


def groups(
    questions: Sequence[LabelledQuestion], asked: Sequence[Answer], *, k: int, view: View, resamples: Resamples
) -> list[Group]:
    """Returns the figures of all questions, each half, and each category, in the order of the labels."""
    each = [values(question, one, k=k, view=view) for question, one in zip(questions, asked, strict=True)]
    return [
        Group(name, len(places), _figures([each[place] for place in places], k, resamples))
        for name, places in _places(questions).items()
    ]


def _places(questions: Iterable[LabelledQuestion]) -> dict[str, list[int]]:
    whole: list[int] = []
    halves: dict[str, list[int]] = {}
    categories: dict[str, list[int]] = {}
    for place, question in enumerate(questions):
        whole.append(place)
        if question.half is not None:
            halves.setdefault(question.half, []).append(place)
        categories.setdefault(question.category, []).append(place)
    # A category may have the name of a half or of the whole.
    named = {name if name not in (WHOLE, *halves) else f"{name} (category)": at for name, at in categories.items()}
    # A single half is the whole.
    return {WHOLE: whole, **(dict(sorted(halves.items())) if len(halves) > 1 else {}), **named}


def _figures(each: Sequence[Mapping[str, float]], k: int, resamples: Resamples) -> dict[str, Estimate]:
    found = {}
    for name in (*measures(k), RECOGNISED, REFUSED, CHANGED):
        estimate = resamples.estimate([one[name] for one in each if name in one])
        if estimate is not None:
            found[name] = estimate
    return found


def recall_at(ranking: Sequence[str], gold: Collection[str], *, k: int) -> float:
    """Returns the share of the relevant ids among the first `k`; an id that occurs twice counts at its first place.

    Manning, Raghavan, Schütze: Introduction to Information Retrieval, 2008, 8.3: over all relevant ids, so that a
    question with more than `k` of them cannot reach 1.
    """
    return len(set(gold).intersection(ranking[:k])) / len(set(gold))


def hit_at(ranking: Sequence[str], gold: Collection[str], *, k: int) -> float:
    """Returns 1 if a relevant id is among the first `k`, else 0; also called success@k."""
    return float(not set(gold).isdisjoint(ranking[:k]))


def reciprocal_rank(ranking: Sequence[str], gold: Collection[str]) -> float:
    """Returns 1 / the rank of the first relevant id, 0 if none is among the first `DEPTH`.

    Its mean is MRR (Voorhees: The TREC-8 Question Answering Track Report, 1999), with the cutoff of MS MARCO's MRR@10.
    """
    right = set(gold)
    return next((1 / place for place, id in enumerate(ranking[:DEPTH], 1) if id in right), 0.0)


def ndcg_at(ranking: Sequence[str], gold: Collection[str]) -> float:
    """Returns the gain 1 / log2(rank + 1) of the relevant ids among the first `DEPTH`, divided by the ideal gain.

    Järvelin, Kekäläinen: Cumulated gain-based evaluation of IR techniques, 2002, with binary relevance.
    """
    right = set(gold)
    first = {id: place for place, id in reversed(list(enumerate(ranking[:DEPTH], 1))) if id in right}
    possible = fsum(_gain(place) for place in range(1, min(DEPTH, len(right)) + 1))
    return fsum(map(_gain, first.values())) / possible


def _gain(place: int) -> float:
    return 1 / log2(place + 1)
