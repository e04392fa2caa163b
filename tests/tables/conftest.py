"""The world of Tables."""

import pytest

from tests.table_world import TableWorld


@pytest.fixture
def world(tables: TableWorld) -> TableWorld:
    return tables
