"""A deployment of 1.0.0 that searches and works while its database is upgraded: a program over the code of 1.0.0.

`test_upgrade` runs it from the commit of the first migration, whose modules it imports. It prints "searching" when its
data are there, searches until it reads a line, and prints a JSON line: what it saw, and what its work did then.
"""

import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import psycopg
from sakuin.platform.keys import LibraryKeys
from sakuin_local.supabase.database import Database
from sakuin_local.supabase.tokens import SigningKey

from tests.awaiting import awaited
from tests.builders import a_page
from tests.rest_prefix import served_below_prefix
from tests.tables.index_versions.conftest import GREEN, Deployment
from tests.worlds import PAGE_BOXES, PAGE_KEY, World, Worlds, long, world_of

# So many that some searches wait for the locks of each migration.
SEARCHERS = 4
QUERY, DOCUMENT = "二次方程式を公式で解きたい", {"articles": [long("二次関数"), long("三角比")]}


@dataclass
class Stack:
    """The functions over the database."""

    pages: World
    tables: Deployment
    endpoint: str
    key: str
    failures: list[str] = field(default_factory=list)
    searches: int = 0

    def search(self) -> None:
        """Asks the library, a Search Tool, and for what an endpoint opens, as agents do."""
        anchors = [hit.url.partition("#")[2] for hit in self.pages.search(QUERY).results]
        pointers = self.tables.pointers(self.endpoint)
        keys = [key.name for key in LibraryKeys(self.pages.client).all()]
        if (anchors[:1], pointers, keys) != (["rule-quadratic-formula"], {"/articles/0", "/articles/1"}, [self.key]):
            self.failures.append(f"{anchors} {pointers} {keys}")
        self.searches += 1

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Searches without a pause while the block runs, and some times after it."""
        stop = Event()

        def go_on() -> None:
            while not stop.is_set():
                try:
                    self.search()
                except Exception as error:
                    self.failures.append(repr(error))

        with ThreadPoolExecutor(SEARCHERS) as pool:
            running = [pool.submit(go_on) for _ in range(SEARCHERS)]
            try:
                awaited("the first searches", lambda: self.searches > 3 or self.failures, within_s=30)
                yield
                before = self.searches
                awaited("searches after the change", lambda: self.searches > before + 5 or self.failures, within_s=30)
            finally:
                stop.set()
            for one in running:
                one.result()


def stack_of(database: Database, stand_in: str, sql: psycopg.Connection) -> Stack:
    """Makes a deployment that serves a page, a Table and a key, and builds a second index of both."""
    tables = Deployment(world_of(database, stand_in))
    tables.build()
    pages = Worlds(database, tables.world.client, sql)(empty=False)
    tables.world.bucket, tables.world.queue = pages.bucket, pages.queue
    pages.put(PAGE_KEY, a_page(PAGE_BOXES))
    LibraryKeys(pages.client).create("a tutor")
    tool = tables.world.tool(tables.world.table(DOCUMENT), "/articles")
    tables.settle()
    endpoint = tables.world.endpoint(tool)
    tables.own = GREEN
    tables.build()
    pages.settings = GREEN
    assert tables.waiting, "the second index is being built"
    return Stack(pages, tables, endpoint, "a tutor")


def work(stack: Stack) -> dict[str, Any]:
    """Processes what was sent before the upgrade, with what a newer sender adds to it; returns what became of it."""
    for message in stack.tables.waiting:
        message.body = json.dumps(extended(json.loads(message.body)))
    stack.tables.settle()
    stack.pages.settle()
    return {
        "built": [index.is_whole for index in stack.tables.indexes.states()],
        "indexed": [hit.url.partition("#")[2] for hit in stack.pages.search("円周角").results[:1]],
    }


def extended(value: Any) -> Any:
    """Returns a message with one more member in each object."""
    if isinstance(value, dict):
        return {key: extended(member) for key, member in value.items()} | {"of_a_later_version": 1}
    return [extended(member) for member in value] if isinstance(value, list) else value


def main(database: Database, stand_in: str) -> None:
    """Runs the deployment; `stand_in` is the address of turbopuffer's. Its log goes to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    port = int(database.rest_url.rpartition(":")[2])
    with served_below_prefix(port), psycopg.connect(database.dsn_postgres, autocommit=True) as sql:
        stack = stack_of(database, stand_in, sql)
        stack.pages.bucket.write("junior/円.html", a_page({"rule-circle": "円: 円周角は中心角の半分である。"}))
        with stack.searching():
            print("searching", file=answers, flush=True)
            sys.stdin.readline()
        answer = {"failures": stack.failures, "searches": stack.searches} | work(stack)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    addresses = json.loads(sys.argv[1])
    main(Database(**addresses | {"signing_key": SigningKey(**addresses["signing_key"])}), sys.argv[2])
