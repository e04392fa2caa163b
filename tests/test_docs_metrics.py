"""docs/reference/metrics.md lists what the functions count, and what alarms and the dashboard read."""

import re
from pathlib import Path

import pytest

from tests.test_template import ROOT, resources

DOCUMENT = (ROOT / "docs" / "reference" / "metrics.md").read_text("utf-8")
LISTED = {name for row in re.findall(r"^\| (`.*?) \|", DOCUMENT, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
CODE = "\n".join(path.read_text("utf-8") for path in sorted(Path(ROOT / "layers" / "sakuin" / "sakuin").rglob("*.py")))
COUNTED = set(re.findall(r'(?:add_metric|\bmeter\.count)\(\s*"(\w+)"', CODE))


def test_every_metric_that_the_functions_count_by_a_literal_name_is_listed() -> None:
    assert len(COUNTED) > 15
    assert set() == COUNTED - LISTED


def test_the_cost_counts_as_many_metrics() -> None:
    # Durations by the kind of function; those of searches are listed.
    legs = [*(f"Index{name}" for name in ("Embedding", "Database", "Store", "Learns")), "ApiDatabase", "ApiStore"]
    listed = len(LISTED) + len([*legs, "MaintainDatabase", "MaintainStore"])
    cost = (ROOT / "docs" / "reference" / "cost.md").read_text("utf-8")
    [counted] = re.findall(r"^\| `metrics` \| (\d+) \|", cost, re.MULTILINE)
    assert abs(int(counted) - listed) <= 3


@pytest.mark.parametrize("name", list(resources("AWS::CloudWatch::Alarm")))
def test_an_alarm_reads_a_listed_metric(name: str) -> None:
    alarm = resources("AWS::CloudWatch::Alarm")[name]
    assert alarm["Namespace"] != "Sakuin" or alarm["MetricName"] in LISTED


def test_the_dashboard_shows_only_listed_metrics() -> None:
    shown = set(re.findall(r'\["Sakuin", "(\w+)"', (ROOT / "template.yaml").read_text("utf-8")))
    legs = {re.sub(r"^(Index|Api|Maintain)(?=Embedding|Database|Store)", "Search", name) for name in shown}
    assert shown
    assert legs - LISTED == set()
