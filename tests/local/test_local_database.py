"""The local database is what hosted Supabase is, limits included."""

import os
import subprocess
import sys
from pathlib import Path

import httpx
import psycopg
import pytest
from postgrest.exceptions import APIError
from sakuin_local.supabase import postgres
from sakuin_local.supabase.database import Database
from supabase import Client, ClientOptions, create_client

from tests.awaiting import awaited


def client_of(database: Database, key: str) -> Client:
    """The published client; without a session of one's own it makes one in a way that it warns of itself."""
    session = httpx.Client(base_url=f"{database.rest_url}/rest/v1", timeout=60)
    return create_client(database.rest_url, key, ClientOptions(httpx_client=session))


@pytest.fixture
def service(database: Database) -> Client:
    return client_of(database, database.service_key)


@pytest.mark.parametrize("role", ["anon", "authenticated", "service_role"])
def test_nothing_new_is_open_to_anybody_without_a_grant(database: Database, role: str) -> None:
    """As on a project of today. What is left of the former defaults reads and writes nothing over PostgREST."""
    with psycopg.connect(database.dsn_postgres) as connection:
        connection.execute("create table closed (id bigserial primary key)")
        rights = connection.execute(
            "select has_table_privilege(%(role)s, 'closed', 'select, insert, update, delete'),"
            " has_sequence_privilege(%(role)s, 'closed_id_seq', 'usage, select'),"
            " has_table_privilege(%(role)s, 'closed', 'truncate')",
            {"role": role},
        ).fetchone()
        connection.rollback()

    assert rights == (False, False, True)


def test_an_answer_is_cut_at_a_thousand_rows(service: Client) -> None:
    assert len(service.table("note").select("id").execute().data) == 1000


def test_statements_of_the_service_role_end_after_eight_seconds(service: Client) -> None:
    assert service.rpc("current_limit").execute().data == "8s"


def test_the_role_that_applies_migrations_is_no_superuser_and_owns_the_database(database: Database) -> None:
    with psycopg.connect(database.dsn_postgres) as connection:
        row = connection.execute(
            "select rolsuper, pg_get_userbyid(datdba) from pg_roles, pg_database"
            " where rolname = current_user and datname = current_database()"
        ).fetchone()

    assert row == (False, "postgres")


def test_a_later_migrations_tables_are_served_without_a_restart(database: Database, service: Client) -> None:
    with psycopg.connect(database.dsn_postgres, autocommit=True) as connection:
        connection.execute("create table later (id int primary key)")
        connection.execute("grant select on later to service_role")
        connection.execute("insert into later values (1)")

    def rows() -> list[object]:
        try:
            return list(service.table("later").select("id").execute().data)
        except APIError as error:
            # Not read again yet.
            assert error.code in ("42P01", "PGRST002", "PGRST205"), error  # noqa: PT017 - any of these
            return []

    awaited("the row of the new table", rows)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives up its rights")
def test_nobody_may_run_programs_in_a_folder_that_only_root_enters(tmp_path: Path) -> None:
    program = tmp_path / "closed" / "program"
    program.parent.mkdir(mode=0o700)
    program.touch(mode=0o755)
    asked = f"import os; print(os.geteuid() != 0 and os.access({str(program)!r}, os.X_OK))"
    command = [*postgres.unprivileged(), sys.executable, "-c", asked]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "True\n"
