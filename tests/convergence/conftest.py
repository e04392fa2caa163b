"""The backend of the schedules: one database and one store for all of them."""

from collections.abc import Iterator

import pytest
from sakuin_local.supabase.database import Database

from tests.convergence.world import Backend, backend_of


@pytest.fixture(scope="module")
def backend(database: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    with backend_of(database, tmp_path_factory.mktemp("convergence")) as backend:
        yield backend
