"""The files `supabase/migrations/*.sql`, applied in order, once each, and recorded as the Supabase CLI does."""

import re
from pathlib import Path

import psycopg

from sakuin_local.errors import LocalError, OtherMigrations

_NAME = re.compile(r"(\d+)_(.+)")
_TABLE = """
    create schema if not exists supabase_migrations;
    create table if not exists supabase_migrations.schema_migrations
        (version text primary key, statements text[], name text);
"""


def apply_migrations(dsn: str, folder: Path) -> list[str]:
    """Applies what is not applied yet, each file in a transaction; returns the versions applied now.

    `dsn` is for the role that owns the database. Raises `OtherMigrations` if an applied migration is not in the
    folder, or differs from it.
    """
    files = {file.stem: file.read_text() for file in sorted(folder.glob("*.sql"))}
    applied: list[str] = []
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(_TABLE)
        query = "select version || '_' || name, coalesce(statements[1], '') from supabase_migrations.schema_migrations"
        recorded: dict[str, str] = dict(connection.execute(query).fetchall())
        for stem, text in recorded.items():
            if stem not in files:
                raise OtherMigrations(f"migration {stem} was applied here, and this version of Sakuin does not have it")
            # What `psql` applied is recorded without its text.
            if text not in ("", files[stem]):
                raise OtherMigrations(f"migration {stem} changed after it was applied here")
        for stem in files.keys() - recorded.keys():
            if not _NAME.fullmatch(stem):
                raise LocalError(f"{stem}.sql: a migration is named <version>_<name>.sql, as 20261121000000_chunks.sql")
        for stem in (stem for stem in files if stem not in recorded):
            _apply(connection, stem, files[stem])
            applied.append(stem.partition("_")[0])
    return applied


def _apply(connection: psycopg.Connection, stem: str, text: str) -> None:
    version, _, name = stem.partition("_")
    try:
        with connection.transaction():
            connection.execute(text.encode())
            connection.execute(
                "insert into supabase_migrations.schema_migrations (version, statements, name) values (%s, %s, %s)",
                (version, [text], name),
            )
    except psycopg.Error as error:
        raise LocalError(f"migration {stem} failed: {error}") from error
