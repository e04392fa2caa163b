"""The samples answer the labelled questions as well as they did: a gate that no change of the search may fall below.

The floors stand in `tests/labels`, a little under what was measured; raise them when the search gets better.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from rich.console import Console
from sakuin_cli.client import connected
from sakuin_cli.evaluation.evaluate import Evaluate
from sakuin_cli.evaluation.floors import floors_in
from sakuin_cli.evaluation.labels import labelled_questions
from sakuin_cli.evaluation.report import Report, report_of
from sakuin_cli.evaluation.tables import show
from sakuin_cli.rest_explanations import RestExplanations

from tests.integration.conftest import REPOSITORY, Deployed, eventually

pytestmark = pytest.mark.integration

LABELS = REPOSITORY / "tests" / "labels"
FORMULA = "junior/二次方程式の解き方_教材#rule-quadratic-formula"


@pytest.fixture
def keeper(deployed: Deployed) -> Iterator[RestExplanations]:
    """The deployment's explanations, with the Search Tools of the samples."""
    mcp_id = deployed.environment["SAKUIN_TOOLS_MCP_URL"].rpartition("/")[2]
    with connected(deployed.url, deployed.environment["SAKUIN_ADMIN_KEY"]) as client:
        yield RestExplanations(client, mcp_id)


def measured(keeper: RestExplanations, labels: Path, floors: Path, *, tool: str | None = None) -> Report:
    """The report of all questions of a file, held against its floors."""
    questions, bad = labelled_questions(labels.read_text("utf-8"))
    assert bad == []
    run = Evaluate(keeper, time.sleep)(questions, tool=tool, k=5)
    return report_of(run, floors=floors_in(floors.read_text("utf-8")))


def passes(report: Report) -> bool:
    """Whether every floor is reached; what went wrong is printed, and pytest shows it."""
    if not report.is_clean:
        show(Console(width=120), report)
    return report.is_clean


def test_the_sample_pages_answer_the_labelled_questions(keeper: RestExplanations) -> None:
    assert passes(measured(keeper, LABELS / "knowledge.jsonl", LABELS / "floors.json"))


def test_the_sample_table_answers_the_labelled_questions(keeper: RestExplanations) -> None:
    eventually("a Table that is ready", lambda: keeper.explain("分数", tool="search_columns")["index_state"] == "ready")
    report = measured(keeper, LABELS / "table.jsonl", LABELS / "floors_table.json", tool="search_columns")
    assert report.run.index_state is None
    assert passes(report)


def test_the_command_explains_what_became_of_a_question(deployed: Deployed) -> None:
    code, output = deployed.sakuin("explain", "二次方程式を公式で解きたい", FORMULA)
    assert code == 0
    assert f"expected  {FORMULA}\n  It is in place 1 (" in output


def test_an_agents_key_explains_nothing(deployed: Deployed) -> None:
    headers = {"Authorization": f"Bearer {deployed.environment['SAKUIN_API_KEY']}"}
    answer = httpx.post(f"{deployed.url}/v1/explain", json={"query": "公式"}, headers=headers, timeout=60)
    assert answer.status_code == 401
