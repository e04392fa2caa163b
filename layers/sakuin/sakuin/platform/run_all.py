"""Runs actions: many, of which one that fails does not stop the others, and one that nobody waits for."""

import threading
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


def in_thread(work: Callable[[], None], *, name: str = __name__) -> Callable[[], bool]:
    """Starts work and returns at once: whether it still runs.

    Lambda stops it when the answer is sent, and continues it with the next request of this worker.
    """
    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread.is_alive
