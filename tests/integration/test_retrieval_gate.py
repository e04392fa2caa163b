"""The samples answer the labelled questions as well as they did: a gate that no change of the search may fall below.

The floors stand in `tests/labels`, a little under what was measured; raise them when the search gets better.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sakuin_cli.client import DeploymentClient
from sakuin_cli.connections import deployment_of
from sakuin_cli.evaluation.figures import bound_of, figures, missed
from sakuin_cli.evaluation.questions import Question, questions_in
from sakuin_cli.evaluation.report import show_run
from sakuin_cli.evaluation.run import ask_all
from sakuin_cli.settings import CommandSettings
from sakuin_cli.terminal import Terminal

from tests.integration.conftest import REPOSITORY, Deployed, eventually

pytestmark = pytest.mark.integration

LABELS = REPOSITORY / "tests" / "labels"


@pytest.fixture
def client(deployed: Deployed) -> Iterator[DeploymentClient]:
    """The deployment with the Search Tools of the samples."""
    connected = deployment_of(CommandSettings.read(deployed.environment))
    with connected.http:
        yield connected


def development_questions(labels: Path) -> list[Question]:
    """The questions of a file that gate something; held-out ones do not."""
    questions, bad = questions_in(labels)
    assert bad == []
    lines = labels.read_text("utf-8").splitlines()
    return [each for each in questions if json.loads(lines[each.line - 1])["half"] == "dev"]


def passes(client: DeploymentClient, labels: Path, floors: Path, *, tool: str | None = None) -> bool:
    """Whether the answers reach every floor; prints them if not."""
    run = ask_all(client, development_questions(labels), tool=tool)
    assert (run.bad_lines, run.index_state) == ((), None)
    means, sides = figures(run.answers, run.k), json.loads(floors.read_text("utf-8"))
    bounds = [bound_of(side, f"{name}={value}") for side in sides for name, value in sides[side].items()]
    below = missed(bounds, means)
    if below:
        show_run(Terminal(as_json=False), run, means, below)
    return not below


def test_the_sample_pages_answer_the_labelled_questions(client: DeploymentClient) -> None:
    assert passes(client, LABELS / "knowledge.jsonl", LABELS / "floors.json")


def test_the_sample_table_answers_the_labelled_questions(client: DeploymentClient) -> None:
    eventually("a Table that is ready", lambda: client.explain("分数", tool="search_columns")["index_state"] == "ready")
    assert passes(client, LABELS / "table.jsonl", LABELS / "floors_table.json", tool="search_columns")
