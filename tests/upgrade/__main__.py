"""`python -m tests.upgrade write`: the digests of new migrations, and the constants of the code.

Before the first release it also writes the only migration from `supabase/schema/`, and drops the recorded calls that
the schema no longer answers.

`python -m tests.upgrade record`: what the tests ask a database of this version, for the tests of later ones.
"""

import sys
import tempfile
from pathlib import Path

import psycopg
from sakuin_local.supabase.database import running_database

from tests.upgrade.migrations import write_constants, write_digests, write_only_migration
from tests.upgrade.recording import prune, record
from tests.upgrade.replay import Replay


def write() -> None:
    """Writes what a new migration changes."""
    is_candidate = write_only_migration()
    write_digests()
    with tempfile.TemporaryDirectory() as folder, running_database(Path(folder)) as database:
        write_constants(database.dsn)
        if is_candidate:
            with psycopg.connect(database.dsn, autocommit=True) as sql:
                prune(Replay(database.rest_url, database.service_key, sql))


if __name__ == "__main__":
    {"write": write, "record": record}[sys.argv[1]]()
