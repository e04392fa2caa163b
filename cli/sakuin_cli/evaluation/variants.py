"""Variants of the search that show the contribution of each of its parts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from sakuin.language.model import Rule
from sakuin.retrieval.vectors import SearchMode


@dataclass(frozen=True, slots=True)
class Variant:
    """A search mode, or the whole pipeline without one rule."""

    name: str
    mode: SearchMode = "both"
    without: Rule | None = None


RULES: tuple[Rule, ...] = get_args(Rule)

# What an agent gets: a refused question has no results. In single modes only the order is measured, since the
# threshold is calibrated for the hybrid search.
AGENT = "agent"
WHOLE_PIPELINE = Variant("both legs")
SINGLE_MODES = (Variant("words only", mode="words"), Variant("vectors only", mode="vectors"))
# Rules that record a step whenever they change a question; the other rules can change it without a step.
_LEAVE_STEPS = {"notation", "reduction", "rewriting", "typos", "examples"}
ABLATIONS = tuple(Variant(f"without {rule}", without=rule) for rule in RULES)


def changes(variant: Variant, understood: Mapping[str, Any]) -> bool:
    """Returns whether a variant can change the answer: not if its rule did not change the question.

    `understood` is the JSON of the question as the whole pipeline analyzed it.
    """
    steps: Iterable[Mapping[str, Any]] = understood["steps"]
    if variant.without == "readings":
        return any(slot["kind"] == "reading" for slot in understood["slots"])
    return variant.without not in _LEAVE_STEPS or any(step["rule"] == variant.without for step in steps)
