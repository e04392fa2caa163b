"""The world of Tables."""

import pytest

from tests.worlds import TableWorld


@pytest.fixture
def world(tables: TableWorld) -> TableWorld:
    return tables
