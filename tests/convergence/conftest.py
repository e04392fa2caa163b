"""The backends of the schedules: one database and one store for all of them."""

from collections.abc import Iterator

import psycopg
import pytest
from sakuin_local.supabase.database import Database

from tests.convergence.materials_world import MaterialsBackend, materials_backend
from tests.convergence.tables_world import TablesBackend, tables_backend
from tests.emptied import emptied


@pytest.fixture(scope="module")
def empty(database: Database) -> Database:
    """An empty database: schedules check all of it."""
    with psycopg.connect(database.dsn_postgres, autocommit=True) as sql:
        emptied(sql)
    return database


@pytest.fixture(scope="module")
def tables(empty: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TablesBackend]:
    with tables_backend(empty, tmp_path_factory.mktemp("convergence")) as backend:
        yield backend


@pytest.fixture(scope="module")
def materials(empty: Database) -> Iterator[MaterialsBackend]:
    with materials_backend(empty) as backend:
        yield backend
