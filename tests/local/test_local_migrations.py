"""Migrations are applied in order and once; a database of other ones is recognised."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sakuin_local.errors import LocalError, OtherMigrations
from sakuin_local.supabase.database import Database, running_database
from sakuin_local.supabase.migrations import apply_migrations, migrations_in


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


def test_they_are_applied_by_version_and_once(dsn: str, tmp_path: Path) -> None:
    write(tmp_path, v20260102_row="insert into a values (1)", v20260101_table="create table a (id int)")

    assert apply_migrations(dsn, tmp_path) == ["20260101", "20260102"]
    assert apply_migrations(dsn, tmp_path) == []
    with psycopg.connect(dsn) as connection:
        assert connection.execute("select count(*) from a").fetchone() == (1,)


def test_they_are_recorded_where_the_supabase_cli_looks(dsn: str, tmp_path: Path) -> None:
    write(tmp_path, v20260101_table="create table a (id int)")

    apply_migrations(dsn, tmp_path)

    with psycopg.connect(dsn) as connection:
        rows = connection.execute("select * from supabase_migrations.schema_migrations").fetchall()
    assert rows == [("20260101", ["create table a (id int)"], "table")]


def test_a_changed_file_is_an_error_that_names_it(dsn: str, tmp_path: Path) -> None:
    write(tmp_path, v20260101_table="create table a (id int)")
    apply_migrations(dsn, tmp_path)
    write(tmp_path, v20260101_table="create table a (id bigint)")

    with pytest.raises(OtherMigrations, match="20260101_table changed after it was applied"):
        apply_migrations(dsn, tmp_path)


@pytest.mark.parametrize("now", ["20260102_table", "20260101_notes"], ids=["version", "name"])
def test_a_file_that_is_no_longer_there_is_an_error_that_names_it(dsn: str, tmp_path: Path, now: str) -> None:
    write(tmp_path, v20260101_table="create table a (id int)")
    apply_migrations(dsn, tmp_path)
    (tmp_path / "20260101_table.sql").rename(tmp_path / f"{now}.sql")

    with pytest.raises(OtherMigrations, match=r"20260101_table was applied here, and this version .* does not have it"):
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
        "this version of Sakuin does not have it. docs/how-to/upgrade.md says how data from before 1.0 is carried over."
        " `sakuin up --fresh` deletes the content of the folder and starts with an empty one. To keep the data, move"
        " the folder away first."
    )


def test_a_failing_file_leaves_nothing_of_itself_and_all_before_it(dsn: str, tmp_path: Path) -> None:
    write(tmp_path, v20260101_good="create table a (id int)", v20260102_bad="create table b (id int); oops")

    with pytest.raises(LocalError, match=r"20260102_bad failed.*oops"):
        apply_migrations(dsn, tmp_path)

    with psycopg.connect(dsn) as connection:
        row = connection.execute("select to_regclass('a') is null, to_regclass('b') is null").fetchone()
    assert row == (False, True)


@pytest.mark.parametrize("name", ["first", "first_table", "20260101"])
def test_a_file_without_version_or_name_is_an_error(tmp_path: Path, name: str) -> None:
    write(tmp_path, **{f"v{name}": ""})

    with pytest.raises(LocalError, match=r"<version>_<name>\.sql"):
        migrations_in(tmp_path)


def test_two_files_of_one_version_are_an_error(tmp_path: Path) -> None:
    write(tmp_path, v20260101_a="", v20260101_b="")

    with pytest.raises(LocalError, match="two migrations have the version 20260101"):
        migrations_in(tmp_path)
