"""Applying `supabase/migrations/*.sql` in order, once each, recorded as the Supabase CLI records them."""

from dataclasses import dataclass
from pathlib import Path

import psycopg

from sakuin_local.errors import LocalError


@dataclass(frozen=True, slots=True)
class Migration:
    """One file, `<version>_<name>.sql`."""

    version: str
    name: str
    text: str


def migrations_in(folder: Path) -> list[Migration]:
    """The folder's migrations in the order they are applied; any other name is an error."""
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
    """Apply what is not applied yet, each file in a transaction; the versions applied now.

    `dsn` belongs to the role that owns the database. A file that changed after it was applied is an error.
    """
    applied: list[str] = []
    with psycopg.connect(dsn, autocommit=True) as connection:
        known = _recorded(connection)
        for each in migrations_in(folder):
            if each.version in known:
                if known[each.version] != each.text:
                    raise LocalError(
                        f"migration {each.version}_{each.name} changed after it was applied here: write "
                        "a new migration, or start again from nothing with `sakuin up --fresh`"
                    )
                continue
            _apply(connection, each)
            applied.append(each.version)
    return applied


def _recorded(connection: psycopg.Connection) -> dict[str, str]:
    with connection.transaction():
        connection.execute("create schema if not exists supabase_migrations")
        connection.execute(
            "create table if not exists supabase_migrations.schema_migrations"
            " (version text primary key, statements text[], name text)"
        )
    rows = connection.execute("select version, statements[1] from supabase_migrations.schema_migrations")
    return {str(version): str(text) for version, text in rows}


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
