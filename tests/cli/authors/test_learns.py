"""`sakuin learns`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.builders import a_page
from tests.cli.command import run

Learns = Callable[..., Result]
RULES = {"rule-a": "解の公式: 係数を代入して解く公式です。", "rule-b": "判別式: 解の個数が分かります。"}
GOOD = '  rule-a:\n    - "公式で解く方法"\n    - "係数を代入する手順"\n    - "答えを確かめる方法"\n'


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder with one page below `junior/`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "junior").mkdir()
    (tmp_path / "junior" / "x.html").write_bytes(a_page(RULES))
    return tmp_path


@pytest.fixture
def learns(site: Path) -> Learns:
    environ = {"NO_COLOR": "1", "FORCE_COLOR": None, "COLUMNS": "80"}
    return lambda *arguments: run("learns", ".", *arguments, **environ)


def findings(result: Result) -> list[tuple[str, str]]:
    document: dict[str, Any] = json.loads(result.stdout)
    return [(finding["anchor"], finding["rule"]) for finding in document["findings"]]


def test_what_no_file_names_is_missing_and_what_names_no_action_is_weak(learns: Learns, site: Path) -> None:
    assert findings(learns("--json")) == [("rule-a", "learns-missing"), ("rule-b", "learns-missing")]
    (site / "learns.yml").write_text("x:\n" + GOOD + "  rule-b: [判別式, 計算]\n", "utf-8")
    result = learns("--json")
    assert (result.exit_code, findings(result)) == (0, [("rule-b", "learns-completed"), ("rule-b", "learns-no-action")])
    shown = learns().stdout
    assert all(words in shown for words in ("has 2 learns items", "name no action"))
    assert shown.splitlines()[-1] == "0 errors, 2 warnings: 1 learns-completed, 1 learns-no-action"


def test_the_nearest_file_counts(learns: Learns, site: Path) -> None:
    (site / "learns.yml").write_text("x:\n  rule-a: [計算]\n  rule-b: [計算]\n", "utf-8")
    (site / "junior" / "learns.yml").write_text("x:\n" + GOOD, "utf-8")
    assert {anchor for anchor, _ in findings(learns("--json"))} == {"rule-b"}


def test_the_folder_is_that_of_the_site(learns: Learns, site: Path) -> None:
    (site / "sakuin.toml").write_text('pages = "junior"\nprefix = "math"\n')
    shown = run("learns", "--json", NO_COLOR="1", FORCE_COLOR=None)
    assert {finding["material"] for finding in json.loads(shown.stdout)["findings"]} == {"math/x"}


def test_a_file_that_cannot_be_read_fails_alone(learns: Learns, site: Path) -> None:
    (site / "bad.html").write_bytes(b"%PDF-1.7")
    (site / "learns.yml").write_text("x: [", "utf-8")
    result = learns("--json")
    rules = [rule for _, rule in findings(result)]
    assert (result.exit_code, rules) == (
        1,
        ["unreadable-page", "unreadable-learns", "learns-missing", "learns-missing"],
    )
