"""The programs of tests/clients/package-lock.json, on a Node.js that is new enough for them."""

import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULES = ROOT / ".tools" / "clients" / "node_modules"
OLDEST = 22
_CPU = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}


def node() -> str:
    """The Node.js that came with the clients; where npm has none for this machine, the machine's own."""
    cpu = platform.machine().lower()
    program = MODULES / f"node-{platform.system().lower()}-{_CPU.get(cpu, cpu)}" / "bin" / "node"
    found = str(program) if program.exists() else shutil.which("node")
    # A test that is left out without a word would be a test that cannot fail.
    assert found, f"There is no Node.js {OLDEST}. Run `make clients`, or install it"
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    assert int(version.lstrip("v").partition(".")[0]) >= OLDEST, f"{found} is {version}. Run `make clients`"
    return found


def ran(
    script: str, *arguments: str, seconds: int, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """What a script did; its path is seen from the repository."""
    assert (ROOT / script).exists(), f"{script} is not there. Run `make clients`"
    return subprocess.run(
        [node(), str(ROOT / script), *arguments],
        env={"PATH": os.environ["PATH"], "HOME": str(MODULES.parent), **(environment or {})},
        cwd=MODULES.parent,
        capture_output=True,
        text=True,
        timeout=seconds,
    )
