"""The workflow of `sakuin init` compares the answers of a pull request with those of the main branch."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from tests.cli.command import run
from tests.effort import EFFORT
from tests.integration.conftest import REPOSITORY
from tests.parallel import SUMMARY

pytestmark = pytest.mark.integration

# With more effort, as many pages as a site of documentation has; else the samples alone, whose vectors are recorded.
PAGES = 100 if EFFORT > 1 else 2
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

    def keeps_the_cache(self) -> None:
        """Leaves what the workflow's cache has, as for the next runner."""
        (cache,) = (
            step["with"]["path"].split() for step in self.steps if str(step.get("uses")).startswith("actions/cache")
        )
        kept = {file for path in cache for file in self.home.glob(path.removeprefix("~/"))}
        for entry in (self.home / "sakuin-ci" / "stack").iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            elif entry not in kept:
                entry.unlink()


def build(site: Path) -> None:
    """Writes the pages of the samples that the questions are about, and others beside them."""
    for material in (FORMULA, LINE):
        (site / material).parent.mkdir(exist_ok=True)
        shutil.copy(REPOSITORY / "samples" / f"{material}.html", site / f"{material}.html")
    for number in range(PAGES - 2):
        sections = "".join(
            f"<h2 id=s{at}>Order {number}-{at}</h2><p>Order {number * 9 + at} of warehouse {number} leaves on day "
            f"{at} by gate {number % 7} for town {number * at}. The driver signs the list of its parcels.</p>"
            for at in range(8)
        )
        (site / f"orders-{number}.html").write_text(f"<html lang=en><h1>Orders {number}</h1>{sections}", "utf-8")


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def assert_one_answer_lost(runner: Runner) -> None:
    """Asks as for a pull request that renames an id; fails unless the comment names the question that lost it."""
    page = runner.checkout / "_site" / f"{FORMULA}.html"
    page.write_text(page.read_text("utf-8").replace('id="rule-quadratic-formula"', 'id="rule-other"'), "utf-8")
    code, printed = runner.runs("Ask golden questions", GITHUB_EVENT_NAME="pull_request")
    assert code == 1, printed
    first, *lines = (runner.checkout / "sakuin-comment.md").read_text("utf-8").splitlines()
    assert first.startswith("**Search**: ")
    assert "1 lost theirs" in first
    assert any("二次方程式を公式で解きたい" in line and "rule-quadratic-formula" in line for line in lines)
    assert lines[-1] == "_asked with the local model_"


def test_a_pull_request_is_told_which_answers_it_takes(runner: Runner) -> None:
    assert runner.runs("rm -rf ~/sakuin-ci/pages") == (0, "")
    assert_one_answer_lost(runner)


@pytest.mark.skipif(EFFORT == 1, reason="the test above asks without a cache; tests/cli/test_cli_eval.py has no change")
def test_the_cache_of_the_main_branch_makes_a_pull_request_fast(runner: Runner, pytestconfig: pytest.Config) -> None:
    code, printed = runner.runs("Ask golden questions", GITHUB_EVENT_NAME="push")
    assert code == 0, printed
    assert not (runner.checkout / "sakuin-comment.md").exists()
    assert runner.runs("rm -rf ~/sakuin-ci/pages") == (0, "")
    runner.keeps_the_cache()
    code, printed = runner.runs("Ask golden questions", GITHUB_EVENT_NAME="pull_request")
    assert code == 0, printed
    comment = (runner.checkout / "sakuin-comment.md").read_text("utf-8")
    assert comment.startswith(f"**Search**: 0 of {len(GOLDEN)} questions have another answer.")
    runner.keeps_the_cache()
    began = time.monotonic()
    assert_one_answer_lost(runner)
    seconds, load = time.monotonic() - began, os.getloadavg()[0]
    pytestconfig.stash[SUMMARY].add(f"pull request: {PAGES} pages, {seconds:.0f} s with warm caches, load {load:.0f}")
    assert seconds <= 180 * max(1, load / 2)
