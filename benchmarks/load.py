"""A sustained mix of uploads, edits, deletes and searches; what it cost, what failed, and what was lost."""

import random
import sys
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.stack import Stack, quantile
from benchmarks.traffic import Traffic

REST_SECONDS = 300
# The searches of four agents; edits as fast as two cores embed them.
SEARCHERS = 4


@dataclass(frozen=True, slots=True)
class Habit:
    """What somebody does, and how long he waits until he does it again, on average."""

    act: Callable[[], object]
    seconds: float


def main(minutes: float) -> None:
    """Runs the mix for so long, waits until the stack rests, and says what was seen; exit 1 on any failure."""
    traffic = Traffic(Stack(), f"load-{uuid.uuid4().hex[:8]}")
    traffic.make_table()
    end = time.monotonic() + minutes * 60
    # One author, so that what he said last is what must be found; the platform is the author of the Table.
    people = [Habit(lambda: author(traffic), 1.0), Habit(traffic.edit_table, 15.0)]
    people += [Habit(traffic.search, 0.5)] * SEARCHERS + [Habit(traffic.search_table, 1.0)] * (SEARCHERS // 2)
    threads = [threading.Thread(target=lives, args=(habit, end), daemon=True) for habit in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rested = traffic.rested(REST_SECONDS, lambda said: print("differs:", said))
    waiting = traffic.waiting()
    report(traffic, minutes, rested, waiting)
    sys.exit(bool(traffic.seen.errors or rested is None or waiting))


def author(traffic: Traffic) -> None:
    """Mostly writes; one page in twenty goes."""
    if random.random() < 0.05:
        traffic.delete()
    else:
        traffic.upload()


def lives(habit: Habit, end: float) -> None:
    """Does it again and again until then."""
    while time.monotonic() < end:
        habit.act()
        time.sleep(random.expovariate(1 / habit.seconds))


def report(traffic: Traffic, minutes: float, rested: float | None, waiting: dict[str, int]) -> None:
    """For people."""
    seen = traffic.seen
    print(f"{minutes:g} minutes, {len(traffic.pages)} pages, {sum(traffic.nodes)} edits of the Table")
    for kind, times in sorted(seen.milliseconds.items()):
        p50, p99 = quantile(times, 0.5), quantile(times, 0.99)
        print(f"{kind:12} {len(times):6} calls  p50 {p50:6.0f} ms  p99 {p99:6.0f} ms")
    calls = sum(map(len, seen.milliseconds.values())) + len(seen.errors)
    print(f"errors: {len(seen.errors)} of {calls}; answers by words alone: {seen.degraded}")
    for error in seen.errors[:10]:
        print("  ", error)
    print("nothing is lost" if rested is not None else "the index differs from what was written")
    if rested is not None:
        print(f"at rest {rested:.1f} s after the last upload; messages left: {waiting or 'none'}")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 15)
