"""What a run says: its figures, how they compare, and which floors they miss."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sakuin_cli.evaluation.figures import Group
from sakuin_cli.evaluation.floors import Floor, Missed, missed
from sakuin_cli.evaluation.intervals import CONFIDENCE, Resamples
from sakuin_cli.evaluation.run import Comparison, Run, compared
from sakuin_cli.evaluation.variants import AGENT


@dataclass(frozen=True, slots=True)
class Report:
    """A run with all that was made of it. The floors are held against what an agent gets."""

    run: Run
    figures: Mapping[str, Sequence[Group]]
    comparison: Comparison | None
    missed: tuple[Missed, ...]

    @property
    def agent(self) -> Sequence[Group]:
        """What an agent gets, in groups."""
        return self.figures[AGENT]

    @property
    def is_clean(self) -> bool:
        """No floor was missed and no line was bad."""
        return not self.missed and not self.run.bad_lines

    def as_json(self) -> dict[str, Any]:
        """The report as a document."""
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


def report_of(run: Run, *, before: Run | None = None, floors: Iterable[Floor] = ()) -> Report:
    """The report of a run, compared with an earlier one where there is one."""
    resamples = Resamples()
    figures = run.figures(resamples)
    comparison = compared(before, run, resamples) if before is not None else None
    return Report(run, figures, comparison, tuple(missed(floors, figures[AGENT])))


def _group(group: Group) -> dict[str, Any]:
    return {"questions": group.questions, **{name: asdict(estimate) for name, estimate in group.figures.items()}}
