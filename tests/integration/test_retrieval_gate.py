"""The samples answer the labelled questions as well as they did: a gate that no change of the search may fall below.

The floors stand in `tests/labels`, a little under what was measured; raise them when the search gets better.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from sakuin_cli.client import DeploymentClient
from sakuin_cli.connections import deployment_of
from sakuin_cli.evaluation.ask import ask_all
from sakuin_cli.evaluation.floors import floor_of
from sakuin_cli.evaluation.labels import labelled_questions
from sakuin_cli.evaluation.report import Report, report_of
from sakuin_cli.evaluation.tables import show
from sakuin_cli.settings import CommandSettings

from tests.integration.conftest import REPOSITORY, Deployed, eventually

pytestmark = pytest.mark.integration

LABELS = REPOSITORY / "tests" / "labels"


@pytest.fixture
def client(deployed: Deployed) -> Iterator[DeploymentClient]:
    """The deployment with the Search Tools of the samples."""
    connected = deployment_of(CommandSettings.read(deployed.environment))
    with connected.http:
        yield connected


def measured(client: DeploymentClient, labels: Path, floors: Path, *, tool: str | None = None) -> Report:
    """The report of the development questions of a file, compared with its floors. Held-out ones gate nothing."""
    questions, bad = labelled_questions(labels.read_text("utf-8"))
    assert bad == []
    run = ask_all(client, [one for one in questions if one.half == "dev"], tool=tool, k=5)
    sides = json.loads(floors.read_text("utf-8"))
    bounds = [floor_of(side, f"{name}={value}") for side in sides for name, value in sides[side].items()]
    return report_of(run, floors=bounds)


def passes(report: Report) -> bool:
    """Whether every floor is reached; prints the report if not."""
    if not report.is_clean:
        show(Console(width=120), report)
    return report.is_clean


def test_the_sample_pages_answer_the_labelled_questions(client: DeploymentClient) -> None:
    assert passes(measured(client, LABELS / "knowledge.jsonl", LABELS / "floors.json"))


def test_the_sample_table_answers_the_labelled_questions(client: DeploymentClient) -> None:
    eventually("a Table that is ready", lambda: client.explain("分数", tool="search_columns")["index_state"] == "ready")
    report = measured(client, LABELS / "table.jsonl", LABELS / "floors_table.json", tool="search_columns")
    assert report.run.index_state is None
    assert passes(report)
