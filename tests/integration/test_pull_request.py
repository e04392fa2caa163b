"""The workflow of `sakuin init` compares the answers of a pull request with those of the main branch."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.cli.command import run
from tests.integration.conftest import REPOSITORY

pytestmark = pytest.mark.integration

FORMULA, LINE = "junior/二次方程式の解き方_教材", "junior/一次関数_教材"
GOLDEN = [
    {"query": "二次方程式を公式で解きたい", "gold": [f"{FORMULA}#rule-quadratic-formula"]},
    {"query": "一次関数の傾き", "gold": [f"{LINE}#rule-slope"]},
    *({"query": query} for query in ("判別式", "平方完成", "変化の割合")),
]


class Runner:
    """A runner of GitHub Actions: the steps of the workflow, in a checkout and a home of their own."""

    def __init__(self, folder: Path) -> None:
        self.home, self.checkout = folder / "home", folder / "site"
        for place in (self.home, self.checkout / "_site"):
            place.mkdir(parents=True)
        (self.checkout / "golden.jsonl").write_text(
            "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in GOLDEN), "utf-8"
        )
        build(self.checkout / "_site")
        assert run("init", str(self.checkout), SAKUIN_DATA=None).exit_code == 0
        workflow = yaml.safe_load((self.checkout / ".github/workflows/sakuin.yml").read_text("utf-8"))
        self.steps = workflow["jobs"]["pages"]["steps"]

    def runs(self, begin: str, **environment: str) -> tuple[int, str]:
        """Runs the step whose name or command begins so; returns its exit code and what it prints."""
        (command,) = (
            step["run"] for step in self.steps if "run" in step and step.get("name", step["run"]).startswith(begin)
        )
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command],
            cwd=self.checkout,
            env={
                **{name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "SAKUIN_"))},
                **{"HOME": str(self.home), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
                **{"SAKUIN_PUSH_KEY": "", **environment},
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout


def build(site: Path) -> None:
    """Writes the pages of the samples that the questions are about; their vectors are recorded."""
    for material in (FORMULA, LINE):
        (site / material).parent.mkdir(exist_ok=True)
        shutil.copy(REPOSITORY / "samples" / f"{material}.html", site / f"{material}.html")


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def test_a_pull_request_is_told_which_answers_it_takes(runner: Runner) -> None:
    """The pull request renames the id of the answer to one question."""
    assert runner.runs("rm -rf ~/sakuin-ci/pages") == (0, "")
    page = runner.checkout / "_site" / f"{FORMULA}.html"
    page.write_text(page.read_text("utf-8").replace('id="rule-quadratic-formula"', 'id="rule-other"'), "utf-8")
    code, printed = runner.runs("Ask golden questions", GITHUB_EVENT_NAME="pull_request")
    assert code == 1, printed
    first, *lines = (runner.checkout / "sakuin-comment.md").read_text("utf-8").splitlines()
    assert first.startswith("**Search**: ")
    assert "1 lost theirs" in first
    assert any("二次方程式を公式で解きたい" in line and "rule-quadratic-formula" in line for line in lines)
    assert lines[-1] == "_asked with the local model_"
