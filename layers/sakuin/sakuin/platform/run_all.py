"""Runs many actions; one that fails does not stop the others."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from sakuin.errors import SakuinError

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_all(
    items: Iterable[Item], act: Callable[[Item], Result], *, is_over: Callable[[], bool] = lambda: False
) -> list[Result]:
    """Returns the results, until it `is_over`. The first error is raised after all items."""
    done: list[Result] = []
    failures: list[SakuinError] = []
    for item in items:
        if is_over():
            break
        try:
            done.append(act(item))
        except SakuinError as error:
            failures.append(error)
    if failures:
        raise failures[0]
    return done
