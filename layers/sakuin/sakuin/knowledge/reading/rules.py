"""The rules of reading that are data: elements, names of classes and ids, words and patterns, from `rules.toml`."""

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

NAMED = re.compile(r"\(\?&(\w+)\)")


def names(key: str) -> frozenset[str]:
    """Returns a set of names."""
    return frozenset(_rules()[key])


def table(key: str) -> dict[str, str]:
    """Returns a table of names."""
    return dict(_rules()[key])


def pattern(key: str) -> re.Pattern[str]:
    """Returns a regular expression. It may be in several parts, and `(?&name)` is the expression of that name."""
    return re.compile(_expression(key))


def _expression(key: str) -> str:
    return NAMED.sub(lambda name: _expression(name[1]), "".join(_rules()[key]))


@cache
def _rules() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("rules.toml").read_text("utf-8"))
