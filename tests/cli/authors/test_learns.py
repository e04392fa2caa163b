"""`sakuin learns`: the work order, the check, and what is accepted."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from sakuin.knowledge.learns.instructions import INSTRUCTIONS

from tests.builders import a_page
from tests.cli.command import run

Learns = Callable[..., Result]
RULES = {"rule-a": "解の公式: 係数を代入して解く公式です。", "rule-b": "判別式: 解の個数が分かります。"}
ITEMS = "公式で方程式を解く方法", "代入を間違えたときに直す手順", "係数からすぐ答えを出す方法"
GOOD = "".join(["  rule-a:\n", *(f'    - "{item}"\n' for item in ITEMS)])


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


def order(result: Result) -> dict[str, Any]:
    return {section["anchor"]: section for section in json.loads(result.stdout)["sections"]}


def refused(result: Result) -> list[tuple[str, str]]:
    return [(each["anchor"], each["rule"]) for each in json.loads(result.stdout)["refused"]]


def test_the_order_has_what_is_missing_with_its_place_and_the_instructions(learns: Learns) -> None:
    section = order(learns("--json"))["rule-b"]
    assert (section["why"], section["items"], section["before"]) == (["It has no learns"], [], "解の公式")
    assert "解の個数が分かります" in section["text"]
    shown = learns().stdout
    assert INSTRUCTIONS in shown
    assert all(line in shown for line in ("## junior/x#rule-a", "neighbours: 判別式", "`sakuin learns . --check`"))


def test_a_good_list_is_not_in_the_order_and_a_weak_one_is_with_its_items(learns: Learns, site: Path) -> None:
    (site / "learns.yml").write_text("x:\n" + GOOD + "  rule-b: [判別式, 計算]\n", "utf-8")
    sections = order(learns("--json"))
    assert (list(sections), sections["rule-b"]["items"]) == (["rule-b"], ["判別式", "計算"])
    assert any("name no action" in why for why in sections["rule-b"]["why"])


def test_the_nearest_file_counts(learns: Learns, site: Path) -> None:
    (site / "learns.yml").write_text("x:\n  rule-a: [計算]\n  rule-b: [計算]\n", "utf-8")
    (site / "junior" / "learns.yml").write_text("x:\n" + GOOD, "utf-8")
    assert [*order(learns("--json"))] == ["rule-b"]


def test_the_folder_is_that_of_the_site(learns: Learns, site: Path) -> None:
    (site / "sakuin.toml").write_text('pages = "junior"\nprefix = "math"\n')
    shown = run("learns", "--json", NO_COLOR="1", FORCE_COLOR=None)
    assert {section["material"] for section in json.loads(shown.stdout)["sections"]} == {"math/x"}


def test_a_file_that_cannot_be_read_fails_alone(learns: Learns, site: Path) -> None:
    (site / "bad.html").write_bytes(b"%PDF-1.7")
    (site / "learns.yml").write_text("x: [", "utf-8")
    result = learns("--json")
    assert (result.exit_code, [*order(result)]) == (1, ["rule-a", "rule-b"])
    assert refused(learns("--check", "--json")) == [(None, "unreadable-learns"), (None, "unreadable-page")]


def test_questions_of_a_golden_file_are_to_be_covered(learns: Learns, site: Path) -> None:
    (site / "learns.yml").write_text("x:\n" + GOOD, "utf-8")
    lines = [{"query": "式が解けない", "gold": ["junior/x#rule-a"]}, {"query": "円とは"}]
    (site / "golden.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = learns("--questions", "golden.jsonl", "--json")
    assert (order(result)["rule-a"]["questions"], json.loads(result.stdout)["questions"]) == (
        ["式が解けない"],
        ["円とは"],
    )
    shown = learns("--questions", "golden.jsonl").stdout
    assert "- Rewrite its items so that they cover it: 式が解けない" in shown
    assert "## Questions without a section" in shown


@pytest.mark.parametrize(
    ("item", "rule"),
    [
        ("Python 3.13 で解く方法", "learns-promise"),
        ("オイラーの公式を使う方法", "learns-promise"),
        ("判別式を調べる方法", "learns-promise"),
        ("重解の意味", "learns-no-action"),
        ("係数が違うときに解き直す方法", None),
    ],
)
def test_the_check_refuses_what_the_section_does_not_have(
    learns: Learns, site: Path, item: str, rule: str | None
) -> None:
    (site / "learns.yml").write_text(f'x:\n{GOOD}    - "{item}"\n', "utf-8")
    result = learns("--check", "--json")
    assert refused(result) == ([("rule-a", rule)] if rule else [])
    assert result.exit_code == (1 if rule else 0)


@pytest.mark.parametrize(
    ("text", "item", "lacks"),
    [
        ("Put __init__.py beside it, or --shout/--no-shout.", "Fix __init__.py and --shout/--no-shout", None),
        ("Call echo() with Context.params on macOS.", "Fix click.echo() of ctx.params on a Mac", None),
        ("Open the file main.rs now.", "Fix the file lib.rs", "lib.rs"),
        ("A command is here.", "How to write a findable, two-level subcommand", None),
        ("A command is here.", "How to write a `subcommand` for Numpy", "subcommand, Numpy"),
        ("`use`キーワードでRngトレイトとVecを読む。", "use で Vec<T> と Rng を一度に読む方法", None),
        ("fn(callback) を呼ぶ。", "スマホで fn（callback）を3つ呼ぶ方法", None),
        ("Das ist nicht die Farbe.", "Erkläre, wann Farbe und Zeitpunkt nicht verwechselt werden", None),
        ("Los arrays de un texto.", "Explicar los arrays de un texto", None),
        ("De lijst van een array.", "Vervang de lijst van een array", None),
        ("Un testo di array.", '"Scegliere" un testo di array', None),
        ("Un texto.", "Explicar un texto de Numpy", "Numpy"),
        ("Un texto.", "explicaTodo un texto", "explicaTodo"),
        ("Un texto.", "`Explicar` un texto", "Explicar"),
        ("A command is here.", "Use Numpy here", "Numpy"),
        ("命令があります。", "Numpy の命令を使う方法", "Numpy"),
        ("A command is here.", "How to show running things", None),
        ("A command is here.", "How to show the listing", "listing"),
    ],
)
def test_only_names_and_whole_subjects_are_promises(
    learns: Learns, site: Path, text: str, item: str, lacks: str | None
) -> None:
    pages = {"rule-a": f"Here: {text}", "rule-b": "Listing: more", "rule-c": "Running programs: more"}
    (site / "junior" / "x.html").write_bytes(a_page(pages, title=""))
    (site / "learns.yml").write_text(f"x:\n  rule-a: ['{item}']\n", "utf-8")
    shown = learns("--check", "--json").stdout
    assert f" names {lacks}, which the section lacks" in shown if lacks else "which the section lacks" not in shown


def test_small_numbers_of_an_example_are_no_promise_where_the_section_calculates(learns: Learns, site: Path) -> None:
    (site / "junior" / "x.html").write_bytes(a_page({"rule-a": "解の公式: 係数を代入して x = 2 と解く公式です。"}))
    numbers = GOOD.replace("すぐ答えを", " x²+5x+6=0 の答えを")
    (site / "learns.yml").write_text(f"x:\n{numbers}", "utf-8")
    assert refused(learns("--check", "--json")) == []
    (site / "learns.yml").write_text("x:\n" + numbers.replace("5x", "5120x"), "utf-8")
    assert ("rule-a", "learns-promise") in refused(learns("--check", "--json"))


def test_the_check_is_a_table_and_says_what_was_not_asked(learns: Learns, site: Path) -> None:
    (site / "learns.yml").write_text("x:\n" + GOOD + "  rule-b: [計算]\n", "utf-8")
    rows = [line.split() for line in learns("--check").stdout.splitlines()]
    assert rows[:3] == [
        ["section", "items", "check"],
        ["junior/x#rule-a", "3", "ok"],
        ["junior/x#rule-b", "1", "refused"],
    ]
    assert "2 sections not asked: push them to a deployment, and check again" in learns("--check").stdout


def test_an_accepted_list_is_stale_when_its_text_changes_and_until_it_is_accepted_again(
    learns: Learns, site: Path
) -> None:
    (site / "learns.yml").write_text("x:\n" + GOOD + "  rule-b: [計算]\n", "utf-8")
    assert json.loads(learns("--accept", "--json").stdout)["accepted"] == 1
    assert [*order(learns("--json"))] == ["rule-b"]
    (site / "junior" / "x.html").write_bytes(a_page({**RULES, "rule-a": "解の公式: 方程式の係数を代入します。"}))
    assert "has changed" in order(learns("--json"))["rule-a"]["why"][0]
    assert ("rule-a", "learns-stale") in refused(learns("--check", "--json"))
    offline = json.loads(run("validate", ".", "--offline", "--json").stdout)["findings"]
    assert [one["anchor"] for one in offline if one["rule"] == "learns-stale"] == ["rule-a"]
    learns("--accept")
    assert [*order(learns("--json"))] == ["rule-b"]
