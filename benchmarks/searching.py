"""How long an agent waits for an answer."""

import json
import sys
import time
from pathlib import Path

from benchmarks.stack import Stack, quantile

LABELS = Path(__file__).parents[1] / "tests" / "labels" / "knowledge.jsonl"


def main(calls: int) -> None:
    """Asks the labelled questions in turn; each call of `tools/list` between them costs all but the search."""
    stack = Stack()
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
    for name, times in (("search_knowledge", searches), ("tools/list", lists)):
        print(f"{name} over {calls} calls: p50 {quantile(times, 0.5):.0f} ms, p95 {quantile(times, 0.95):.0f} ms")
    print(f"ratio of the medians: {quantile(searches, 0.5) / quantile(lists, 0.5):.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
