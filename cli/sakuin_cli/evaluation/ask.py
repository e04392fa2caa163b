"""Asks every labelled question, also of single legs of the search, and explains failures."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import count
from types import MappingProxyType
from typing import Any, TypeVar

from sakuin.errors import Invalid, Unavailable
from sakuin.explain.explanation import ExplainedHit, hit_of
from sakuin.retrieval.vectors import SearchMode

from sakuin_cli.client import DeploymentClient
from sakuin_cli.evaluation.figures import DEPTH, Answer
from sakuin_cli.evaluation.labels import BadLine, LabelledQuestion
from sakuin_cli.evaluation.run import BOTH, EvaluationRun, FailedQuestion, FailureKind
from sakuin_cli.terminal import OnProgress

# As many as a local stack answers at once.
_AT_ONCE = 3
_PAUSES = (1.0, 3.0)
_SHOWN = 3

Explanation = Mapping[str, Any]
Item = TypeVar("Item")


def ask_all(
    client: DeploymentClient,
    questions: Sequence[LabelledQuestion],
    *,
    tool: str | None,
    k: int,
    legs: Mapping[str, SearchMode] = MappingProxyType({}),
    index: str | None = None,
    on_progress: OnProgress = lambda _phase, _done, _total: None,
    sleep: Callable[[float], None] = time.sleep,
) -> EvaluationRun:
    """Asks the questions, and again of single `legs` by name. A question that is not valid becomes a bad line.

    `on_progress` counts the questions of all. `index` names an index version; None is the live one. `sleep`
    waits between two attempts while the deployment does not answer.
    """
    ask = _Ask(client, tool, k, index, sleep)
    numbers, total = count(1), len(questions) * (1 + len(legs))

    def counted(items: Iterable[Item]) -> Iterator[Item]:
        for item in items:
            on_progress("asked", next(numbers), total)
            yield item

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        first = list(counted(pool.map(lambda one: ask(one, expected=next(iter(one.gold), None)), questions)))
        answered = [(one, given) for one, given in zip(questions, first, strict=True) if not isinstance(given, BadLine)]
        answers = {BOTH: tuple(_answer(given) for _, given in answered)}
        for name, mode in legs.items():
            again = pool.map(partial(ask.of_leg, mode), answered)
            answers[name] = tuple(map(_answer, counted(again)))
        failures = tuple(pool.map(lambda pair: _failure(ask, *pair), answered))
    states = (given["index_state"] for _, given in answered)
    return EvaluationRun(
        tool=tool,
        k=k,
        questions=tuple(one for one, _ in answered),
        answers=answers,
        failures=tuple(one for one in failures if one is not None),
        bad_lines=tuple(given for given in first if isinstance(given, BadLine)),
        index_state=next((state for state in states if state not in (None, "ready")), None),
    )


@dataclass(frozen=True, slots=True)
class _Ask:
    """Asks one question, and retries while the deployment does not answer."""

    client: DeploymentClient
    tool: str | None
    k: int
    index: str | None
    sleep: Callable[[float], None]

    def __call__(
        self, question: LabelledQuestion, mode: SearchMode = "both", *, expected: str | None = None
    ) -> Explanation | BadLine:
        for pause in _PAUSES:
            try:
                return self._once(question, mode, expected)
            except Unavailable:
                self.sleep(pause)
        return self._once(question, mode, expected)

    def of_leg(self, mode: SearchMode, answered: tuple[LabelledQuestion, Explanation]) -> Explanation:
        """Returns the answer of one leg of the search."""
        question, given = answered
        again = self(question, mode)
        return given if isinstance(again, BadLine) else again

    def _once(self, question: LabelledQuestion, mode: SearchMode, expected: str | None) -> Explanation | BadLine:
        try:
            explanation = self.client.explain(
                question.query,
                tool=self.tool,
                expected=expected,
                top_k=self.k,
                depth=max(self.k, DEPTH),
                legs=mode,
                index=self.index,
            )
        except Invalid as error:
            return BadLine(question.line, str(error))
        if degraded := explanation.get("degraded"):
            # A degraded search is no measurement.
            raise Unavailable(degraded)
        return explanation


def _answer(explanation: Explanation) -> Answer:
    understood = explanation["understood"]
    known = understood.get("known")
    changed = len(understood["changed"]) / len(known) if known else None
    return Answer(tuple(hit["id"] for hit in explanation["results"]), bool(explanation["refused"]), changed)


def _failure(ask: _Ask, question: LabelledQuestion, given: Explanation) -> FailedQuestion | None:
    """Returns the failure of a question, None if there is none."""
    kind, missing = _kind(question, _answer(given), ask.k)
    if kind is None:
        return None
    shown = tuple(map(hit_of, given["results"][:_SHOWN]))
    if missing is None:
        return FailedQuestion(question, kind, shown, None, _why_answered(shown, given["threshold"]))
    explained = given["expected"]
    if explained is None or explained["id"] != missing:
        again = ask(question, expected=missing)
        explained = {"why": again.reason} if isinstance(again, BadLine) else again["expected"]
    return FailedQuestion(question, kind, shown, missing, explained["why"])


def _kind(question: LabelledQuestion, asked: Answer, k: int) -> tuple[FailureKind | None, str | None]:
    """Returns how a question failed, and the relevant id to explain."""
    if not question.gold:
        return (None, None) if asked.refused else ("answered", None)
    if asked.refused:
        return "refused", question.gold[0]
    missing = [id for id in question.gold if id not in asked.ranking[:k]]
    if not missing:
        return None, None
    return ("missed" if len(missing) == len(question.gold) else "partly"), missing[0]


def _why_answered(shown: Sequence[ExplainedHit], threshold: float) -> str:
    best = shown[0]
    return f'"{best.title}" has an evidence of {best.evidence:.1f}, which is at least {threshold:.1f}.'
