"""How long an agent waits for an answer, and how long a reader waits until an uploaded page is found."""

import json
import sys
import time
from pathlib import Path

from benchmarks.stack import Stack, quantile

LABELS = Path(__file__).parents[1] / "tests" / "labels" / "knowledge.jsonl"
PAGE = """<!DOCTYPE html><html lang="ja"><head><meta charset="UTF-8"><title>鮮度{number}</title></head><body>
<h1>鮮度の測定 {number}</h1><div class="rule-box" id="rule-freshness"><strong>鮮度の規則 {number}</strong>
<p>{number} 回目の測定です。書き込んでから検索で見つかるまでの時間を測ります。</p></div></body></html>"""


def main(calls: int, uploads: int) -> None:
    """Prints the quantiles of both."""
    stack = Stack()
    searches, lists = waits_for_answers(stack, calls)
    for name, times in (("search_knowledge", searches), ("tools/list", lists)):
        print(f"{name} over {calls} calls: p50 {quantile(times, 0.5):.0f} ms, p95 {quantile(times, 0.95):.0f} ms")
    print(f"ratio of the medians: {quantile(searches, 0.5) / quantile(lists, 0.5):.1f}")
    waits = waits_for_pages(stack, uploads)
    p50, p95 = quantile(waits, 0.5), quantile(waits, 0.95)
    print(f"upload to searchable over {uploads} pages: p50 {p50:.2f} s, p95 {p95:.2f} s")


def waits_for_answers(stack: Stack, calls: int) -> tuple[list[float], list[float]]:
    """Asks the labelled questions in turn; each call of `tools/list` between them costs all but the search."""
    questions = [json.loads(line)["query"] for line in LABELS.read_text().splitlines()]
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


def waits_for_pages(stack: Stack, uploads: int) -> list[float]:
    """Uploads pages one after another, each a new page with one new text, and searches until it is found."""
    waits = []
    for number in range(uploads):
        material = f"benchmark/freshness-{number}"
        stack.put(f"{material}.html", PAGE.format(number=number))
        started = time.perf_counter()
        while not any(hit["material"] == material for hit in stack.search("鮮度の規則", top_k=50)):
            time.sleep(0.01)
        waits.append(time.perf_counter() - started)
    for number in range(uploads):
        stack.delete(f"benchmark/freshness-{number}.html")
    return waits


if __name__ == "__main__":
    numbers = [int(number) for number in sys.argv[1:]]
    main(*numbers) if len(numbers) == 2 else main(200, 50)
