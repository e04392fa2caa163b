"""How long from a put to a search that finds it."""

import sys
import time

from benchmarks.stack import Stack, quantile

PAGE = """<!DOCTYPE html><html lang="ja"><head><meta charset="UTF-8"><title>鮮度{number}</title></head><body>
<h1>鮮度の測定 {number}</h1><div class="rule-box" id="rule-freshness"><strong>鮮度の規則 {number}</strong>
<p>{number} 回目の測定です。書き込んでから検索で見つかるまでの時間を測ります。</p></div></body></html>"""


def main(uploads: int) -> None:
    """Uploads pages one after another, each a new page with one new text, and searches until it is found."""
    stack = Stack()
    waits = []
    for number in range(uploads):
        material = f"benchmark/freshness-{number}"
        stack.put(f"{material}.html", PAGE.format(number=number))
        started = time.perf_counter()
        while not stack.search("鮮度の規則", material=material):
            time.sleep(0.01)
        waits.append(time.perf_counter() - started)
    for number in range(uploads):
        stack.delete(f"benchmark/freshness-{number}.html")
    print(
        f"put → searchable over {uploads} uploads: p50 {quantile(waits, 0.5):.2f} s, p95 {quantile(waits, 0.95):.2f} s"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
