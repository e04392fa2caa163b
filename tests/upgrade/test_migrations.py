"""Migrations are never edited, and all of them together give the schema that people read."""

import re
import tomllib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from sakuin.errors import Unavailable
from sakuin.platform.supabase.client import answer, connected
from sakuin.platform.supabase.reading_functions import READING_FUNCTIONS
from sakuin.platform.supabase.schema import DIGEST, NEWEST_MIGRATION, Health, HealthCheck, compared
from sakuin_local.places import MIGRATIONS, REPOSITORY, SCHEMA
from sakuin_local.supabase.database import Database
from sakuin_local.supabase.migrations import apply_migrations

from tests.database_server import DatabaseServer, connection_to
from tests.postgres_programs import done
from tests.upgrade.migrations import (
    FIRST,
    commits_of,
    digests,
    dump,
    edited,
    reading_functions,
    recorded_digests,
    schema_digest,
)


@pytest.fixture(scope="module")
def migrated(database: Database) -> Database:
    """A database with all migrations."""
    return database


@pytest.fixture(scope="module")
def written(database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A database with the files that people read."""
    folder = tmp_path_factory.mktemp("schema")
    with database_server.copy(folder, with_migrations=False) as running:
        apply_migrations(running.dsn_postgres, SCHEMA)
        yield running


def test_no_migration_was_edited() -> None:
    assert edited(digests(), recorded_digests()) == []
    assert set(digests()) == set(recorded_digests()), "python -m tests.upgrade write"


def test_one_commit_wrote_the_first_migration() -> None:
    commits = commits_of(FIRST)
    if commits is None:
        # The test before this one compares its digest.
        warnings.warn("Its history is missing. In a shallow clone: git fetch --unshallow", stacklevel=1)
    assert commits is None or len(commits) == 1


def test_all_migrations_give_the_schema_that_people_read(migrated: Database, written: Database) -> None:
    assert dump(migrated) == dump(written)
    assert schema_digest(written.dsn) == schema_digest(migrated.dsn)


def test_the_code_names_the_schema_that_it_was_built_for(migrated: Database) -> None:
    assert max(MIGRATIONS.glob("*.sql")).name.startswith(f"{NEWEST_MIGRATION}_")
    assert schema_digest(migrated.dsn) == DIGEST, "python -m tests.upgrade write"


def test_the_requests_that_are_repeated_are_those_that_postgres_declares_as_reading(migrated: Database) -> None:
    assert set(reading_functions(migrated.dsn)) == READING_FUNCTIONS, "python -m tests.upgrade write"
    assert {"search_candidates", "endpoint_of_key", "index_versions"} <= READING_FUNCTIONS


def test_the_roles_of_the_api_may_create_no_temporary_table(written: Database) -> None:
    """They would be found before those of the schema where a function forgets its search_path."""
    with psycopg.connect(written.dsn) as connection:
        rows = connection.execute(
            "select rolname from pg_roles where has_database_privilege(oid, current_database(), 'temporary')"
            " and (rolname ~ '^sakuin_' or rolname in ('anon', 'authenticated', 'authenticator', 'service_role'))"
        ).fetchall()
    assert rows == []


CHANGES = tomllib.loads(Path(__file__).with_name("changes.toml").read_text())


@pytest.mark.parametrize("change", CHANGES)
def test_each_change_of_the_schema_gives_another_digest(written: Database, change: str) -> None:
    with undone(written) as connection:
        connection.execute(CHANGES[change].encode())
        row = connection.execute("select public.schema_digest()").fetchone()
    assert row != (schema_digest(written.dsn),)


_LONG_INDEX = re.compile(r"```sh\n(psql .*?concurrently.*?)```", re.DOTALL)
_INDEX = "create index if not exists material_updated on public.material (updated_at)"


def test_a_long_index_is_built_beside_writers_and_again_after_an_end_in_between(
    written: Database, tmp_path: Path
) -> None:
    (build,) = _LONG_INDEX.findall((REPOSITORY / "docs" / "how-to" / "upgrade.md").read_text())
    before = schema_digest(written.dsn)
    with undone(written) as connection:
        connection.execute(_INDEX)
        row = connection.execute("select public.schema_digest()").fetchone()
    with psycopg.connect(written.dsn_postgres) as writer:
        writer.execute("lock table public.material in row exclusive mode")
        with pytest.raises(AssertionError, match="statement timeout"):
            done(build.replace("= 0", "= 500"), tmp_path, written)
    with psycopg.connect(written.dsn_postgres, autocommit=True) as sql:
        is_valid = "select indisvalid from pg_index where indexrelid = 'public.material_updated'::regclass"
        assert (sql.execute(is_valid).fetchall(), schema_digest(written.dsn)) == ([(False,)], before)
        done(build, tmp_path, written)
        # The migration finds it.
        sql.execute(_INDEX)
        assert (sql.execute(is_valid).fetchall(), (schema_digest(written.dsn),)) == ([(True,)], row)
        sql.execute("drop index public.material_updated")


@contextmanager
def undone(database: Database) -> Iterator[psycopg.Connection]:
    """Lets a block change the schema in a transaction that is rolled back."""
    with psycopg.connect(database.dsn) as connection:
        yield connection
        connection.rollback()


@pytest.mark.parametrize(
    ("migrations", "digest", "state"),
    [
        ([NEWEST_MIGRATION], DIGEST, "current"),
        # A copy of the schema in a database that another program made.
        ([], DIGEST, "current"),
        (["20261122000007"], "other", "older"),
        ([], "other", "older"),
        ([NEWEST_MIGRATION, "29990101000000"], "other", "newer"),
        ([NEWEST_MIGRATION], "other", "changed"),
    ],
)
def test_a_schema_is_compared_with_that_of_the_code(migrations: list[str], digest: str, state: str) -> None:
    assert compared(migrations, digest) == state


def test_a_check_of_the_schema_asks_once_a_minute(database: Database) -> None:
    now = [0.0]
    check = HealthCheck(connected(database.rest_url, database.service_key, seconds=2), clock=lambda: now[0])
    sql = connection_to(database.dsn)
    states = [check().schema]
    sql.execute("alter table public.material add column note text")
    try:
        states.append(check().schema)
        now[0] = 61.0
        states.append(check().schema)
    finally:
        sql.execute("alter table public.material drop column note")
    now[0] = 122.0
    assert [*states, check().schema] == ["current", "current", "changed", "current"]


def test_a_database_that_does_not_answer_is_unknown() -> None:
    assert HealthCheck(connected("http://127.0.0.1:9", "key", seconds=1))() == Health()


def test_a_function_or_table_that_the_database_lacks_is_said(migrated: Database) -> None:
    client = connected(migrated.rest_url, migrated.service_key)
    for request in (client.rpc("of_a_later_version", {}), client.table("of_a_later_version").insert({"id": 1})):
        with pytest.raises(Unavailable, match="lacks a function or table of this version"):
            answer(request)
