"""What the `mcp` function's own code costs a warm call, apart from the stores, and whether it grows.

The handler runs in this process, behind events as API Gateway sends them, on stores that are timed apart: a database of
its own, and an embedder in memory.
"""

import json
import logging
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import psycopg
from sakuin.mcp.app import McpApp
from sakuin.mcp.knowledge_tools import KnowledgeTools
from sakuin.mcp.server import knowledge_server
from sakuin.platform.asgi import persistent_handler
from sakuin.platform.aws import Handler
from sakuin.platform.supabase.client import connected
from sakuin_local.supabase.database import running_database

from benchmarks.stack import quantile
from tests.builders import a_page
from tests.events import Context, event, ring
from tests.worlds import World

BOXES = {f"rule-{n}": f"公式その{n}: 係数を読みとって公式に代入する。" for n in range(20)}
ERAS = ("2025-11-25", "2026-07-28")
QUESTION = {"name": "search_knowledge", "arguments": {"query": "公式に代入する", "top_k": 5}}
GROWTH_STEP = 2000


class Timed:
    """A store whose time is added up."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)

        def timed(*arguments: Any, **named: Any) -> Any:
            started = time.perf_counter()
            try:
                return method(*arguments, **named)
            finally:
                self.seconds += time.perf_counter() - started

        return timed


def main(calls: int, growth: int) -> None:
    """Measures `calls` calls of each kind, then memory over `growth` calls."""
    logging.disable(logging.CRITICAL)
    with (
        tempfile.TemporaryDirectory() as folder,
        running_database(Path(folder)) as database,
        psycopg.connect(database.dsn_postgres, autocommit=True) as sql,
    ):
        service = connected(database.rest_url, database.service_key)
        world = World(database, service, sql, base_url="/school_asset")
        world.put("junior/公式_教材.html", a_page(BOXES))
        measured(world, calls, growth)


def measured(world: World, calls: int, growth: int) -> None:
    """Prints what this library's calls cost."""
    search = world.search
    stores = index, lexicon, embedder = Timed(search.index), Timed(search.lexicon), Timed(search.embedder)
    timed: Any = replace(search, index=index, lexicon=lexicon, embedder=embedder)
    searches: Any = SimpleNamespace(knowledge_search=lambda version=None: timed)
    tools = KnowledgeTools(searches, world.read)
    app = McpApp(knowledge_server(tools, "0"), ring)
    handler = persistent_handler(app, app.run)
    for era in ERAS:
        for method, params in (("tools/list", {}), ("tools/call", QUESTION)):
            asked = request(method, params, era)
            print(f"in process, {era}, {method}: {ours(handler, asked, stores, calls)}")
    grown(handler, growth)


def request(method: str, params: dict[str, Any], era: str) -> dict[str, Any]:
    """The event of one request."""
    recorded = event("mcp.search")
    meta = json.loads(recorded["body"])["params"]["_meta"] if era == ERAS[1] else None
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, **({"_meta": meta} if meta else {})}}
    headers = {name: text for name, text in recorded["headers"].items() if not name.startswith(("mcp-", "content-l"))}
    routing = {"mcp-method": method, **({"mcp-name": params["name"]} if "name" in params else {})} if meta else {}
    recorded["headers"] = {**headers, "mcp-protocol-version": era, **routing}
    recorded["body"] = json.dumps(body, ensure_ascii=False)
    return recorded


def ours(handler: Handler, asked: dict[str, Any], stores: tuple[Timed, ...], calls: int) -> str:
    """Quantiles of the whole and of our share of it, and the share."""
    answered(handler(asked, Context()))
    whole, own = [], []
    for _ in range(calls):
        before = sum(store.seconds for store in stores)
        with clocked(whole):
            handler(asked, Context())
        own.append(whole[-1] - (sum(store.seconds for store in stores) - before) * 1000)
    share = sum(own) / sum(whole)
    return f"{shown(whole)}; ours {shown(own)} ({share:.0%} of the time)"


def grown(handler: Handler, calls: int) -> None:
    """Resident memory every so many calls, of every kind in turn, refused ones too."""
    kinds = [request(method, params, era) for era in ERAS for method, params in kinds_of_calls()]
    process = psutil.Process()
    for number in range(calls + 1):
        if number % GROWTH_STEP == 0:
            print(f"after {number} calls: {process.memory_info().rss / 1e6:.1f} MB")
        handler(kinds[number % len(kinds)], Context())


def kinds_of_calls() -> Iterator[tuple[str, dict[str, Any]]]:
    """What agents ask, and what they get wrong."""
    yield "tools/list", {}
    yield "tools/call", QUESTION
    yield "tools/call", {"name": "list_concepts", "arguments": {}}
    yield "tools/call", {"name": "search_knowledge", "arguments": {"query": ""}}
    yield "tools/call", {"name": "drop_table", "arguments": {}}


def answered(answer: dict[str, Any]) -> None:
    assert answer["statusCode"] == 200, answer
    assert "error" not in json.loads(answer["body"]), answer


@contextmanager
def clocked(milliseconds: list[float]) -> Iterator[None]:
    """Adds how long the block took."""
    started = time.perf_counter()
    yield
    milliseconds.append((time.perf_counter() - started) * 1000)


def shown(times: list[float]) -> str:
    return f"p50 {quantile(times, 0.5):.2f} ms, p99 {quantile(times, 0.99):.2f} ms"


if __name__ == "__main__":
    given = [int(number) for number in sys.argv[1:]]
    main(given[0] if given else 1000, given[1] if len(given) > 1 else 20_000)
