"""Fixtures and settings of each process that runs tests: database and examples."""

import asyncio
import ctypes
import functools
import gc
import os
import ssl
from collections.abc import Iterator
from typing import TYPE_CHECKING

import botocore.session
import psycopg
import pytest
from aws_lambda_powertools import Metrics
from hypothesis import HealthCheck, settings
from sakuin.platform.supabase.client import Client, connected
from sakuin.platform.waiting import WorkRecords
from sakuin_local.supabase.database import Database

from tests.database_server import DatabaseServer, server_in
from tests.effort import times
from tests.emptied import emptied
from tests.parallel import SHARED, SUMMARY

if TYPE_CHECKING:
    from sakuin.mcp.knowledge.tools import KnowledgeTools

    from tests.worlds import TableWorld, World, Worlds

# No account is asked: AWS is in memory, where moto has keys of its own, or on this machine.
os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")

# The same examples each time: a build that was green stays so. How long one takes to make says more of the machine.
settings.register_profile(
    "sakuin",
    derandomize=True,
    max_examples=times(25),
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)

settings.load_profile("sakuin")

# A client of HTTP reads the certificates of all authorities, one of AWS the description of its service: that takes
# longer than most tests, and memory that is not given back.
ssl.create_default_context = functools.cache(ssl.create_default_context)

botocore.session.create_loader = functools.cache(botocore.session.create_loader)


@pytest.fixture(autouse=True)
def nothing_counted() -> None:
    """Clears the metrics of other tests: Powertools counts for the whole process."""
    Metrics(namespace="Sakuin", service="test").clear_metrics()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def loop_of_thread() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture(autouse=True)
def thread_has_its_loop(loop_of_thread: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Gives the thread an event loop, as Lambda does: `asyncio.run` removes it."""
    asyncio.set_event_loop(loop_of_thread)
    yield
    asyncio.set_event_loop(loop_of_thread)


@pytest.fixture(autouse=True, scope="module")
def nothing_frozen() -> Iterator[None]:
    """Unfreezes what the start of a function hid from the garbage collector."""
    yield
    gc.unfreeze()
    _give_back()


def _give_back() -> None:
    """Returns memory that glibc's allocator keeps."""
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)


@pytest.fixture(scope="session")
def summary(request: pytest.FixtureRequest) -> set[str]:
    """Lines that pytest prints at the end of the run; a test may add its own."""
    return request.config.stash[SUMMARY]


@pytest.fixture(scope="session")
def database_server(request: pytest.FixtureRequest) -> DatabaseServer:
    """The Postgres server that all processes of the run share."""
    return server_in(request.config.stash[SHARED] / "postgres")


@pytest.fixture(scope="session")
def database(database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """The database of this process: Postgres with the migrations, and PostgREST."""
    with database_server.copy(tmp_path_factory.mktemp("database")) as running:
        yield running


@pytest.fixture
def empty_database(database: Database, sql: psycopg.Connection) -> Database:
    """The same database without a row."""
    emptied(sql)
    return database


@pytest.fixture
def records(empty_database: Database) -> WorkRecords:
    """Returns the records of what waits, over an empty database."""
    return WorkRecords(connected(empty_database.rest_url, empty_database.service_key, seconds=2))


@pytest.fixture(scope="session")
def service(database: Database) -> Client:
    """The functions' connection; one for all tests of the process."""
    return connected(database.rest_url, database.service_key)


@pytest.fixture(scope="session")
def sql(database: Database) -> Iterator[psycopg.Connection]:
    """A connection as the owner of the database."""
    with psycopg.connect(database.dsn_postgres, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def a_world(database: Database, service: Client, sql: psycopg.Connection) -> "Worlds":
    """Makes a world over an empty database; each call empties it."""
    # Most tests need none of this, and it takes a second.
    from tests.worlds import Worlds

    return Worlds(database, service, sql)


@pytest.fixture
def world(a_world: "Worlds", empty_database: Database) -> "World":
    """A library with one page of three explanations; it may share its database with `tables`."""
    from tests.worlds import with_a_page

    return with_a_page(a_world)


@pytest.fixture
def tools(world: "World") -> "KnowledgeTools":
    """The tools of the knowledge endpoint over that library."""
    from sakuin.mcp.knowledge.tools import KnowledgeTools

    return KnowledgeTools(world, world.read)


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of turbopuffer's stand-in, for a module."""
    from tests.worlds import turbopuffer_in

    with turbopuffer_in(tmp_path_factory.mktemp("turbopuffer")) as address:
        yield address


@pytest.fixture
def tables(empty_database: Database, stand_in: str) -> "TableWorld":
    """A project for Tables, on the real database."""
    from tests.worlds import world_of

    return world_of(empty_database, stand_in)
