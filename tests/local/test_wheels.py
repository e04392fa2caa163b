"""The wheels, installed into empty environments, away from the clone and without Node."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.effort import EFFORT
from tests.local.test_local_up import up

ROOT = Path(__file__).resolve().parents[2]
UV = Path(sys.executable).with_name("uv")


def run(*command: str | Path, folder: Path, expected: int = 0) -> str:
    """Returns what a program prints that finds neither Node nor the clone's programs. uv's cache is warm."""
    cache = subprocess.run([UV, "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()
    environment = os.environ | {"PATH": "/usr/bin:/bin", "UV_CACHE_DIR": cache, "COLUMNS": "200"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == expected, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, ROOT / "scripts" / "wheels", folder, folder=folder)
    return folder


def installed(wheels: Path, folder: Path, extra: str = "") -> Path:
    """Returns the command of a new environment that has the wheel alone, and what it needs."""
    (wheel,) = wheels.glob("sakuin-*.whl")
    run(UV, "venv", "--quiet", folder / "venv", folder=folder)
    install = (UV, "pip", "install", "--quiet", "--python", folder / "venv" / "bin" / "python")
    run(*install, "--find-links", wheels, f"sakuin{extra} @ {wheel.as_uri()}", folder=folder)
    return folder / "venv" / "bin" / "sakuin"


def test_the_small_wheel_is_the_command_of_authors(wheels: Path, tmp_path: Path) -> None:
    sakuin = installed(wheels, tmp_path)
    assert run(sakuin, "--version", folder=tmp_path).startswith("sakuin ")
    order = run(sakuin, "learns", ROOT / "samples" / "senior", folder=tmp_path)
    assert order.startswith("# Write `learns`\n")
    pages = {page.stem for page in (ROOT / "samples" / "senior").glob("*.html")}
    assert set(re.findall("^## (.+?)#", order, re.MULTILINE)) == pages
    assert 'install "sakuin[local]"' in run(sakuin, "up", folder=tmp_path, expected=1)


@pytest.mark.skipif(EFFORT == 1, reason="it installs the emulator and starts a stack: make proofs")
def test_the_local_wheel_serves_a_folder_of_markdown(
    wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sakuin = installed(wheels, tmp_path, "[local]")
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "orders.md").write_text("# Orders\n\n## Returns\n\nUnused items may go back within 14 days.\n", "utf-8")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with up(tmp_path / ".sakuin", sakuin, docs):
        found = run(sakuin, "search", "how long can I send something back?", "--top-k", "1", folder=tmp_path)
        assert "/orders.html#returns" in found
