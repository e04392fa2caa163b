"""One run: the questions, their answers in each variant, and the failures."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from sakuin.errors import Invalid
from sakuin.explain.explanation import ExplainedHit
from sakuin.retrieval.vectors import SearchMode

from sakuin_cli.evaluation.figures import Answer, Group, View, groups, values
from sakuin_cli.evaluation.labels import BadLine, LabelledQuestion
from sakuin_cli.evaluation.statistics import MeanDifference, Resamples, mean_difference

_FORMAT = 1

# An agent's answers: a refused question has the nearest results alone. The other variants measure the ranking, of both
# legs of the search and of each alone.
AGENT, BOTH = "agent", "both legs"
SINGLE_LEGS: Mapping[str, SearchMode] = {"words only": "words", "vectors only": "vectors"}

# missed    none of the relevant ids is among the first k
# partly    only some of them are
# refused   the index refuses a question that has an answer
# answered  the index answers a question that has none
FailureKind = Literal["missed", "partly", "refused", "answered"]


@dataclass(frozen=True, slots=True)
class FailedQuestion:
    """A failed question: the first results, a relevant id that is missing, and why."""

    question: LabelledQuestion
    kind: FailureKind
    shown: tuple[ExplainedHit, ...]
    expected: str | None
    why: str


@dataclass(frozen=True, slots=True)
class EvaluationRun:
    """The answers to `questions`, by variant one `Answer` per question. `tool` None is `search_knowledge`.

    `index_state` is set if the index of a tool was not ready during the run.
    """

    tool: str | None
    k: int
    questions: tuple[LabelledQuestion, ...]
    answers: Mapping[str, tuple[Answer, ...]]
    failures: tuple[FailedQuestion, ...] = ()
    bad_lines: tuple[BadLine, ...] = ()
    index_state: str | None = None

    @property
    def name(self) -> str:
        return self.tool or "search_knowledge"

    def figures(self, resamples: Resamples) -> dict[str, list[Group]]:
        """Returns the figures of each variant; the first is an agent's answers."""
        asked = {AGENT: self.answers[BOTH], **self.answers}
        return {
            name: groups(self.questions, answers, k=self.k, view=self.view(name), resamples=resamples)
            for name, answers in asked.items()
        }

    def view(self, variant: str) -> View:
        """Returns what is measured in a variant."""
        # An agent gets both searches together.
        if variant in SINGLE_LEGS:
            return "order"
        return "agent" if variant == AGENT else "order and refusals"

    def as_json(self) -> dict[str, Any]:
        return {"format": _FORMAT, **asdict(self)}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The change of each measure over the questions of both runs; `left_out` counts those of one run only."""

    differences: Mapping[str, MeanDifference]
    left_out: int


def run_in(text: str) -> EvaluationRun:
    """Parses a saved run; raises `Invalid`."""
    from pydantic import TypeAdapter

    try:
        saved = json.loads(text)
        run = TypeAdapter(EvaluationRun).validate_python(saved)
        is_whole = BOTH in run.answers
        is_whole = is_whole and all(len(given) == len(run.questions) for given in run.answers.values())
        if saved["format"] != _FORMAT or not is_whole:
            raise ValueError("another format, or cut short")
    except (ValueError, KeyError) as error:
        raise Invalid("Not a saved run: give a file that `sakuin eval --save` has written") from error
    return run


def compared(before: EvaluationRun, after: EvaluationRun, resamples: Resamples) -> Comparison:
    """Compares the answers of an agent, question by question; a question with other ids counts as another one."""
    if before.k != after.k:
        raise Invalid(f"The saved run was made with --k {before.k}: give the same to compare")
    if before.tool != after.tool:
        raise Invalid(f"The saved run asked {before.name}, not {after.name}")
    old, new = _values(before), _values(after)
    both = [key for key in new if key in old]
    names = dict.fromkeys(name for key in both for name in new[key])
    found = {}
    for name in names:
        pairs = [(old[key][name], new[key][name]) for key in both if name in old[key] and name in new[key]]
        if (change := mean_difference([one for one, _ in pairs], [two for _, two in pairs], resamples)) is not None:
            found[name] = change
    return Comparison(found, len(old) + len(new) - 2 * len(both))


def _values(run: EvaluationRun) -> dict[tuple[str, frozenset[str]], dict[str, float]]:
    answers: Sequence[Answer] = run.answers[BOTH]
    return {
        (question.query, frozenset(question.gold)): values(question, asked, k=run.k, view=run.view(AGENT))
        for question, asked in zip(run.questions, answers, strict=True)
    }
