"""The migrations: their digests, and the schema that they give."""

import hashlib
import itertools
import re
import subprocess
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psycopg
import sakuin
from postgrest import APIError
from sakuin.errors import SakuinError
from sakuin.platform.supabase import reading_functions as reading
from sakuin.platform.supabase import schema
from sakuin.platform.supabase.client import answer, connected
from sakuin.platform.supabase.schema import HealthCheck, SchemaState
from sakuin_local.places import MIGRATIONS, REPOSITORY
from sakuin_local.supabase.database import Database

from tests.awaiting import awaited
from tests.postgres_programs import done

FIRST = "20261129000000_version_1_0_0"
DIGESTS = Path(__file__).with_name("digests.toml")
_HEAD = """\
# The SHA-256 of each migration. From 1.0.0 on none is edited: a change is a new file, which
# `python -m tests.upgrade write` adds here.
"""

_READING_FILE = Path(reading.__file__).name
_READING = '''\
"""SQL functions that the product calls, and that are declared as reading: `python -m tests.upgrade write`."""

'''
_READING_NAMES = """
    select proname from pg_proc
    where pronamespace = 'public'::regnamespace and has_function_privilege('service_role', oid, 'execute')
    group by proname having every(provolatile in ('s', 'i')) order by proname
"""


def digests(folder: Path = MIGRATIONS) -> dict[str, str]:
    """Returns the digest of each file, by its name without the ending."""
    return {file.stem: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.glob("*.sql"))}


def recorded_digests() -> dict[str, str]:
    """Returns the digests that were written when the files were made."""
    return dict(tomllib.loads(DIGESTS.read_text()))


def edited(now: Mapping[str, str], recorded: Mapping[str, str]) -> list[str]:
    """Returns the recorded migrations that are another text now, or gone."""
    return [name for name, digest in recorded.items() if now.get(name) != digest]


def commits_of(migration: str) -> list[str] | None:
    """Returns the commits that touched a migration; None where git or its whole history is missing."""
    with suppress(OSError, subprocess.CalledProcessError):
        if _git("rev-parse", "--is-shallow-repository") == ["false"]:
            return _git("log", "--format=%H", "--", f"{MIGRATIONS}/{migration}.sql")
    return None


def _git(*arguments: str) -> list[str]:
    command = ["git", "-C", str(REPOSITORY), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def write_digests() -> None:
    """Writes the digests of new migrations; a committed one that was edited is an error."""
    if wrong := [name for name in edited(digests(), recorded_digests()) if commits_of(name) != []]:
        raise SystemExit(f"A migration is never edited: restore {', '.join(wrong)}, and write a new file")
    lines = (f'{name} = "{digest}"\n' for name, digest in digests().items())
    DIGESTS.write_text(_HEAD + "".join(lines))


def write_constants(dsn: str) -> None:
    """Writes into the code the newest migration, and the digest and the reading functions of this database."""
    file = Path(schema.__file__)
    newest = max(digests()).partition("_")[0]
    text = re.sub(r'(?m)^NEWEST_MIGRATION = ".*"', f'NEWEST_MIGRATION = "{newest}"', file.read_text())
    file.write_text(re.sub(r'(?m)^DIGEST = ".*"', f'DIGEST = "{schema_digest(dsn)}"', text))
    lines = "".join(f'        "{name}",\n' for name in reading_functions(dsn))
    Path(reading.__file__).write_text(f"{_READING}READING_FUNCTIONS = frozenset(\n    {{\n{lines}    }}\n)\n")


def reading_functions(dsn: str) -> list[str]:
    """Returns the SQL functions that the product calls, and whose every form is `stable` or `immutable`."""
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(_READING_NAMES).fetchall()
    code = (file.read_text() for file in Path(sakuin.__file__).parent.rglob("*.py") if file.name != _READING_FILE)
    called = set(re.findall(r'"(\w+)"', "\n".join(code)))
    return [str(name) for (name,) in rows if name in called]


def schema_digest(dsn: str) -> str:
    """Returns the digest of a database's schema."""
    with psycopg.connect(dsn) as connection:
        row = connection.execute("select public.schema_digest()").fetchone()
    assert row is not None
    return str(row[0])


def state_of(database: Database) -> SchemaState:
    """Compares the schema with the one that the code was built for, as `/healthz` does."""
    return HealthCheck(connected(database.rest_url, database.service_key, seconds=5))().schema


def await_reading(database: Database) -> None:
    """Returns when PostgREST has read the schema as it is now.

    It reads tables before functions: when it knows a table that was made now, it knows everything. Before that it may
    know the functions alone, and answers `404 {}` to a row for a table.
    """
    with psycopg.connect(database.dsn_postgres, autocommit=True) as connection:
        connection.execute("create table public.made_now (id integer)")
        awaited("PostgREST has read the schema", lambda: _knows_table(database, "made_now"), within_s=20)
        connection.execute("drop table public.made_now")


def _knows_table(database: Database, table: str) -> bool:
    row = connected(database.rest_url, database.service_key, seconds=5).table(table).insert({"id": 1})
    try:
        answer(row)
    except SakuinError as error:
        # Without a right to write, a known table is refused with a code.
        return isinstance(error.__cause__, APIError) and bool(error.__cause__.code)
    return True


def dump(database: Database) -> list[str]:
    """Returns the lines of the schema `public`, as `pg_dump` writes it, with the grants side by side in one order.

    Their order is that in which they were given, and means nothing.
    """
    command = 'pg_dump "$DATABASE_URL" --schema-only --schema=public --restrict-key=same'
    lines = done(command, Path.cwd(), database).splitlines()
    runs = itertools.groupby(lines, key=lambda line: line.startswith("GRANT "))
    return [line for are_grants, run in runs for line in (sorted(run) if are_grants else run)]
