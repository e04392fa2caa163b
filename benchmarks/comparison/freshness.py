"""The running stack: how long a cold worker takes, a search, and an uploaded page until a search finds it.

No peer does this; a figure is compared with another one of the same run.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sakuin_cli.commands.table import create_table
from sakuin_cli.connections import deployment_of
from sakuin_cli.settings import CommandSettings

from benchmarks.__main__ import running_stack
from benchmarks.cold_start import emulator_program, measured
from benchmarks.comparison.measure import Row, Run, Section, Spread
from benchmarks.stack import Stack, quantile
from benchmarks.table_stack import large_string
from benchmarks.traffic import Traffic

STARTS = 3
UPLOADS = 20
BACKLOG = 30
# Each has two chunks.
STRINGS = 1_500
SEARCHES = 20
_LABELS = Path(__file__).parents[2] / "tests" / "labels" / "knowledge.jsonl"
ONE_RULE = """<!DOCTYPE html><html lang="ja"><head><meta charset="UTF-8"><title>鮮度{number}</title></head><body>
<h1>鮮度の測定 {number}</h1><div class="rule-box" id="rule-freshness"><strong>鮮度の規則 {number}</strong>
<p>{number} 回目の測定です。書き込んでから検索で見つかるまでの時間を測ります。</p></div></body></html>"""


def sections(_run: Run) -> Iterator[Section]:
    """Yields both answers, from one stack with the samples."""
    with running_stack() as folder:
        stack = Stack(folder)
        # The sample Table is still embedded then.
        _wait_until_idle(stack)
        searches, lists = _waits_for_answers(stack, SEARCHES)
        yield _cold_starts(stack)
        alone = _waits_for_pages(stack, UPLOADS)
        for number in range(BACKLOG):
            stack.put(f"benchmark/backlog-{number}.html", ONE_RULE.format(number=1000 + number))
        behind = _waits_for_pages(stack, 1)
        _wait_until_idle(stack)
        _begin_table(stack)
        waits = {
            "alone": alone,
            f"behind {BACKLOG} pages": behind,
            f"beside a Table of {2 * STRINGS:,} chunks": _waits_for_pages(stack, UPLOADS),
        }
        remark = (
            f"{UPLOADS} pages, one after another; one right after {BACKLOG} more; {UPLOADS} while a Table is embedded. "
            "The local model embeds all."
        )
        yield _section("freshness", "Upload to searchable", remark, waits, "alone")
        remark = "What remains beside `tools/list` is the search; local functions stand in for Lambda."
        yield _section(
            "freshness", "A search on the stack", remark, {"search": searches, "tools/list": lists}, "search"
        )


def _wait_until_idle(stack: Stack) -> None:
    traffic = Traffic(stack, "freshness")
    while traffic.waiting():
        time.sleep(0.5)


def _begin_table(stack: Stack) -> None:
    """Creates a Table and its tool; returns when its chunks are being embedded."""
    client, project = deployment_of(CommandSettings.read(stack.environment)), stack.environment["SAKUIN_PROJECT"]
    document = json.dumps({"articles": [large_string(number) for number in range(STRINGS)]}, ensure_ascii=False)
    table = create_table(client, project, "freshness", document.encode(), seconds=60)["id"]
    client.create_tool(project, table_id=table, json_path="/articles", name="search_articles", description=None)
    traffic = Traffic(stack, "freshness")
    while "EmbedQueue" not in traffic.waiting():
        time.sleep(0.5)


def _waits_for_answers(stack: Stack, calls: int) -> tuple[list[float], list[float]]:
    """Returns milliseconds of labelled questions, and of `tools/list` between them: all but the search."""
    questions = [json.loads(line)["query"] for line in _LABELS.read_text().splitlines()]
    stack.search(questions[0])
    searches, lists = [], []
    for number in range(calls):
        started = time.perf_counter()
        stack.search(questions[number % len(questions)])
        searches.append((time.perf_counter() - started) * 1000)
        started = time.perf_counter()
        stack.mcp("tools/list", {})
        lists.append((time.perf_counter() - started) * 1000)
    return searches, lists


def _waits_for_pages(stack: Stack, uploads: int) -> list[float]:
    """Uploads new pages one after another, and searches until each is found; returns milliseconds."""
    waits = []
    for number in range(uploads):
        material = f"benchmark/freshness-{number}"
        stack.put(f"{material}.html", ONE_RULE.format(number=number))
        started = time.perf_counter()
        # In its page alone: of many equal pages an answer shows the first. Until it is known the filter is an error.
        call = {"name": "search_knowledge", "arguments": {"query": "鮮度の規則", "material": material}}
        while stack.mcp("tools/call", call).get("isError"):
            time.sleep(0.01)
        waits.append((time.perf_counter() - started) * 1000)
    for number in range(uploads):
        stack.delete(f"benchmark/freshness-{number}.html")
    return waits


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


def _section(name: str, title: str, remark: str, times: Mapping[str, Sequence[float]], beside: str) -> Section:
    """Compares medians: these times are of different events."""
    one = Spread.of(times[beside]).median
    spreads = {key: Spread.of(some) for key, some in times.items()}
    ratios = {key: Spread(each.median / one, each.low / one, each.high / one) for key, each in spreads.items()}
    rows = [Row(key, "", spreads[key], ratios[key], {"p95": quantile(times[key], 0.95)}) for key in times]
    return Section(name, title, remark, "ms", rows, beside)
