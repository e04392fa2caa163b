"""The report of a run: figures, comparison with an earlier run, and missed floors."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from sakuin_cli.evaluation.figures import CHANGED, RECOGNISED, REFUSED, Group, measures
from sakuin_cli.evaluation.floors import Floor, Missed, missed
from sakuin_cli.evaluation.run import AGENT, Comparison, EvaluationRun, compared
from sakuin_cli.evaluation.statistics import CONFIDENCE, MeanDifference, Resamples

# The kinds of failures; `k` is the number of results that count.
KINDS = {
    "missed": "no relevant result among the first {k}",
    "partly": "some relevant results not among the first {k}",
    "refused": "refused, though there is an answer",
    "answered": "answered, though there is none",
}
_SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class Report:
    """A run with its figures. The floors apply to the answers of an agent."""

    run: EvaluationRun
    figures: Mapping[str, Sequence[Group]]
    comparison: Comparison | None
    missed: tuple[Missed, ...]

    @property
    def agent(self) -> Sequence[Group]:
        """Returns the figures of an agent's answers, in groups."""
        return self.figures[AGENT]

    @property
    def variants(self) -> Sequence[Group]:
        """Returns the figures of all questions, by variant."""
        return [Group(name, some[0].questions, some[0].figures) for name, some in self.figures.items()]

    @property
    def without_answer(self) -> int:
        """Returns the number of questions without an answer."""
        return sum(not question.gold for question in self.run.questions)

    @property
    def is_clean(self) -> bool:
        """Returns whether no floor is missed and no line is bad."""
        return not self.missed and not self.run.bad_lines

    def as_json(self) -> dict[str, Any]:
        run = self.run
        return {
            "tool": run.tool,
            "k": run.k,
            "questions": len(run.questions),
            "confidence": CONFIDENCE,
            "variants": {name: {group.name: _group(group) for group in some} for name, some in self.figures.items()},
            "comparison": asdict(self.comparison) if self.comparison else None,
            "missed": [{**asdict(one.floor), "seen": one.seen} for one in self.missed],
            "failures": [asdict(failure) for failure in run.failures],
            "bad_lines": [asdict(line) for line in run.bad_lines],
            "index_state": run.index_state,
        }


def report_of(run: EvaluationRun, *, before: EvaluationRun | None = None, floors: Iterable[Floor] = ()) -> Report:
    """Returns the report of a run, compared with `before` if given."""
    resamples = Resamples()
    figures = run.figures(resamples)
    comparison = compared(before, run, resamples) if before is not None else None
    return Report(run, figures, comparison, tuple(missed(floors, figures[AGENT])))


def measured_in(groups: Sequence[Group], k: int) -> tuple[str, ...]:
    """Returns the measures that a group has, in their order."""
    return tuple(
        name for name in (*measures(k), REFUSED, RECOGNISED, CHANGED) if any(name in one.figures for one in groups)
    )


def direction_of(measure: str, change: MeanDifference) -> Literal["up", "down", ""]:
    """Returns whether a measure got significantly better (`up`) or worse (`down`)."""
    if change.p >= _SIGNIFICANT:
        return ""
    # Fewer refusals and fewer changed words are better.
    return "up" if (change.change > 0) is (measure not in (REFUSED, CHANGED)) else "down"


def _group(group: Group) -> dict[str, Any]:
    return {"questions": group.questions, **{name: asdict(estimate) for name, estimate in group.figures.items()}}
