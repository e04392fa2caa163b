"""`sakuin learns`."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from sakuin_cli.commands.authors.learns import DEFAULT_MODEL
from sakuin_local.aws.template import read_template
from sakuin_local.places import TEMPLATE

from tests.builders import a_page
from tests.cli.command import run
from tests.contracts.openai_server import OpenAIServer, openai_server

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
    environ = {"NO_COLOR": "1", "FORCE_COLOR": None, "COLUMNS": "80", "OPENAI_API_KEY": None}
    return lambda *arguments, **settings: run("learns", ".", *arguments, **{**environ, **settings})


@pytest.fixture
def openai() -> Iterator[OpenAIServer]:
    with openai_server() as server:
        yield server


def states(result: Result) -> dict[str, str]:
    document: dict[str, Any] = json.loads(result.stdout)
    return {entry["anchor"]: entry["state"] for entry in document["entries"]}


def test_what_no_file_names_is_missing_and_what_says_too_little_is_weak(learns: Learns, site: Path) -> None:
    assert states(learns("--json")) == {"rule-a": "missing", "rule-b": "missing"}
    (site / "learns.yml").write_text("x:\n" + GOOD + "  rule-b: [判別式, 計算]\n", "utf-8")
    result = learns("--json")
    (entry,) = json.loads(result.stdout)["entries"]
    assert (result.exit_code, entry["anchor"], entry["state"], entry["learns"]) == (
        0,
        "rule-b",
        "weak",
        ["判別式", "計算"],
    )
    said = " ".join(entry["reasons"])
    assert all(words in said for words in ("has 2 learns items", "name no action", "say too little: 判別式 / 計算"))
    # A weak entry is the author's: it stays.
    before = (site / "learns.yml").read_bytes()
    assert learns("--write").stdout.splitlines()[-1].startswith("0 missing, 1 weak, 0 not reviewed, of 2 explanations")
    assert (site / "learns.yml").read_bytes() == before


def test_drafts_go_to_the_file_that_names_the_page_and_are_marked(learns: Learns, site: Path) -> None:
    (site / "learns.yml").write_text("x:\n" + GOOD, "utf-8")
    (site / "junior" / "learns.yml").write_text("# none yet\n", "utf-8")
    assert json.loads(learns("--write", "--json").stdout)["files"] == ["learns.yml"]
    text = (site / "learns.yml").read_text("utf-8")
    assert text.startswith("x:\n" + GOOD + "  # draft (rules): review it, then delete this line\n  rule-b:\n")
    assert states(learns("--json")) == {"rule-b": "draft"}
    written = json.loads(learns("--write", "--json").stdout)
    assert (written["written"], written["drafts"]) == (0, 1)
    (site / "learns.yml").write_text("".join(line for line in text.splitlines(True) if "draft" not in line), "utf-8")
    assert states(learns("--json")) == {}


def test_pages_with_one_name_are_named_in_full(learns: Learns, site: Path) -> None:
    (site / "x.html").write_bytes(a_page(RULES))
    learns("--write", "--prefix", "math")
    lines = (site / "learns.yml").read_text("utf-8").splitlines()
    assert {line for line in lines if line and not line.startswith(" ")} == {"math/junior/x:", "math/x:"}
    assert states(learns("--json", "--prefix", "math")) == dict.fromkeys(RULES, "draft")


def test_the_folder_is_that_of_the_site(learns: Learns, site: Path) -> None:
    (site / "sakuin.toml").write_text('pages = "junior"\nprefix = "math"\n')
    shown = run("learns", "--json", NO_COLOR="1", FORCE_COLOR=None)
    assert {entry["material"] for entry in json.loads(shown.stdout)["entries"]} == {"math/x"}


def test_a_model_drafts_if_there_is_a_key(learns: Learns, site: Path, openai: OpenAIServer) -> None:
    items = ["公式で解く方法", "代入する手順", "符号の確認"]
    openai.said = json.dumps({"items": [{"anchor": "rule-a", "learns": items}]})
    result = learns("--write", "--json", OPENAI_API_KEY="k", OPENAI_BASE_URL=openai.url)
    # What the model leaves out, the rules write.
    assert json.loads(result.stdout)["written_by"] == {DEFAULT_MODEL: 1, "rules": 1}
    assert f"  # draft ({DEFAULT_MODEL}): " in (site / "learns.yml").read_text("utf-8")
    assert len(openai.requests) == 1
    learns(OPENAI_API_KEY="k", OPENAI_BASE_URL=openai.url)
    assert len(openai.requests) == 1


def test_without_an_answer_of_the_model_rules_draft_and_the_command_says_so(
    learns: Learns, openai: OpenAIServer
) -> None:
    openai.statuses = [401] * 9
    result = learns("--write", OPENAI_API_KEY="k", OPENAI_BASE_URL=openai.url)
    assert result.exit_code == 0
    assert "The model did not answer, so rules wrote the rest." in result.stdout
    assert "learns.yml: 2 by rules. Review them, then `sakuin push`" in result.stdout


def test_errors_are_sentences_and_a_page_that_cannot_be_read_fails_alone(learns: Learns, site: Path) -> None:
    (site / "bad.html").write_bytes(b"%PDF-1.7")
    result = learns("--json")
    assert (result.exit_code, [one["path"] for one in json.loads(result.stdout)["failed"]]) == (1, ["bad.html"])
    (site / "learns.yml").write_text("x: [", "utf-8")
    assert learns().stderr.startswith("sakuin: learns.yml, line ")


def test_the_model_is_that_of_the_template() -> None:
    assert read_template(TEMPLATE)["Parameters"]["LearnsModel"]["Default"] == DEFAULT_MODEL
