"""The rules of reading that are data: elements, names of classes and ids, and words, from `rules.toml`."""

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


def names(key: str) -> frozenset[str]:
    """Returns a set of names."""
    return frozenset(_rules()[key])


def table(key: str) -> dict[str, str]:
    """Returns a table of names."""
    return dict(_rules()[key])


def pattern(key: str, flags: int = 0) -> re.Pattern[str]:
    """Returns a regular expression, whose parts are on lines of their own."""
    return re.compile("".join(_rules()[key]), flags)


@cache
def _rules() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("rules.toml").read_text("utf-8"))
