"""The AWS emulator ministack, in its own environment because it pins its own botocore."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from sakuin_local import same_machine
from sakuin_local.addresses import LOOPBACK
from sakuin_local.errors import LocalError
from sakuin_local.places import EMULATOR, IS_CLONE, REPOSITORY, TOOLS, UV
from sakuin_local.processes import Programs, answers, until_ready

REGION = "us-east-1"
# The emulator's root account, which has every right; the functions have their roles.
ACCESS_KEY, SECRET_KEY = "test", "test"


@dataclass(frozen=True, slots=True)
class Emulator:
    """A running emulator at `port`. Its address is a number, because it interprets host names."""

    port: int

    @property
    def endpoint(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"


def install(programs: Programs) -> None:
    """Installs the emulator with its own packages for an installed `sakuin up`, once; in a clone `make setup` does."""
    if IS_CLONE or (EMULATOR / "ministack").exists():
        return
    locked = REPOSITORY / "requirements" / "emulator.txt"
    environment = dict(os.environ)
    make: list[str | Path] = [UV, "venv", "--clear", "--python", sys.executable, TOOLS / "emulator"]
    programs.run("emulator-environment", make, environment)
    fill: list[str | Path] = [UV, "pip", "install", "--python", EMULATOR / "python", "--require-hashes", "-r", locked]
    programs.run("emulator-install", fill, environment)


def start(folder: Path, programs: Programs, emulator: Emulator) -> Emulator:
    """Starts the emulator with its state in `folder`; returns when it answers."""
    if not (EMULATOR / "ministack").exists():
        raise LocalError("the AWS emulator is not installed; run `make setup`")
    home = folder / "aws"
    wipe_temporary(folder)
    (home / "tmp").mkdir(parents=True)
    environment = {
        # Nothing from the caller's environment: a real account's keys must not reach the handlers.
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_DEFAULT_REGION": REGION,
        "GATEWAY_PORT": str(emulator.port),
        # Handlers use it.
        "AWS_ENDPOINT_URL": emulator.endpoint,
        # By default it listens on every interface.
        "BIND_HOST": LOOPBACK,
        "SFTP_ENABLED": "0",
        "IOT_MTLS_ENABLED": "0",
        # The emulator enforces the roles of the functions.
        "AUTH": "true",
        "PERSIST_STATE": "1",
        "STATE_DIR": str(home / "state"),
        "S3_PERSIST": "1",
        "S3_DATA_DIR": str(home / "s3"),
        # Keeps functions warm between two requests of a person.
        "LAMBDA_WARM_TTL_SECONDS": "86400",
        "LOG_LEVEL": "INFO",
    }
    running = programs.start("emulator", [EMULATOR / "python", "-I", same_machine.__file__], environment)
    until_ready(running, lambda: answers(emulator.port, "/_ministack/health"))
    return emulator


def wipe_temporary(folder: Path) -> None:
    """Removes the files that its workers unpacked and left."""
    shutil.rmtree(folder / "aws" / "tmp", ignore_errors=True)


def minor_version() -> str:
    """Returns the version of the Python that runs handlers, for example `3.11`."""
    question = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [EMULATOR / "python", "-c", question], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()
