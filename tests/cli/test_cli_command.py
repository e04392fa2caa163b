"""The console script as a program of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import run as run_here

REPOSITORY = Path(__file__).parents[2]
WITHOUT_LOCAL = """
import sys
sys.modules["sakuin_local"] = None
from sakuin_cli.main import main
sys.argv = ["sakuin", *sys.argv[1:]]
main()
"""
LOADED = """
import sys
from sakuin_cli.main import main
sys.argv = ["sakuin", "push", "--help"]
try:
    main()
finally:
    heavy = {"boto3", "openai", "supabase", "mcp", "httpx", "bs4", "yaml", "sakuin_cli.client"} & set(sys.modules)
    print("loaded:", sorted(heavy))
"""


def run(*arguments: str, here: Path, code: str | None = None) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", code] if code else [str(Path(sys.executable).with_name("sakuin"))]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SAKUIN_", "AWS_"))}
    return subprocess.run(
        [*program, *arguments],
        cwd=here,
        env={**inherited, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_help_names_the_commands() -> None:
    said = run("--help", here=REPOSITORY)
    assert said.returncode == 0
    for command in ("up", "push", "rm", "search", "read", "status", "validate"):
        assert f" {command} " in said.stdout


def test_help_loads_nothing_that_takes_long() -> None:
    assert run(here=REPOSITORY, code=LOADED).stdout.splitlines()[-1] == "loaded: []"


def test_without_the_local_stack_the_other_commands_are_there(tmp_path: Path) -> None:
    said = run("--help", here=tmp_path, code=WITHOUT_LOCAL)
    assert said.returncode == 0
    assert " push " in said.stdout
    assert " up " not in said.stdout


NOWHERE = {"SAKUIN_URL": "http://127.0.0.1:1"}
KEYS = {"SAKUIN_API_KEY": "k", "SAKUIN_ADMIN_KEY": "k", "SAKUIN_BUCKET": "b", "AWS_DEFAULT_REGION": "us-east-1"}
NOT_STARTED = "There is no .sakuin/env here or in a parent folder: run `sakuin up` first"
NO_ANSWER = "Sakuin does not answer at http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("command", "settings", "sentence"),
    [
        *((command, {}, NOT_STARTED) for command in ("search x", "read x#rule-y", "validate", "rm x", "push .")),
        *((command, {**NOWHERE, **KEYS}, NO_ANSWER) for command in ("status", "search x", "push .")),
        ("search x", NOWHERE, "SAKUIN_API_KEY is not set: run `sakuin up` first, or set SAKUIN_API_KEY"),
        ("keys list", {"AWS_PROFILE": "nobody", "SAKUIN_SECRET": "s"}, "The AWS settings are wrong:"),
    ],
)
def test_what_is_missing_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, settings: dict[str, str], sentence: str
) -> None:
    for name in os.environ:
        if name.startswith(("SAKUIN_", "AWS_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.html").write_text("<p>x")
    shown = run_here(*command.split(), NO_COLOR="1", **settings)
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert shown.stderr.startswith(f"sakuin: {sentence}")
    assert shown.stderr.count("\n") == 1
