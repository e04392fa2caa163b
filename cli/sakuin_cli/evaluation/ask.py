"""Every labelled question in every variant, and an explanation of what went wrong."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, TypeVar

from sakuin.errors import Invalid, Unavailable
from sakuin.explain.explanation import ExplainedHit, hit_of

from sakuin_cli.client import DeploymentClient
from sakuin_cli.evaluation.figures import Asked
from sakuin_cli.evaluation.labels import BadLine, LabelledQuestion
from sakuin_cli.evaluation.measures import DEPTH
from sakuin_cli.evaluation.run import Failure, FailureKind, Run
from sakuin_cli.evaluation.variants import WHOLE_PIPELINE, Variant, changes
from sakuin_cli.terminal import OnProgress

# As many as a local stack lets through at once.
_AT_ONCE = 3
_PAUSES_BETWEEN_TRIES = (1.0, 3.0)
_SHOWN = 3

Explanation = Mapping[str, Any]
Item = TypeVar("Item")


def ask_all(
    client: DeploymentClient,
    questions: Sequence[LabelledQuestion],
    *,
    tool: str | None,
    k: int,
    variants: Sequence[Variant] = (),
    index: str | None = None,
    on_progress: OnProgress = lambda _phase, _done, _total: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Run:
    """Asks the questions in the whole pipeline and in `variants`. A question that cannot be asked becomes a bad line.

    `on_progress` counts the questions of all variants together. `index` names an index; None is the one that answers.
    `sleep` waits between two tries where the deployment does not answer.
    """
    ask = _Ask(client, tool, k, index, sleep)
    numbers, total = count(1), len(questions) * (1 + len(variants))

    def counted(items: Iterable[Item]) -> Iterator[Item]:
        for item in items:
            on_progress("asked", next(numbers), total)
            yield item

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        first = list(counted(pool.map(lambda one: ask(one, expected=next(iter(one.gold), None)), questions)))
        answered = [(one, given) for one, given in zip(questions, first, strict=True) if not isinstance(given, BadLine)]
        answers = {WHOLE_PIPELINE.name: tuple(_asked(given) for _, given in answered)}
        for variant in variants:
            again = pool.map(partial(ask.in_variant, variant), answered)
            answers[variant.name] = tuple(map(_asked, counted(again)))
        failures = tuple(pool.map(lambda pair: _failure(ask, *pair), answered))
    states = (given["index_state"] for _, given in answered)
    return Run(
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
    """Asks one question, and again where the deployment does not answer."""

    client: DeploymentClient
    tool: str | None
    k: int
    index: str | None
    sleep: Callable[[float], None]

    def __call__(
        self, question: LabelledQuestion, variant: Variant = WHOLE_PIPELINE, *, expected: str | None = None
    ) -> Explanation | BadLine:
        for pause in _PAUSES_BETWEEN_TRIES:
            try:
                return self._once(question, variant, expected)
            except Unavailable:
                self.sleep(pause)
        return self._once(question, variant, expected)

    def in_variant(self, variant: Variant, answered: tuple[LabelledQuestion, Explanation]) -> Explanation:
        """The answer in a variant: the whole pipeline's, where the variant cannot change it."""
        question, given = answered
        if not changes(variant, given["understood"]):
            return given
        again = self(question, variant)
        return given if isinstance(again, BadLine) else again

    def _once(self, question: LabelledQuestion, variant: Variant, expected: str | None) -> Explanation | BadLine:
        try:
            explanation = self.client.explain(
                question.query,
                tool=self.tool,
                expected=expected,
                top_k=self.k,
                depth=max(self.k, DEPTH),
                legs=variant.mode,
                without=() if variant.without is None else (variant.without,),
                index=self.index,
            )
        except Invalid as error:
            return BadLine(question.line, str(error))
        if degraded := explanation.get("degraded"):
            # Half a search measures nothing.
            raise Unavailable(degraded)
        return explanation


def _asked(explanation: Explanation) -> Asked:
    return Asked(tuple(hit["id"] for hit in explanation["results"]), bool(explanation["refused"]))


def _failure(ask: _Ask, question: LabelledQuestion, given: Explanation) -> Failure | None:
    """What went wrong with a question; None if nothing did."""
    kind, missing = _kind(question, _asked(given), ask.k)
    # A Search Tool refuses nothing, so that an answer is no failure.
    if kind is None or (kind == "answered" and given["threshold"] is None):
        return None
    shown = tuple(map(hit_of, given["results"][:_SHOWN]))
    if missing is None:
        return Failure(question, kind, shown, None, _why_answered(shown, given["threshold"]))
    explained = given["expected"]
    if explained is None or explained["id"] != missing:
        again = ask(question, expected=missing)
        explained = {"why": again.reason} if isinstance(again, BadLine) else again["expected"]
    return Failure(question, kind, shown, missing, explained["why"])


def _kind(question: LabelledQuestion, asked: Asked, k: int) -> tuple[FailureKind | None, str | None]:
    """How a question failed, and the right id to ask about."""
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
    return f"「{best.title}」 has a similarity of {best.similarity:.2f}, which is at least {threshold:.2f}."
