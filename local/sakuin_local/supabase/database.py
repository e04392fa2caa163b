"""A project of Supabase: Postgres with the migrations, PostgREST behind `/rest/v1` and Auth behind `/auth/v1`."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import psycopg
from psycopg import sql

from sakuin_local.addresses import LOOPBACK, stable_ports
from sakuin_local.errors import LocalError, OtherMigrations
from sakuin_local.places import MIGRATIONS, TOOLS
from sakuin_local.processes import Programs, end_leftovers
from sakuin_local.proxy import Proxy, Target
from sakuin_local.serving import served
from sakuin_local.supabase import postgres, postgrest
from sakuin_local.supabase.auth.application import auth_of, gateway
from sakuin_local.supabase.auth.records import User
from sakuin_local.supabase.migrations import apply_migrations
from sakuin_local.supabase.tokens import SigningKey, keys_of, local_user_of, secret_of, signing_key_of

_ROLES = Path(__file__).with_name("roles.sql")
PORTS = ("postgres", "postgrest", "postgrest_admin", "rest")
# Supabase's own, for a project that has no application yet.
SITE_URL = "http://127.0.0.1:3000"


@dataclass(frozen=True, slots=True)
class Database:
    """Addresses and keys of a running database.

    `dsn` is for the superuser, `dsn_postgres` for the role that owns the database and applies migrations.
    `rest_url` is the URL for `supabase.create_client`, `http://127.0.0.1:PORT`, without `/rest/v1`.
    """

    dsn: str = field(repr=False)
    dsn_postgres: str = field(repr=False)
    rest_url: str
    anon_key: str = field(repr=False)
    service_key: str = field(repr=False)
    jwt_secret: str = field(repr=False)
    signing_key: SigningKey = field(repr=False)


@contextmanager
def running_database(folder: Path, migrations: Path = MIGRATIONS) -> Iterator[Database]:
    """Starts the database alone in `folder`, whose data is kept, and stops it when the block ends. For tests.

    Nothing is synced to disk, so a power failure may corrupt the folder.
    """
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    end_leftovers(folder)
    programs = Programs(folder)
    try:
        ports = stable_ports(folder / "ports.json", PORTS)
        with database_of(folder, programs, ports, migrations=migrations, settings={"fsync": "off"}) as database:
            yield database
    finally:
        programs.stop()


@contextmanager
def database_of(
    folder: Path,
    programs: Programs,
    ports: Mapping[str, int],
    *,
    migrations: Path,
    settings: Mapping[str, str] | None = None,
    site_url: str = SITE_URL,
) -> Iterator[Database]:
    """Starts both programs on these `PORTS`; serves `/rest/v1` and `/auth/v1` while the block runs.

    `site_url` is the address of the application with the consent page. Auth has one user, that of `local_user_of`.
    """
    program = postgrest.postgrest_program(TOOLS)
    keys, signing_key = keys_of(folder), signing_key_of(folder)
    password = secret_of(folder / "postgres-password")
    server = postgres.start(folder, programs, port=ports["postgres"], password=password, settings=settings)
    ensure_roles(server.dsn(), password=password)
    try:
        apply_migrations(server.dsn("postgres"), migrations)
    except OtherMigrations as error:
        raise LocalError(
            f"{folder} has the data of another version of Sakuin: {error}. `sakuin up --fresh` deletes the content of "
            "the folder and starts with an empty one. To keep the data, move the folder away first."
        ) from error
    postgrest.start(
        programs,
        server,
        program=program,
        port=ports["postgrest"],
        admin_port=ports["postgrest_admin"],
        jwt_secret=signing_key.with_secret(keys.jwt_secret),
    )
    url = f"http://{LOOPBACK}:{ports['rest']}"
    api_keys, secret_keys = {keys.anon}, {keys.service}
    file = folder / "auth.json"
    auth = auth_of(file, signing_key, url=url, site_url=site_url, api_keys=api_keys, secret_keys=secret_keys)
    user = local_user_of(folder)
    auth.sessions.records.write_users = partial(write_users, server.dsn())
    auth.sessions.records.add_user(user.email, user.password, user.id)
    rest = Proxy(lambda path: Target(ports["postgrest"], path))
    with served(gateway(auth, rest), port=ports["rest"]):
        yield Database(
            dsn=server.dsn(),
            dsn_postgres=server.dsn("postgres"),
            rest_url=url,
            anon_key=keys.anon,
            service_key=keys.service,
            jwt_secret=keys.jwt_secret,
            signing_key=signing_key,
        )


def ensure_roles(dsn: str, *, password: str) -> None:
    """Creates what a Supabase project has before its first migration, once: roles, schemas, `auth`, limits.

    `dsn` is the superuser's.
    """
    with psycopg.connect(dsn) as connection:
        if connection.execute("select 1 from pg_roles where rolname = 'authenticator'").fetchone():
            # Version 1.0.0 made the table without them.
            connection.execute(
                "alter table auth.users add column if not exists email_confirmed_at timestamptz,"
                " add column if not exists is_sso_user boolean not null default false"
            )
            return
        script = _ROLES.read_text().replace(":password", sql.Literal(password).as_string(connection))
        connection.execute(script.encode())


def write_users(dsn: str, users: Collection[User]) -> None:
    """Writes the table `auth.users`, which migrations of a Supabase project may read. `dsn` is the superuser's."""
    rows = [(user.id, user.email, "now" if user.is_confirmed else None) for user in users]
    with psycopg.connect(dsn) as connection, connection.cursor() as cursor:
        cursor.execute("delete from auth.users")
        cursor.executemany("insert into auth.users (id, email, email_confirmed_at) values (%s, %s, %s)", rows)
