"""What is published by hand, tried dry: the action, the release, the image, the entry of the MCP registry."""

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from sakuin import __version__

from tests.test_docs_commands import _check

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
RELEASE: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
SERVER: dict[str, Any] = json.loads((ROOT / "server.json").read_text())
STEPS = [*ACTION["runs"]["steps"], *(step for job in RELEASE["jobs"].values() for step in job["steps"])]
# A `sakuin` that keeps its arguments, and prints what a comparison has lost.
FAKE = """#!/bin/sh -e
echo "$*" >> "$CALLS"
case "$*" in *--compare*) echo "1 answer changed"; exit 1;; esac
"""


def test_all_files_have_the_version_of_the_package() -> None:
    packages = [package["version"] for package in SERVER["packages"]]
    assert {SERVER["version"], *packages, ACTION["inputs"]["version"]["default"]} == {__version__}
    assert f"sakuin[local]=={__version__}" in json.dumps(SERVER)


def test_the_scripts_of_all_steps_are_read_by_bash() -> None:
    scripts = [step["run"] for step in STEPS if "run" in step]
    assert len(scripts) > 5
    for script in scripts:
        plain = re.sub(r"\$\{\{.*?\}\}", "x", script)
        assert subprocess.run(["bash", "-n"], input=plain, text=True, capture_output=True).stderr == ""


def run_action(folder: Path, golden: str) -> tuple[int, list[str], str]:
    """Runs the step that pushes; returns its exit code, the calls of the command, and the summary."""
    (folder / "sakuin").write_text(FAKE)
    (folder / "sakuin").chmod(0o755)
    calls, summary = folder / "calls", folder / "summary"
    environment = {"PATH": f"{folder}:/usr/bin:/bin", "CALLS": str(calls), "GITHUB_STEP_SUMMARY": str(summary)}
    environment |= {"RUNNER_TEMP": str(folder), "PAGES": "my pages", "PREFIX": "docs", "TIMEOUT": "9", "GOLDEN": golden}
    script = next(step["run"] for step in ACTION["runs"]["steps"] if "sakuin push" in step["run"])
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", script], env=environment)
    return done.returncode, calls.read_text().splitlines(), summary.read_text() if summary.exists() else ""


def test_the_action_asks_before_and_after_it_pushes_and_fails_with_a_lost_answer(tmp_path: Path) -> None:
    code, calls, summary = run_action(tmp_path, "golden.jsonl")
    assert (code, [call.split()[0] for call in calls], summary) == (
        1,
        ["eval", "push", "eval", "eval"],
        "1 answer changed\n",
    )
    for call in calls:
        _check(call, ROOT / "action.yml")


def test_the_action_only_pushes_without_questions(tmp_path: Path) -> None:
    assert run_action(tmp_path, "") == (0, ["push my pages --prefix docs --timeout 9 --yes"], "")


def test_nothing_is_published_without_a_person_and_with_no_stored_token() -> None:
    published = {name: job for name, job in RELEASE["jobs"].items() if name != "build"}
    assert {name: job["environment"] for name, job in published.items()} == {name: name for name in published}
    assert published["pypi"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in (ROOT / ".github/workflows/release.yml").read_text()


def test_the_image_installs_the_command_and_runs_it_as_a_user() -> None:
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if line and not line.startswith("#")]
    parts = dict(line.split(" ", 1) for line in lines)
    assert [line.split(" ", 1)[0] for line in lines] == ["FROM", "ARG", "RUN", "USER", "WORKDIR", "ENTRYPOINT", "CMD"]
    assert parts["USER"] == "sakuin"
    _check(shlex.join([*json.loads(parts["ENTRYPOINT"])[1:], *json.loads(parts["CMD"])]), ROOT / "Dockerfile")


@pytest.mark.parametrize(("field", "most"), [("description", 100), ("title", 100), ("name", 200)])
def test_the_registry_takes_the_texts_and_finds_the_name_in_readme(field: str, most: int) -> None:
    assert 0 < len(SERVER[field]) <= most
    assert f"<!-- mcp-name: {SERVER['name']} -->" in README
    assert re.fullmatch(r"[A-Za-z0-9.-]+/[A-Za-z0-9._-]+", SERVER["name"])
