"""The houses of the schedules: one database and one store for all of them."""

from collections.abc import Iterator

import psycopg
import pytest
from sakuin_local.supabase.database import Database

from tests.convergence.materials_world import MaterialsHouse, materials_house
from tests.convergence.tables_house import TablesHouse, tables_house
from tests.emptied import emptied


@pytest.fixture(scope="module")
def empty(database: Database) -> Database:
    """The database without what other tests left in it: schedules look at all of it."""
    with psycopg.connect(database.dsn_postgres, autocommit=True) as sql:
        emptied(sql)
    return database


@pytest.fixture(scope="module")
def tables(empty: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TablesHouse]:
    """Where Tables are indexed."""
    with tables_house(empty, tmp_path_factory.mktemp("convergence")) as house:
        yield house


@pytest.fixture(scope="module")
def materials(empty: Database) -> Iterator[MaterialsHouse]:
    """Where materials are indexed."""
    with materials_house(empty) as house:
        yield house
