"""From an upload to its signed webhook, on a running stack: `sakuin up`, `python -m benchmarks.webhooks [PAGES]`."""

import base64
import os
import sys
import time
from datetime import datetime

from benchmarks.stack import Stack, quantile
from tests.builders import a_page
from tests.mcp.receiver import Receiver, receiver

NAME = "explanation.added"
# They start workers, and are not counted.
_FIRST = 2


def uploaded(stack: Stack, to: Receiver, page: str, number: int) -> tuple[float, float]:
    """Returns the milliseconds from an upload until it is indexed, and until the receiver has its event."""
    began = time.time()
    stack.put(f"{page}.html", a_page({"rule-a": f"公式 {page} {number}: 係数を代入する。"}).decode())
    while f"{page}#rule-a" not in to.times:
        assert time.time() < began + 60, "no webhook came in a minute"
        time.sleep(0.002)
    indexed = datetime.fromisoformat(to.received[-1]["timestamp"]).timestamp()
    return (indexed - began) * 1000, (to.times[f"{page}#rule-a"] - began) * 1000


def main(pages: int) -> None:
    """Prints the median and p95 of so many uploads, one after another."""
    stack, run = Stack(), int(time.time())
    secret = f"whsec_{base64.b64encode(os.urandom(32)).decode()}"
    names = [f"webhooks/{run}-{number}" for number in range(pages + _FIRST)]
    with receiver(secret) as to:
        delivery = {"mode": "webhook", "url": to.url, "secret": secret}
        stack.mcp("events/subscribe", {"name": NAME, "delivery": delivery})
        took = [uploaded(stack, to, name, number) for number, name in enumerate(names)][_FIRST:]
        stack.mcp("events/unsubscribe", {"name": NAME, "delivery": {"url": to.url}})
    for name in names:
        stack.delete(f"{name}.html")
    for what, figures in zip(("indexed", "webhook received"), zip(*took, strict=True), strict=True):
        print(f"{what}: median {quantile(figures, 0.5):.0f} ms, p95 {quantile(figures, 0.95):.0f} ms, {pages} pages")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
