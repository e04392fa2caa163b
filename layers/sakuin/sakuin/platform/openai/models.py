"""What is known of OpenAI's models: prices, the end of their service, and how little they can reason."""

import tomllib
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files

VENDORS = files("sakuin").joinpath("vendors.toml")


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A model. `shutdown` is the first day without it; `replacement` is what its vendor recommends then.

    `least_reasoning` is the smallest `reasoning_effort` that it accepts; None if it does not reason. The prices are US
    dollars per million tokens; None if unknown.
    """

    name: str
    usd_read: float | None = None
    usd_written: float | None = None
    least_reasoning: str | None = None
    shutdown: date | None = None
    replacement: str | None = None


@cache
def models() -> tuple[ModelFacts, ...]:
    rows = tomllib.loads(VENDORS.read_text(encoding="utf-8"))["model"]
    names = ModelFacts.__dataclass_fields__
    return tuple(ModelFacts(**{name: value for name, value in row.items() if name in names}) for row in rows)


def model_facts(name: str) -> ModelFacts:
    """Returns what is known of a model; of an unknown one its name alone."""
    return next((each for each in models() if each.name == name), ModelFacts(name))
