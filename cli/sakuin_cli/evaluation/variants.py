"""The variants of the search, to measure what each part contributes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from sakuin.language.model import Rule
from sakuin.retrieval.vectors import SearchMode


@dataclass(frozen=True, slots=True)
class Variant:
    """One variant of the search."""

    name: str
    mode: SearchMode = "both"
    without: Rule | None = None


RULES: tuple[Rule, ...] = get_args(Rule)

# An agent's answers: a refused question has the nearest results alone. The other variants measure the ranking alone,
# because an agent gets both searches together.
AGENT = "agent"
WHOLE_PIPELINE = Variant("both legs")
SINGLE_MODES = (Variant("words only", mode="words"), Variant("vectors only", mode="vectors"))
# Rules that record a step whenever they change a question. The others may change it without one.
_LEAVE_STEPS = {"notation", "rewriting", "typos", "examples"}
ABLATIONS = tuple(Variant(f"without {rule}", without=rule) for rule in RULES)


def changes(variant: Variant, understood: Mapping[str, Any]) -> bool:
    """Returns whether the answer may differ in a variant: not if its rule did not change the question.

    `understood` is the analysis of the whole pipeline, as JSON.
    """
    steps: Iterable[Mapping[str, Any]] = understood["steps"]
    return variant.without not in _LEAVE_STEPS or any(step["rule"] == variant.without for step in steps)
