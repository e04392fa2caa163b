"""A database of 1.0 with pages, Tables, keys and an index that is being built is upgraded while searches answer."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import psycopg
import pytest
from sakuin import __version__
from sakuin.errors import Invalid
from sakuin.knowledge.messages import read_event
from sakuin.platform.keys import LibraryKeys
from sakuin.tables.messages import embed_message, tool_message
from sakuin_local.errors import LocalError
from sakuin_local.places import MIGRATIONS
from sakuin_local.supabase.database import Database
from sakuin_local.supabase.migrations import apply_migrations

from tests.awaiting import awaited
from tests.builders import a_page
from tests.database_server import DatabaseServer
from tests.tables.index_versions.conftest import GREEN, Deployment
from tests.upgrade.migrations import await_reading, schema_digest, state_of
from tests.upgrade.replay import Replay, missing, read_messages, read_sessions
from tests.worlds import PAGE_BOXES, PAGE_KEY, World, Worlds, long, world_of

FIRST = "20261129000000_version_1_0_0.sql"
SECOND = Path(__file__).with_name("second")
QUERY, DOCUMENT = "二次方程式を公式で解きたい", {"articles": [long("二次関数"), long("三角比")]}


@pytest.fixture
def database(database_server: DatabaseServer, tmp_path: Path) -> Iterator[Database]:
    """A database with the migrations of 1.0 alone."""
    released = tmp_path / "released"
    released.mkdir()
    shutil.copy(MIGRATIONS / FIRST, released)
    with database_server.copy(tmp_path / "database", with_migrations=False) as running:
        apply_migrations(running.dsn_postgres, released)
        await_reading(running)
        yield running


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """All migrations, and one that comes after them."""
    folder = tmp_path / "later"
    shutil.copytree(MIGRATIONS, folder)
    for file in SECOND.glob("*.sql"):
        shutil.copy(file, folder)
    return folder


@dataclass
class Stack:
    """The functions of this version over the database."""

    database: Database
    pages: World
    tables: Deployment
    endpoint: str
    key: str
    failures: list[str] = field(default_factory=list)
    searches: int = 0

    def search(self) -> None:
        """Asks the library, a Search Tool, and for what an endpoint opens, as agents do."""
        found = [hit.url.partition("#")[2] for hit in self.pages.search(QUERY).results]
        pointers = self.tables.pointers(self.endpoint)
        keys = [key.name for key in LibraryKeys(self.pages.client).all()]
        if (found[:1], pointers, keys) != (["rule-quadratic-formula"], {"/articles/0", "/articles/1"}, [self.key]):
            self.failures.append(f"{found} {pointers} {keys}")
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

        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(go_on)
            try:
                awaited("the first searches", lambda: self.searches > 3 or self.failures, within_s=30)
                yield
                before = self.searches
                awaited("searches after the change", lambda: self.searches > before + 5 or self.failures, within_s=30)
            finally:
                stop.set()
            running.result()


@pytest.fixture
def stack(database: Database, stand_in: str) -> Iterator[Stack]:
    """It serves a page, a Table and a key, and builds a second index of both."""
    with psycopg.connect(database.dsn_postgres, autocommit=True) as sql:
        tables = Deployment(world_of(database, stand_in))
        tables.build()
        pages = Worlds(database, tables.world.client, sql)(empty=False)
        tables.world.bucket, tables.world.queue = pages.bucket, pages.queue
        pages.put(PAGE_KEY, a_page(PAGE_BOXES))
        LibraryKeys(pages.client).create("a tutor")
        table = tables.world.table(DOCUMENT)
        tool = tables.world.tool(table, "/articles")
        tables.settle()
        endpoint = tables.world.endpoint(tool)
        tables.own = GREEN
        tables.build()
        pages.settings = GREEN
        assert tables.waiting, "the second index is being built"
        yield Stack(database, pages, tables, endpoint, "a tutor")


def test_searches_answer_while_a_migration_is_applied_and_work_goes_on(stack: Stack, later: Path) -> None:
    waiting = stack.pages.bucket.write("junior/円.html", a_page({"rule-circle": "円: 円周角は中心角の半分である。"}))
    with stack.searching():
        apply_migrations(stack.database.dsn_postgres, later)
    assert stack.failures == []
    assert state_of(stack.database) == "newer"
    # What the version before sent, and what a newer sender adds to it.
    for message in stack.tables.waiting:
        message.body = json.dumps(extended(json.loads(message.body)))
    stack.tables.settle()
    stack.pages.settle()
    assert stack.pages.upload_result("junior/円.html", waiting).outcome == "applied"
    assert [index.is_whole for index in stack.tables.indexes.states()] == [True, True]
    assert stack.pages.search("円周角").results[0].url.endswith("#rule-circle")


def test_a_migration_that_fails_leaves_the_version_before_working(stack: Stack, later: Path) -> None:
    before = schema_digest(stack.database.dsn)
    broken = later / "29990102000000_broken.sql"
    broken.write_text("drop function public.search_candidates; alter table public.material add column x nothing;")
    (later / "29990101000000_second.sql").unlink()
    with stack.searching(), pytest.raises(LocalError, match="29990102000000_broken failed"):
        apply_migrations(stack.database.dsn_postgres, later)
    assert (stack.failures, schema_digest(stack.database.dsn)) == ([], before)


def extended(value: Any) -> Any:
    """Returns a message with one more member in each object."""
    if isinstance(value, dict):
        return {key: extended(member) for key, member in value.items()} | {"of_a_later_version": 1}
    return [extended(member) for member in value] if isinstance(value, list) else value


# ---------------------------------------------------------------- what 1.0 recorded


@pytest.fixture(scope="module")
def upgraded(database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A database with all migrations, and the one that comes after them."""
    folder = tmp_path_factory.mktemp("upgraded")
    with database_server.copy(folder) as running:
        with psycopg.connect(running.dsn_postgres) as sql:
            for file in SECOND.glob("*.sql"):
                sql.execute(file.read_bytes())
        yield running


@pytest.fixture
def replay(upgraded: Database) -> Iterator[Replay]:
    with psycopg.connect(upgraded.dsn, autocommit=True) as sql:
        yield Replay(upgraded.rest_url, upgraded.service_key, sql)


def test_the_calls_of_a_released_version_get_the_answers_that_it_reads(replay: Replay) -> None:
    sessions = read_sessions(__version__)
    assert len({call.path for session in sessions for call in session}) > 100
    assert [difference for session in sessions for difference in replay.differences(session)] == []


def test_the_messages_of_a_released_version_are_read_with_and_without_new_members() -> None:
    messages = read_messages(__version__)
    readers = {reader: [body for body in messages if is_read(reader, body)] for reader in READERS}
    assert all(readers.values())
    assert sum(map(len, readers.values())) == len(messages)
    for reader, bodies in readers.items():
        assert [body for body in bodies if not is_read(reader, extended(body))] == []


READERS: tuple[Callable[[Mapping[str, Any]], object], ...] = (read_event, tool_message, embed_message)


def is_read(reader: Callable[[Mapping[str, Any]], object], body: Mapping[str, Any]) -> bool:
    try:
        return reader(body) is not None
    except Invalid:
        return False


def test_what_an_answer_lacks_is_named() -> None:
    recorded, answer = {"a": 1, "b": [{"c": "x"}, {"c": "y"}], "d": None}, {"b": [{"c": 1, "more": 2}]}
    assert [*missing(recorded, answer)] == [
        "the answer has no a",
        "the answer.b has 1 elements instead of 2",
        "the answer.b[0].c is number instead of str",
        "the answer has no d",
    ]
