"""Figures of a run: every measure for all questions, by half and by category."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sakuin_cli.evaluation.intervals import Estimate, Resamples
from sakuin_cli.evaluation.labels import LabelledQuestion
from sakuin_cli.evaluation.measures import DEPTH, hit_at, ndcg_at, recall_at, reciprocal_rank

WHOLE = "all"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question: the ids, best first, and whether it is `no_good_match`."""

    ranking: tuple[str, ...]
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """The figures of a group of questions by measure, without measures that do not apply."""

    name: str
    questions: int
    figures: Mapping[str, Estimate]


def measures(k: int) -> tuple[str, ...]:
    """Returns the names of the ranking measures, in order."""
    return (f"recall@{k}", f"hit@{k}", f"MRR@{DEPTH}", f"nDCG@{DEPTH}")


RECOGNISED = "recognised"
REFUSED = "refused"


# agent               what an agent gets: a refused question has no results
# order and refusals  the order without the threshold, and the refusals
# order               the order only, for rankings to which the threshold does not apply
View = Literal["agent", "order and refusals", "order"]


def values(question: LabelledQuestion, asked: Answer, *, k: int, view: View) -> dict[str, float]:
    """Returns a question's value of each measure.

    `recognised` is 1 for a refused question without an answer, `refused` 1 for a refused question with one.
    """
    refused = float(asked.refused)
    if not question.gold:
        return {} if view == "order" else {RECOGNISED: refused}
    ranking: Sequence[str] = () if view == "agent" and asked.refused else asked.ranking
    found = (
        recall_at(ranking, question.gold, k=k),
        hit_at(ranking, question.gold, k=k),
        reciprocal_rank(ranking, question.gold),
        ndcg_at(ranking, question.gold),
    )
    measured = dict(zip(measures(k), found, strict=True))
    return measured if view == "order" else {**measured, REFUSED: refused}


def groups(
    questions: Sequence[LabelledQuestion], asked: Sequence[Answer], *, k: int, view: View, resamples: Resamples
) -> list[Group]:
    """Returns the figures of all questions, of each half, and of each category in the order of the labels."""
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
    # A category can have the name of a half or of the whole.
    named = {name if name not in (WHOLE, *halves) else f"{name} (category)": at for name, at in categories.items()}
    # A single half equals the whole.
    return {WHOLE: whole, **(dict(sorted(halves.items())) if len(halves) > 1 else {}), **named}


def _figures(each: Sequence[Mapping[str, float]], k: int, resamples: Resamples) -> dict[str, Estimate]:
    found = {}
    for name in (*measures(k), RECOGNISED, REFUSED):
        estimate = resamples.estimate([one[name] for one in each if name in one])
        if estimate is not None:
            found[name] = estimate
    return found
