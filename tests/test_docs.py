"""Links, benchmarks, costs, metrics and the model of docs/scale.md in the documents."""

import re
import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from sakuin.platform.openai.models import VENDORS

from benchmarks import scale
from benchmarks.__main__ import ALONE, ON_A_STACK
from tests.test_template import resources

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md")])
LINK = re.compile(r"\[[^\]\n]*\]\((?!https?:)([^)\s#]*)(?:#([^)\s]+))?\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


@cache
def headings(document: Path) -> set[str]:
    """The anchors that a Markdown viewer gives to a document's headings."""
    titles = re.findall(r"^#+ (.+)$", document.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_link_leads_to_a_file_and_a_heading_that_are_there() -> None:
    for document in DOCUMENTS:
        for target, heading in LINK.findall(CODE.sub("", document.read_text("utf-8"))):
            file = document.parent / target if target else document
            assert file.exists(), f"{document}: {target}"
            if heading and file.suffix == ".md":
                assert heading in headings(file.resolve()), f"{document}: {target}#{heading}"


def test_every_document_can_be_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    ahead = [ROOT / "README.md", ROOT / "docs" / "README.md"]
    while ahead:
        document = ahead.pop()
        if document in reached or document.suffix != ".md":
            continue
        reached.add(document)
        targets = [target for target, _ in LINK.findall(document.read_text("utf-8")) if target]
        files = [(document.parent / target).resolve() for target in targets]
        ahead += [file for path in files for file in ([path] if path.is_file() else path.glob("*.md"))]
    assert {document for document in DOCUMENTS if "docs" in document.parts} <= reached


COST = (Path(__file__).parents[1] / "docs" / "reference" / "cost.md").read_text("utf-8")
# A line of a table: its first cell, and the others, of which the first are numbers.
ROWS = re.findall(r"^\| ([^|\n]+?) \| (.+) \|$", COST, re.MULTILINE)


def test_the_models_are_those_of_the_product() -> None:
    models = tomllib.loads(VENDORS.read_text(encoding="utf-8"))["model"]
    expected = {
        f"`{model['name']}`": [
            f"{model['usd_read']:g}",
            f"{model['usd_written']:g}" if "usd_written" in model else "",
            f"{model['shutdown']}, then `{model['replacement']}`" if "shutdown" in model else "no end announced",
            model["source"],
            model["read"],
        ]
        for model in models
    }
    written = {name: [cell.strip() for cell in cells.split("|")] for name, cells in ROWS if name in expected}
    assert written == expected


@pytest.mark.parametrize("heading", ["A library of pages", "Tables", "A public library"])
def test_a_table_adds_up(heading: str) -> None:
    section = COST.split(f"## {heading}\n")[1].split("\n## ")[0]
    amounts: dict[str, list[float]] = {}
    for name, cells in re.findall(r"^\| ([^|]+?) \|(.*)$", section, re.MULTILINE):
        amounts[name] = [float(cell.replace(",", "")) for cell in re.findall(r"[\d,]+\.\d\d", cells)]
    amounts.pop("the first index, once", None)
    [total] = [amounts.pop(name) for name in list(amounts) if name in ("**A month**", "**A day**")]
    columns = zip(*filter(None, amounts.values()), strict=True)
    assert [sum(column) for column in columns] == pytest.approx(total, abs=0.05)


NAMING = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
SMALLEST = {**ALONE, **ON_A_STACK}


def named(text: str) -> set[str]:
    return set(re.findall(r"\bbenchmarks\.([a-z_]+)\b", text))


def test_every_benchmark_that_a_document_names_is_run() -> None:
    names = set().union(*(named(document.read_text("utf-8")) for document in NAMING))
    assert names - SMALLEST.keys() == set()


def test_the_list_of_benchmarks_is_whole() -> None:
    listed = (ROOT / "benchmarks" / "README.md").read_text("utf-8")
    assert set(re.findall(r"^\| `\S+ -m benchmarks\.([a-z_]+)", listed, re.MULTILINE)) == SMALLEST.keys()


@pytest.mark.parametrize("name", sorted(SMALLEST))
def test_what_is_run_is_a_program_that_says_what_it_measures(name: str) -> None:
    source = (ROOT / "benchmarks" / f"{name}.py").read_text("utf-8")
    assert source.startswith('"""')
    assert '\nif __name__ == "__main__":\n' in source


METRICS = (ROOT / "docs" / "reference" / "metrics.md").read_text("utf-8")
LISTED = {name for row in re.findall(r"^\| (`.*?) \|", METRICS, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
SOURCES = "\n".join(
    path.read_text("utf-8") for path in sorted(Path(ROOT / "layers" / "sakuin" / "sakuin").rglob("*.py"))
)
COUNTED = set(re.findall(r'(?:add_metric|\bmeter\.count)\(\s*"(\w+)"', SOURCES))


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


# ---------------------------------------------------------------- docs/scale.md


SCALE_ROWS = scale.PAGE.read_text("utf-8").partition(scale.TABLE_BEGINS)[2].partition("\n\n")[0].splitlines()


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_the_table_is_that_of_the_model() -> None:
    # The fifth and the sixth column are those of the simulation.
    assert [cells(row)[:4] + cells(row)[6:] for row in SCALE_ROWS] == [
        cells(row) for row in scale.table(simulated=False)
    ]


def test_the_simulation_agrees_with_the_model() -> None:
    load = next(scale.loads())
    finished, waited = scale.Simulation(load).run()
    assert finished == pytest.approx(load.finish(), rel=0.1)
    assert cells(SCALE_ROWS[0])[4:6] == [scale.duration(finished), scale.duration(waited)]


def test_the_simulation_agrees_with_a_thousand_pages_on_the_local_stack() -> None:
    finished, _ = scale.Simulation(scale.of_the_local_run()).run()
    assert finished == pytest.approx(scale.ASSUMED["local"]["many"]["seconds"], rel=0.1)


def test_a_day_without_budget_left_is_waited_for() -> None:
    load = replace(next(scale.loads()), units=30, arrival=60.0)
    budget = replace(load, daily_tokens=load.sums("tokens") / 2.5)
    finished, _ = scale.Simulation(budget).run()
    assert 2 * scale.DAY < finished == pytest.approx(budget.finish(), rel=0.1)


def test_one_namespace_takes_an_entry_a_second() -> None:
    *_, load = scale.loads()
    one = replace(load, messages=50, stages=[replace(stage, workers=1) for stage in load.stages], tokens_a_minute=1e12)
    finished, _ = scale.Simulation(one).run()
    assert finished >= 49 * scale.ENTRY_SECONDS
