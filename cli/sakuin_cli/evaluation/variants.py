"""In which ways a question is asked, so that each part of the search shows what it is worth."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from sakuin.language.model import Rule
from sakuin.retrieval.vectors import SearchMode


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to ask."""

    name: str
    mode: SearchMode = "both"
    without: Rule | None = None


RULES: tuple[Rule, ...] = get_args(Rule)

# What an agent gets: a refused question found nothing. The other variants are judged by their order alone, since
# the threshold is made for both legs together.
AGENT = "agent"
WHOLE_PIPELINE = Variant("both legs")
LEGS = (Variant("words only", mode="words"), Variant("vectors only", mode="vectors"))
# Rules that leave a step wherever they change a question, by that step's name. The others may change it in silence.
_LEAVE_STEPS = {"notation", "reduction", "rewriting", "typos", "examples"}
ABLATIONS = tuple(Variant(f"without {rule}", without=rule) for rule in RULES)


def changes(variant: Variant, understood: Mapping[str, Any]) -> bool:
    """Whether a question may get another answer in a variant: not if its rule did nothing to it.

    `understood` is how the whole pipeline understood it, as it travels.
    """
    steps: Iterable[Mapping[str, Any]] = understood["steps"]
    if variant.without == "readings":
        return any(slot["kind"] == "reading" for slot in understood["slots"])
    return variant.without not in _LEAVE_STEPS or any(step["rule"] == variant.without for step in steps)
