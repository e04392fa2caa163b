"""The files `supabase/migrations/*.sql`, applied in order, once each, and recorded as the Supabase CLI does."""

from dataclasses import dataclass
from pathlib import Path

import psycopg

from sakuin_local.errors import LocalError, OtherMigrations


@dataclass(frozen=True, slots=True)
class Migration:
    """One file, `<version>_<name>.sql`."""

    version: str
    name: str
    text: str


def migrations_in(folder: Path) -> list[Migration]:
    """Returns the folder's migrations in their order; a file with another kind of name is an error."""
    found = []
    for file in sorted(folder.glob("*.sql")):
        version, _, name = file.stem.partition("_")
        if not version.isdigit() or not name:
            raise LocalError(f"{file}: a migration is named <version>_<name>.sql, as 20261121000000_chunks.sql")
        found.append(Migration(version, name, file.read_text()))
    versions = [each.version for each in found]
    doubled = {version for version in versions if versions.count(version) > 1}
    if doubled:
        raise LocalError(f"{folder}: two migrations have the version {', '.join(sorted(doubled))}")
    return found


def apply_migrations(dsn: str, folder: Path) -> list[str]:
    """Applies what is not applied yet, each file in a transaction; returns the versions applied now.

    `dsn` is for the role that owns the database. Raises `OtherMigrations` if an applied migration is not in the
    folder, or differs from it.
    """
    applied: list[str] = []
    with psycopg.connect(dsn, autocommit=True) as connection:
        known = _recorded(connection)
        wanted = migrations_in(folder)
        _compare(known, wanted)
        for each in wanted:
            if each.version not in known:
                _apply(connection, each)
                applied.append(each.version)
    return applied


def _compare(known: dict[str, Migration], wanted: list[Migration]) -> None:
    here = {each.version: each for each in wanted}
    for version, applied in known.items():
        name = f"migration {version}_{applied.name}"
        if version not in here or here[version].name != applied.name:
            raise OtherMigrations(f"{name} was applied here, and this version of Sakuin does not have it")
        # What `psql` applied is recorded without its text.
        if applied.text not in ("", here[version].text):
            raise OtherMigrations(f"{name} changed after it was applied here")


def _recorded(connection: psycopg.Connection) -> dict[str, Migration]:
    with connection.transaction():
        connection.execute("create schema if not exists supabase_migrations")
        connection.execute(
            "create table if not exists supabase_migrations.schema_migrations"
            " (version text primary key, statements text[], name text)"
        )
    rows = connection.execute(
        "select version, name, statements[1] from supabase_migrations.schema_migrations order by version"
    )
    return {str(version): Migration(str(version), str(name), str(text or "")) for version, name, text in rows}


def _apply(connection: psycopg.Connection, migration: Migration) -> None:
    try:
        with connection.transaction():
            connection.execute(migration.text.encode())
            connection.execute(
                "insert into supabase_migrations.schema_migrations (version, statements, name) values (%s, %s, %s)",
                (migration.version, [migration.text], migration.name),
            )
    except psycopg.Error as error:
        raise LocalError(f"migration {migration.version}_{migration.name} failed: {error}") from error
