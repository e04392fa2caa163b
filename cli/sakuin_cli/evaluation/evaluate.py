"""Labelled questions become a run: every question asked in every variant, and what went wrong explained."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from sakuin.domain.evaluation.explanation import ExplainedHit, hit_of
from sakuin.errors import Invalid, Unavailable

from sakuin_cli.evaluation.figures import Asked
from sakuin_cli.evaluation.labels import BadLine, LabelledQuestion
from sakuin_cli.evaluation.measures import DEPTH
from sakuin_cli.evaluation.run import Failure, FailureKind, Run
from sakuin_cli.evaluation.variants import WHOLE_PIPELINE, Variant, changes
from sakuin_cli.ports import DeployedExplanations

# As many as a local stack lets through at once.
_AT_ONCE = 3
# Between tries, in seconds.
_NAPS = (1.0, 3.0)
_SHOWN = 3

Said = Mapping[str, Any]
Told = Callable[[int, int], None]
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Evaluate:
    """Asks a deployment as its keeper. `sleep` waits between tries where it does not answer."""

    deployed: DeployedExplanations
    sleep: Callable[[float], None]

    def __call__(
        self,
        questions: Sequence[LabelledQuestion],
        *,
        tool: str | None,
        k: int,
        variants: Sequence[Variant] = (),
        told: Told = lambda done, total: None,
        index: str | None = None,
    ) -> Run:
        """The run with the whole pipeline and `variants`. A question that is refused as unfit becomes a bad line.

        `told` hears how many of how many questions have been asked, in all variants together. `index` names one that
        is kept; None is the one that answers.
        """
        ask = _Ask(self.deployed, self.sleep, tool, k, index)
        count = _counting(told, len(questions) * (1 + len(variants)))
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            first = list(count(pool.map(lambda one: ask(one, expected=next(iter(one.gold), None)), questions)))
            fit = [(one, said) for one, said in zip(questions, first, strict=True) if not isinstance(said, BadLine)]
            answers = {WHOLE_PIPELINE.name: tuple(_asked(said) for _, said in fit)}
            for variant in variants:
                again = pool.map(partial(ask.in_variant, variant), fit)
                answers[variant.name] = tuple(map(_asked, count(again)))
            failures = tuple(pool.map(lambda pair: _failure(ask, *pair), fit))
        return Run(
            tool=tool,
            k=k,
            questions=tuple(one for one, _ in fit),
            answers=answers,
            failures=tuple(one for one in failures if one is not None),
            bad_lines=tuple(said for said in first if isinstance(said, BadLine)),
            index_state=next((state for _, said in fit if (state := said["index_state"]) not in (None, "ready")), None),
        )


@dataclass(frozen=True, slots=True)
class _Ask:
    """Asks one question, and again where the deployment does not answer."""

    deployed: DeployedExplanations
    sleep: Callable[[float], None]
    tool: str | None
    k: int
    index: str | None = None

    def __call__(
        self, question: LabelledQuestion, variant: Variant = WHOLE_PIPELINE, *, expected: str | None = None
    ) -> Said | BadLine:
        for nap in _NAPS:
            try:
                return self._once(question, variant, expected)
            except Unavailable:
                self.sleep(nap)
        return self._once(question, variant, expected)

    def in_variant(self, variant: Variant, answered: tuple[LabelledQuestion, Said]) -> Said:
        """The answer in a variant: the whole pipeline's, where it cannot be another."""
        question, said = answered
        if not changes(variant, said["understood"]):
            return said
        again = self(question, variant)
        return said if isinstance(again, BadLine) else again

    def _once(self, question: LabelledQuestion, variant: Variant, expected: str | None) -> Said | BadLine:
        try:
            said = self.deployed.explain(
                question.query,
                tool=self.tool,
                expected=expected,
                top_k=self.k,
                depth=max(self.k, DEPTH),
                legs=variant.legs,
                without=() if variant.without is None else (variant.without,),
                index=self.index,
            )
        except Invalid as error:
            return BadLine(question.line, str(error))
        if degraded := said.get("degraded"):
            # Half a search measures nothing.
            raise Unavailable(degraded)
        return said


def _counting(told: Told, total: int) -> Callable[[Iterable[Item]], Iterator[Item]]:
    done = 0

    def counted(items: Iterable[Item]) -> Iterator[Item]:
        nonlocal done
        for item in items:
            done += 1
            told(done, total)
            yield item

    return counted


def _asked(said: Said) -> Asked:
    return Asked(tuple(hit["id"] for hit in said["results"]), bool(said["refused"]))


def _failure(ask: _Ask, question: LabelledQuestion, said: Said) -> Failure | None:
    """What went wrong with a question; None if nothing did."""
    kind, missing = _kind(question, _asked(said), ask.k)
    # A Search Tool refuses nothing, so that an answer is no failure.
    if kind is None or (kind == "answered" and said["threshold"] is None):
        return None
    shown = tuple(map(hit_of, said["results"][:_SHOWN]))
    if missing is None:
        return Failure(question, kind, shown, None, _why_answered(shown, said["threshold"]))
    explained = said["expected"]
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
