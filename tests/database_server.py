"""One Postgres server for a run of the tests, and copies of its database that has the migrations."""

import fcntl
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import psycopg
from psycopg import sql
from sakuin_local.addresses import free_port
from sakuin_local.places import MIGRATIONS, TOOLS
from sakuin_local.processes import Programs
from sakuin_local.supabase import postgres, postgrest
from sakuin_local.supabase.database import Database, ensure_roles
from sakuin_local.supabase.migrations import apply_migrations
from sakuin_local.supabase.postgres import SUPERUSER, Postgres
from sakuin_local.supabase.tokens import Keys, SigningKey, keys_of, secret_of, signing_key_of

from tests.rest_prefix import served_below_prefix

# Each copy has a PostgREST with ten connections. Tests connect a thousand times, with a password that is no secret.
# What a power cut would cost is thrown away after the run anyway.
SETTINGS = {
    **{"max_connections": "200", "scram_iterations": "1"},
    **{"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"},
}
# PostgREST checks each token once, and needs one thread: that saves a fifth of its processor time.
REST_SETTINGS = {"PGRST_JWT_CACHE_MAX_LIFETIME": "3600", "GHCRTS": "-N1"}
_NUMBERS = itertools.count()
# A database as Supabase makes it: without the migrations.
_NEW = "new_project"


@dataclass(frozen=True, slots=True)
class DatabaseServer:
    """A running server. Its database `postgres` has the migrations and no connection, so that it can be copied."""

    template: Postgres
    keys: Keys
    signing_key: SigningKey

    @contextmanager
    def copy(self, folder: Path, *, with_migrations: bool = True) -> Iterator[Database]:
        """Creates a database without a row, serves it with PostgREST, and drops it at the end.

        Logs and ports are kept in `folder`.
        """
        template = self.template.database if with_migrations else _NEW
        copied = replace(self.template, database=f"copy_{os.getpid()}_{next(_NUMBERS)}")
        programs, keys, port = Programs(folder), self.keys, free_port()
        with psycopg.connect(replace(self.template, database="template1").dsn(), autocommit=True) as connection:
            _copy(connection, template, copied.database)
            try:
                postgrest.start(
                    programs,
                    copied,
                    program=postgrest.postgrest_program(TOOLS),
                    port=port,
                    admin_port=free_port(),
                    jwt_secret=self.signing_key.with_secret(keys.jwt_secret),
                    settings=REST_SETTINGS,
                )
                with served_below_prefix(port) as url:
                    yield Database(
                        copied.dsn(),
                        copied.dsn("postgres"),
                        url,
                        keys.anon,
                        keys.service,
                        keys.jwt_secret,
                        self.signing_key,
                    )
            finally:
                programs.stop()
                connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(copied.database)))


@cache
def connection_to(dsn: str) -> psycopg.Connection:
    """Returns the connection that this process has to a database: a new one takes longer than most tests' SQL."""
    return psycopg.connect(dsn, autocommit=True)


def server_in(folder: Path) -> DatabaseServer:
    """The server of a folder; the first process that asks starts it, and it runs until `end_leftovers`."""
    folder.mkdir(exist_ok=True)
    ready = folder / "ready"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        password, keys = secret_of(folder / "postgres-password"), keys_of(folder)
        signing_key = signing_key_of(folder)
        if not ready.exists():
            server = postgres.start(folder, Programs(folder), port=free_port(), password=password, settings=SETTINGS)
            ensure_roles(server.dsn(), password=password)
            with psycopg.connect(replace(server, database="template1").dsn(), autocommit=True) as connection:
                _copy(connection, server.database, _NEW)
            apply_migrations(server.dsn("postgres"), MIGRATIONS)
            with psycopg.connect(server.dsn()) as connection:
                # Made before the server had its settings.
                renewed = sql.SQL("alter role {} password {}").format(sql.Identifier(SUPERUSER), sql.Literal(password))
                connection.execute(renewed)
                # For `emptied`, which no trigger and no foreign key is to slow down.
                connection.execute("grant set on parameter session_replication_role to postgres")
            ready.write_text(str(server.port))
    return DatabaseServer(Postgres(int(ready.read_text()), password), keys, signing_key)


def _copy(connection: psycopg.Connection, template: str, name: str) -> None:
    created = sql.SQL("create database {} template {} owner postgres")
    connection.execute(created.format(sql.Identifier(name), sql.Identifier(template)))
    # A copy lacks the settings that `alter database` made.
    settings = connection.execute(
        "select split_part(each, '=', 1), substr(each, strpos(each, '=') + 1)"
        " from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase, unnest(s.setconfig) each"
        " where s.setrole = 0 and d.datname = %s",
        [template],
    ).fetchall()
    for setting, value in settings:
        connection.execute("select set_config(%s, %s, false)", [setting, value])
        kept = sql.SQL("alter database {} set {} from current")
        connection.execute(kept.format(sql.Identifier(name), sql.Identifier(setting)))
