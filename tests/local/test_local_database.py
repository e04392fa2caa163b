"""The local database: what hosted Supabase is, its migrations, and the folder that one stack at a time uses."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest
from postgrest.exceptions import APIError
from sakuin_cli.settings import environment
from sakuin_local.addresses import stable_ports
from sakuin_local.aws.keys import api_keys_of
from sakuin_local.data_folder import claimed, write_environment
from sakuin_local.errors import LocalError, OtherMigrations
from sakuin_local.serving import listen
from sakuin_local.supabase import postgres
from sakuin_local.supabase.auth.records import User
from sakuin_local.supabase.database import Database, ensure_roles, running_database, write_users
from sakuin_local.supabase.migrations import apply_migrations
from sakuin_local.supabase.tokens import keys_of
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


def test_the_users_of_auth_are_in_its_table_also_in_a_folder_of_version_1_0_0(database: Database) -> None:
    users = [User(email=email, is_confirmed=email == "a@b.example", password="") for email in ("a@b.example", "c@d")]
    with psycopg.connect(database.dsn, autocommit=True) as sql:
        sql.execute("alter table auth.users drop column email_confirmed_at, drop column is_sso_user")
        ensure_roles(database.dsn, password="")
        write_users(database.dsn, users)
        rows = sql.execute(
            "select email, email_confirmed_at < now(), is_sso_user from auth.users order by 1"
        ).fetchall()
    assert rows == [("a@b.example", True, False), ("c@d", None, False)]


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


@pytest.fixture
def dsn(database: Database) -> Iterator[str]:
    """A database of its own on the running server."""
    with psycopg.connect(database.dsn_postgres, autocommit=True) as connection:
        connection.execute("drop database if exists scratch")
        connection.execute("create database scratch")
        yield database.dsn_postgres.removesuffix("postgres") + "scratch"
        connection.execute("drop database scratch with (force)")


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name.removeprefix('v')}.sql").write_text(text)


def test_they_are_applied_by_version_and_once_and_recorded_as_the_supabase_cli_does(dsn: str, tmp_path: Path) -> None:
    files = {"v20260102_row": "insert into a values (1)", "v20260101_table": "create table a (id int)"}
    write(tmp_path, **files)
    assert apply_migrations(dsn, tmp_path) == ["20260101", "20260102"]
    assert apply_migrations(dsn, tmp_path) == []
    with psycopg.connect(dsn) as connection:
        assert connection.execute("select count(*) from a").fetchone() == (1,)
        recorded = connection.execute("select * from supabase_migrations.schema_migrations").fetchall()
    assert recorded == [
        ("20260101", [files["v20260101_table"]], "table"),
        ("20260102", [files["v20260102_row"]], "row"),
    ]


@pytest.mark.parametrize(
    ("now", "text", "message"),
    [
        ("20260101_table", "create table a (id bigint)", "20260101_table changed after it was applied"),
        ("20260102_table", "select 1", "20260101_table was applied here, and this version .* does not have it"),
        ("20260101_notes", "select 1", "20260101_table was applied here, and this version .* does not have it"),
    ],
)
def test_a_changed_or_missing_file_is_an_error_that_names_it(
    dsn: str, tmp_path: Path, now: str, text: str, message: str
) -> None:
    write(tmp_path, v20260101_table="create table a (id int)")
    apply_migrations(dsn, tmp_path)
    (tmp_path / "20260101_table.sql").unlink()
    write(tmp_path, **{f"v{now}": text})
    with pytest.raises(OtherMigrations, match=message):
        apply_migrations(dsn, tmp_path)


def test_a_data_folder_of_another_version_is_told_apart_and_what_to_do_with_it(tmp_path: Path) -> None:
    """As one that was made with the 32 migrations from before."""
    before, now, data = tmp_path / "before", tmp_path / "now", tmp_path / "data"
    before.mkdir()
    now.mkdir()
    write(before, v20261121000001_materials="create table material (id int)", v20261122000001_projects="select 1")
    write(now, v20261122000001_pages="create table material (id bigint)")
    with running_database(data, before):
        pass

    with pytest.raises(LocalError) as failure, running_database(data, now):
        pass

    assert str(failure.value) == (
        f"{data} has the data of another version of Sakuin: migration 20261121000001_materials was applied here, and "
        "this version of Sakuin does not have it. `sakuin up --fresh` deletes the content of the folder and starts with"
        " an empty one. To keep the data, move the folder away first."
    )


def test_a_failing_file_leaves_nothing_of_itself_and_all_before_it(dsn: str, tmp_path: Path) -> None:
    write(tmp_path, v20260101_good="create table a (id int)", v20260102_bad="create table b (id int); oops")

    with pytest.raises(LocalError, match=r"20260102_bad failed.*oops"):
        apply_migrations(dsn, tmp_path)

    with psycopg.connect(dsn) as connection:
        row = connection.execute("select to_regclass('a') is null, to_regclass('b') is null").fetchone()
    assert row == (False, True)


@pytest.mark.parametrize("name", ["first", "first_table", "20260101"])
def test_a_file_without_version_or_name_is_an_error(dsn: str, tmp_path: Path, name: str) -> None:
    write(tmp_path, **{f"v{name}": ""})

    with pytest.raises(LocalError, match=r"<version>_<name>\.sql"):
        apply_migrations(dsn, tmp_path)


def test_a_second_one_on_the_same_folder_is_told_so(folder: Path) -> None:
    with claimed(folder), pytest.raises(LocalError, match=r"is already running on"), claimed(folder):
        pass


@pytest.mark.parametrize("fresh", [False, True])
def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, fresh: bool) -> None:
    thesis = tmp_path / "thesis.tex"
    thesis.write_text("years of work")

    with pytest.raises(LocalError, match="files that are not Sakuin's"), claimed(tmp_path, fresh=fresh):
        pass

    assert thesis.exists()


def test_fresh_forgets_everything(folder: Path) -> None:
    with claimed(folder):
        first = api_keys_of(folder)
        (folder / "postgres").mkdir()
    with claimed(folder, fresh=True) as ended:
        assert ended == []
        assert not (folder / "postgres").exists()
        assert api_keys_of(folder) != first


def test_keys_stay_the_same_and_are_their_owners_only(folder: Path) -> None:
    folder.mkdir()

    assert api_keys_of(folder) == api_keys_of(folder)
    assert keys_of(folder) == keys_of(folder)
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}


def test_ports_stay_the_same_where_they_are_free(folder: Path) -> None:
    folder.mkdir()
    ports = stable_ports(folder / "ports.json", ("postgres", "rest"))

    assert stable_ports(folder / "ports.json", ("postgres", "rest")) == ports
    with listen(ports["rest"]):
        changed = stable_ports(folder / "ports.json", ("postgres", "rest"))
    assert changed["postgres"] == ports["postgres"]
    assert changed["rest"] != ports["rest"]


def test_a_port_that_is_taken_is_said_plainly() -> None:
    with listen(0) as somebody, pytest.raises(LocalError, match="is in use"):
        listen(somebody.getsockname()[1])


def test_the_environment_file_is_read_back_and_its_owners_only(tmp_path: Path) -> None:
    values = {"SAKUIN_URL": "http://127.0.0.1:8787", "SAKUIN_DATABASE_DSN": "postgresql://a:b=c@d/e"}

    write_environment(tmp_path / "env", values)

    assert environment({}, tmp_path, here=tmp_path) == values
    assert (tmp_path / "env").stat().st_mode & 0o777 == 0o600
