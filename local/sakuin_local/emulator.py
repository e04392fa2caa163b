"""AWS on this machine: ministack, in an environment of its own because it pins its own botocore."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sakuin_local import same_machine
from sakuin_local.addresses import LOOPBACK
from sakuin_local.errors import LocalError
from sakuin_local.places import EMULATOR
from sakuin_local.processes import Programs
from sakuin_local.proxy import Proxy, Target
from sakuin_local.same_machine import SameMachine
from sakuin_local.serving import served
from sakuin_local.waiting import answers, until_ready

REGION = "us-east-1"
# The emulator's own account, which may do everything; the functions have their roles.
ACCESS_KEY, SECRET_KEY = "test", "test"


@dataclass(frozen=True, slots=True)
class Emulator:
    """A running one, at `port`; whoever calls AWS uses `endpoint`, the edge in front of it.

    The address is a number, since the emulator takes names apart.
    """

    port: int
    edge_port: int

    @property
    def endpoint(self) -> str:
        return f"http://{LOOPBACK}:{self.edge_port}"


@contextmanager
def edge(emulator: Emulator) -> Iterator[None]:
    """Serve AWS's edge while the block runs: there TLS ends, and a policy may refuse what came without it.

    On this machine nothing is encrypted. The emulator believes this header, so that the template's
    `aws:SecureTransport` statements let calls through as they do on AWS.
    """
    with_tls = Proxy(lambda path: Target(emulator.port, path), added=[(b"x-forwarded-proto", b"https")])
    with served(SameMachine(with_tls), port=emulator.edge_port):
        yield


def start(folder: Path, programs: Programs, emulator: Emulator) -> Emulator:
    """Start it with its state under `folder`; returns when it answers."""
    if not (EMULATOR / "ministack").exists():
        raise LocalError("the AWS emulator is not installed; run `make setup`")
    home = folder / "aws"
    wipe_temporary(folder)
    (home / "tmp").mkdir(parents=True)
    environment = {
        # Nothing of the caller's environment: a real account's keys would end up in the handlers.
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_DEFAULT_REGION": REGION,
        "GATEWAY_PORT": str(emulator.port),
        # For the handlers.
        "AWS_ENDPOINT_URL": emulator.endpoint,
        # It listens to the whole network otherwise.
        "BIND_HOST": LOOPBACK,
        "SFTP_ENABLED": "0",
        "IOT_MTLS_ENABLED": "0",
        # Functions may do what their roles allow, and no more.
        "AUTH": "true",
        "PERSIST_STATE": "1",
        "STATE_DIR": str(home / "state"),
        "S3_PERSIST": "1",
        "S3_DATA_DIR": str(home / "s3"),
        # A person comes back after five minutes and expects a warm answer.
        "LAMBDA_WARM_TTL_SECONDS": "86400",
        "LOG_LEVEL": "INFO",
    }
    running = programs.start("emulator", [EMULATOR / "python", "-I", same_machine.__file__], environment)
    until_ready(running, lambda: answers(emulator.port, "/_ministack/health"))
    return emulator


def wipe_temporary(folder: Path) -> None:
    """Remove what its workers unpacked; it leaves that behind."""
    shutil.rmtree(folder / "aws" / "tmp", ignore_errors=True)


def minor_version() -> str:
    """The Python that handlers run on, as `3.11`."""
    question = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [EMULATOR / "python", "-c", question], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()
