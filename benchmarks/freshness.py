"""How long an uploaded page takes until a search finds it, alone on a running stack, and how long a search takes.

`python -m benchmarks.freshness [PAGES]`. The local model embeds everything. What a search takes beside `tools/list` is
the search itself; local functions stand in for Lambda.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.stack import Stack, quantile
from benchmarks.traffic import Traffic

SEARCHES = 20
_LABELS = Path(__file__).parents[1] / "tests" / "labels" / "knowledge.jsonl"
_PAGE = """<!DOCTYPE html><html lang="ja"><head><meta charset="UTF-8"><title>鮮度{number}</title></head><body>
<h1>鮮度の測定 {number}</h1><div class="rule-box" id="rule-freshness"><strong>鮮度の規則 {number}</strong>
<p>{number} 回目の測定です。書き込んでから検索で見つかるまでの時間を測ります。</p></div></body></html>"""


def main(pages: int) -> None:
    """Prints milliseconds."""
    stack = Stack()
    traffic = Traffic(stack, "freshness")
    # The sample Table may still be embedded.
    while traffic.waiting():
        time.sleep(0.5)
    questions = [json.loads(line)["query"] for line in _LABELS.read_text("utf-8").splitlines()][: SEARCHES + 1]
    searches = [_milliseconds(lambda query=query: stack.search(query)) for query in questions][1:]
    lists = [_milliseconds(lambda: stack.mcp("tools/list", {})) for _ in range(SEARCHES)]
    kinds = {"upload to searchable": list(_waits(stack, pages)), "search": searches, "tools/list": lists}
    for kind, times in kinds.items():
        p50, p95 = quantile(times, 0.5), quantile(times, 0.95)
        print(f"{kind:<22} {len(times):4} times  p50 {p50:6.0f} ms  p95 {p95:6.0f} ms  most {max(times):6.0f} ms")


def _waits(stack: Stack, pages: int) -> Iterator[float]:
    """Uploads new pages one after another; yields how long each takes until a search finds it."""
    materials = [f"benchmark/freshness-{number}" for number in range(pages)]
    for number, material in enumerate(materials):
        stack.put(f"{material}.html", _PAGE.format(number=number))
        yield _milliseconds(lambda material=material: _search_until_found(stack, material))
    for material in materials:
        stack.delete(f"{material}.html")


def _search_until_found(stack: Stack, material: str) -> None:
    # In its page alone: of many equal pages an answer shows the first. Until the page is known the filter is an error.
    call = {"name": "search_knowledge", "arguments": {"query": "鮮度の規則", "material": material}}
    while stack.mcp("tools/call", call).get("isError"):
        time.sleep(0.01)


def _milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
