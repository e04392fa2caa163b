"""Many items in portions or in turn; many actions, of which one that fails stops no other; work nobody waits for."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from sakuin.errors import SakuinError

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_portions(
    items: Iterable[Item], size_of: Callable[[Item], int], is_too_large: Callable[[int, int], bool]
) -> Iterator[list[Item]]:
    """Yields the items in order, in portions that are not too large, or of one item.

    `is_too_large` is asked for the number of items and the sum of their sizes.
    """
    portion: list[Item] = []
    total = 0
    for item in items:
        size = size_of(item)
        if portion and is_too_large(len(portion) + 1, total + size):
            yield portion
            portion, total = [], 0
        portion.append(item)
        total += size
    if portion:
        yield portion


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


def rotated(items: Sequence[Item], minutes: float) -> list[Item]:
    """Returns the items in order from another first one each minute, so that slow ones do not starve the others."""
    first = int(minutes) % len(items) if items else 0
    return [*items[first:], *items[:first]]


def in_thread(work: Callable[[], None], *, name: str = __name__) -> Callable[[], bool]:
    """Starts work and returns at once: whether it still runs.

    Lambda stops it when the answer is sent, and continues it with the next request of this worker.
    """
    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread.is_alive
