"""What a Supabase project has before its first migration: roles, schemas, `auth`, limits."""

from pathlib import Path

import psycopg
from psycopg import sql

SCRIPT = Path(__file__).with_name("roles.sql")


def ensure_roles(dsn: str, *, password: str) -> None:
    """Create them once, all or none, as the superuser whose `dsn` this is."""
    with psycopg.connect(dsn) as connection:
        if connection.execute("select 1 from pg_roles where rolname = 'authenticator'").fetchone():
            return
        script = SCRIPT.read_text().replace(":password", sql.Literal(password).as_string(connection))
        connection.execute(script.encode())
