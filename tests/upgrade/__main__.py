"""`python -m tests.upgrade write`: the digests of new migrations, and the constants of the code.

`python -m tests.upgrade record`: what the tests ask a database of this version, for the tests of later ones.
"""

import sys
import tempfile
from pathlib import Path

from sakuin_local.supabase.database import running_database

from tests.upgrade.migrations import write_constants, write_digests
from tests.upgrade.recording import record


def write() -> None:
    """Writes what a new migration changes."""
    write_digests()
    with tempfile.TemporaryDirectory() as folder, running_database(Path(folder)) as database:
        write_constants(database.dsn)


if __name__ == "__main__":
    {"write": write, "record": record}[sys.argv[1]]()
