"""One real database for all tests that need one."""

from collections.abc import Iterator

import psycopg
import pytest
from hypothesis import settings
from sakuin_local.database import Database, running_database

from tests.emptied import emptied

# The same examples each time: a build that was green stays so.
settings.register_profile("sakuin", derandomize=True, deadline=None, database=None, print_blob=True)
settings.load_profile("sakuin")


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
