"""One real database for all tests that need one, the same examples each time, and an end to whatever hangs."""

from collections.abc import Generator, Iterator

import psycopg
import pytest
from aws_lambda_powertools import Metrics
from hypothesis import HealthCheck, settings
from sakuin_local.database import Database, running_database

from tests.emptied import emptied
from tests.hanging import ended_when_it_hangs

# The same examples each time: a build that was green stays so. How long one takes to make says more of the machine.
settings.register_profile(
    "sakuin",
    derandomize=True,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("sakuin")

# A net under everything, not a measure: each wait has an end of its own, and says what it waited for.
HUNG_SECONDS = 2700


@pytest.fixture(autouse=True)
def nothing_counted() -> None:
    """Powertools counts for the whole process: what another test counted and never told is none of a test's own."""
    Metrics(namespace="Sakuin", service="test").clear_metrics()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, object, object]:
    with ended_when_it_hangs(HUNG_SECONDS):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    with ended_when_it_hangs(HUNG_SECONDS):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None, object, object]:
    with ended_when_it_hangs(HUNG_SECONDS):
        return (yield)


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Postgres with the product's migrations, and PostgREST before it."""
    with running_database(tmp_path_factory.mktemp("supabase")) as running:
        yield running


@pytest.fixture
def empty_database(database: Database) -> Database:
    """The same without a row."""
    with psycopg.connect(database.dsn_postgres, autocommit=True) as sql:
        emptied(sql)
    return database
