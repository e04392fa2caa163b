"""The running stack: how long a cold worker takes, and an uploaded page until a search finds it.

No peer does this; a figure is compared with another one of the same run.
"""

import time
from collections.abc import Iterator, Sequence

from benchmarks.__main__ import running_stack
from benchmarks.cold_start import emulator_program, measured
from benchmarks.comparison.measure import Row, Run, Section, Spread
from benchmarks.searching import PAGE, waits_for_answers, waits_for_pages
from benchmarks.stack import Stack

STARTS = 3
UPLOADS = 5
BACKLOG = 30
SEARCHES = 20


def sections(_run: Run) -> Iterator[Section]:
    """Yields both answers, from one stack with the samples."""
    with running_stack() as folder:
        stack = Stack(folder)
        searches, lists = waits_for_answers(stack, SEARCHES)
        yield _cold_starts(stack)
        alone = waits_for_pages(stack, UPLOADS)
        for number in range(BACKLOG):
            stack.put(f"benchmark/backlog-{number}.html", PAGE.format(number=1000 + number))
        behind = waits_for_pages(stack, 1)
        waits = {"alone": alone, f"behind {BACKLOG} pages": behind}
        times = {name: [seconds * 1000 for seconds in some] for name, some in waits.items()}
        remark = f"{UPLOADS} pages, one after another; then one right after {BACKLOG} more. The local model embeds all."
        yield _section("freshness", "Upload to searchable", remark, times, "alone")
        remark = "What remains beside `tools/list` is the search; local functions stand in for Lambda."
        yield _section(
            "freshness", "A search on the stack", remark, {"search": searches, "tools/list": lists}, "search"
        )


def _cold_starts(stack: Stack) -> Section:
    title = "Cold start of the function mcp"
    try:
        emulator_program()
    except SystemExit as error:
        return Section("starts", title, f"Left out. {error}", "ms", ())
    began = time.perf_counter()
    starts = measured(stack, STARTS)
    times = {
        "a search then": [answer for start in starts for answer in start.answers[1:]],
        "INIT": [start.init for start in starts],
        "first search": [start.answers[0] for start in starts],
    }
    remark = f"Under Lambda's runtime emulator, {STARTS} starts in {time.perf_counter() - began:.0f} s."
    return _section("starts", title, remark, times, "a search then")


def _section(name: str, title: str, remark: str, times: dict[str, Sequence[float]], beside: str) -> Section:
    """Compares medians: these times are of different events."""
    one = Spread.of(times[beside]).median
    spreads = {key: Spread.of(some) for key, some in times.items()}
    ratios = {key: Spread(each.median / one, each.low / one, each.high / one) for key, each in spreads.items()}
    rows = [Row(key, "", spreads[key], ratios[key]) for key in times]
    return Section(name, title, remark, "ms", rows, beside)
