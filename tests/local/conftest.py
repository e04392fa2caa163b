"""The local stack's own tests; everything here stays on this machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sakuin_local.supabase.database import Database, running_database

MIGRATION = """
create extension if not exists vector with schema extensions;
create table note (id int primary key, place vector(3));
grant select on note to service_role;
insert into note select n, '[1,2,3]' from generate_series(1, 1200) n;
create function current_limit() returns text language sql stable as $$
    select current_setting('statement_timeout')
$$;
"""


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Postgres and PostgREST with one migration of this folder's."""
    migrations = tmp_path_factory.mktemp("migrations")
    (migrations / "20260101000000_note.sql").write_text(MIGRATION)
    with running_database(tmp_path_factory.mktemp("database"), migrations) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder that nobody used before."""
    return tmp_path / "data"
