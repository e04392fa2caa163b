"""Two runs compared: each question whose answer changed, with both links, and the figures."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import fsum
from typing import Any, Literal

from sakuin.errors import Invalid

from sakuin_cli.evaluation.figures import values
from sakuin_cli.evaluation.run import Answer, Run
from sakuin_cli.terminal import counted

# The report lists so many questions.
_LINES = 50
# Of the statistics, by scipy.
_SEED = 20261122
_RESAMPLES = 1000
_FLIPS = 10_000


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """The means of `n` questions before and after, the 95% interval of the change, and its p-value.

    `higher` and `lower` count the questions that changed.
    """

    before: float
    after: float
    change: float
    low: float
    high: float
    p: float
    higher: int
    lower: int
    n: int

    def __str__(self) -> str:
        """Returns the cells of a table."""
        interval = f"{self.low:+.3f} … {self.high:+.3f}"
        means = f"{self.before:.3f} | {self.after:.3f} | {self.change:+.3f}"
        return f"{means} | {interval} | {self.p:.3f} | {self.higher} | {self.lower}"


@dataclass(frozen=True, slots=True)
class ChangedAnswer:
    """A question whose answer changed: `lost` if it fails now and did not before, `gained` the other way round."""

    before: Answer
    after: Answer
    state: Literal["lost", "gained", "changed"]

    def as_json(self) -> dict[str, Any]:
        opened = {"before": self.before.opened, "after": self.after.opened}
        shown = {name: asdict(result) if result else None for name, result in opened.items()}
        question = self.after.question
        return {"line": question.line, "query": question.query, "state": self.state, **shown}


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed between two runs; `left_out` counts the questions that one of them alone asked."""

    changed: tuple[ChangedAnswer, ...]
    differences: Mapping[str, MeanDifference]
    questions: int
    left_out: int

    @property
    def lost(self) -> int:
        """Returns how many questions fail now and did not before."""
        return sum(each.state == "lost" for each in self.changed)

    @property
    def summary(self) -> str:
        """Returns the counts in a sentence."""
        gained = sum(each.state == "gained" for each in self.changed)
        parts = [f"{len(self.changed):,} of {counted(self.questions, 'question')} have another answer"]
        parts += [f"{self.lost:,} lost theirs"] if self.lost else []
        parts += [f"{gained:,} gained one"] if gained else []
        parts += [f"{self.left_out:,} were asked in one run alone"] if self.left_out else []
        return ", ".join(parts)

    def as_json(self) -> dict[str, Any]:
        """Returns the JSON document."""
        return {
            "questions": self.questions,
            "left_out": self.left_out,
            "lost": self.lost,
            "changed": [each.as_json() for each in self.changed],
            "differences": {name: asdict(difference) for name, difference in self.differences.items()},
        }

    def markdown(self) -> str:
        """Returns the report, which is also the comment of a pull request."""
        rows = [
            f"| {each.state} | {_escaped(each.after.question.query)} | {_cell(each.before)} | {_cell(each.after)} |"
            for each in self.changed[:_LINES]
        ]
        table = ["", "| | Question | Before | Now |", "|---|---|---|---|", *rows] if rows else []
        more = len(self.changed) - _LINES
        figures = ["", "| | Before | Now | Change | 95 % | p | Higher | Lower |", "|---" * 8 + "|"]
        figures += [f"| {name} | {difference} |" for name, difference in self.differences.items()]
        lines = [f"**Search**: {self.summary}.", *table, *(["", f"and {more:,} more"] if more > 0 else []), *figures]
        return "\n".join(lines) + "\n"


def compared(before: Run, after: Run) -> Comparison:
    """Compares the answers question by question; one with other expected ids counts as another question."""
    if (before.k, before.tool) != (after.k, after.tool):
        raise Invalid("The runs do not measure the same: give both the same --k and --tool")
    old, new = _by_question(before), _by_question(after)
    pairs = [(old[key], new[key]) for key in new if key in old]
    changed = []
    for one, other in pairs:
        failed, fails = one.failure(before.k) is not None, other.failure(after.k) is not None
        if failed != fails or _id(one) != _id(other):
            changed.append(ChangedAnswer(one, other, "changed" if failed == fails else "lost" if fails else "gained"))
    order = ("lost", "changed", "gained")
    changed.sort(key=lambda each: order.index(each.state))
    return Comparison(tuple(changed), _differences(pairs, after.k), len(pairs), len(old) + len(new) - 2 * len(pairs))


def _differences(pairs: Sequence[tuple[Answer, Answer]], k: int) -> dict[str, MeanDifference]:
    old, new = values([one for one, _ in pairs], k), values([other for _, other in pairs], k)
    found = {}
    for name in dict.fromkeys(name for each in new for name in each):
        both = [(one[name], other[name]) for one, other in zip(old, new, strict=True) if name in one and name in other]
        if difference := mean_difference([one for one, _ in both], [other for _, other in both]):
            found[name] = difference
    return found


def mean_difference(before: Sequence[float], after: Sequence[float]) -> MeanDifference | None:
    """Compares the values of the same questions before and after; returns None without questions.

    The interval is of the bootstrap's percentiles. The p-value is of a randomization test over the signs of the
    changes: Smucker, Allan, Carterette: A comparison of statistical significance tests for information retrieval
    evaluation, CIKM 2007.
    """
    changes = [new - old for old, new in zip(before, after, strict=True)]
    if not changes:
        return None
    n, mean = len(changes), fsum(changes) / len(changes)
    low, high, p = mean, mean, 1.0
    moved = [change for change in changes if change]
    if moved:
        # These imports take a second.
        import numpy as np
        from scipy.stats import bootstrap, permutation_test

    if len(moved) > 1:
        # Questions that did not change have no sign.
        p = float(permutation_test((moved,), np.sum, permutation_type="samples", n_resamples=_FLIPS, rng=_SEED).pvalue)
    if len(set(changes)) > 1:
        drawn = bootstrap((changes,), np.mean, method="percentile", n_resamples=_RESAMPLES, rng=_SEED)
        low, high = map(float, drawn.confidence_interval)
    higher, lower = sum(change > 0 for change in moved), sum(change < 0 for change in moved)
    return MeanDifference(fsum(before) / n, fsum(after) / n, mean, low, high, p, higher, lower, n)


def _by_question(run: Run) -> dict[tuple[str, frozenset[str] | None], Answer]:
    def gold(answer: Answer) -> frozenset[str] | None:
        return None if answer.question.gold is None else frozenset(answer.question.gold)

    return {(answer.question.query, gold(answer)): answer for answer in run.answers}


def _id(answer: Answer) -> str | None:
    return answer.opened.id if answer.opened else None


def _cell(answer: Answer) -> str:
    if answer.opened is None:
        return "no good match"
    title = _escaped(answer.opened.title or answer.opened.id)
    return f"[{title}](<{answer.opened.url}>)" if answer.opened.url else title


def _escaped(text: str) -> str:
    """Returns a text as Markdown shows it: questions and titles are somebody's, and are no markup."""
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>#|@!~&" else letter for letter in " ".join(text.split()))
