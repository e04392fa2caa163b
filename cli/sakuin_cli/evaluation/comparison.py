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


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """The means of `n` questions before and after; `higher` and `lower` count the questions that changed."""

    before: float
    after: float
    higher: int
    lower: int
    n: int

    def __str__(self) -> str:
        """Returns the cells of a table."""
        return f"{self.before:.3f} | {self.after:.3f} | {self.after - self.before:+.3f} | {self.higher} | {self.lower}"


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
        figures = ["", "| | Before | Now | Change | Higher | Lower |", "|---" * 6 + "|"]
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
    """Compares the values of the same questions before and after; returns None without questions."""
    if not before:
        return None
    pairs, n = list(zip(before, after, strict=True)), len(before)
    higher, lower = (sum(new > old for old, new in pairs), sum(new < old for old, new in pairs))
    return MeanDifference(fsum(before) / n, fsum(after) / n, higher, lower, n)


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
