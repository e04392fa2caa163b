"""The sample pages keep their promises."""

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from tests.cli.command import run

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "samples"
PREFIX_OF_BOX = {
    "rule-box": "rule-",
    "method-box": "method-",
    "definition": "def-",
    "example-box": "ex-",
    "tip-box": "tip-",
}
WITHOUT_ID_ON_PURPOSE = "senior/二次関数の最大と最小_教材"


@cache
def pages() -> dict[str, BeautifulSoup]:
    """Returns the sample pages by material."""
    return {
        path.relative_to(SAMPLES).with_suffix("").as_posix(): BeautifulSoup(path.read_bytes(), "lxml")
        for path in sorted(SAMPLES.glob("*/*.html"))
    }


def ids(css_class: str) -> list[tuple[str, str]]:
    """Returns material and id of each box; the id is empty if it has none."""
    return [(name, str(box.get("id", ""))) for name, page in pages().items() for box in page.select(f".{css_class}")]


@pytest.mark.scenario("knowledge-index/a-rule-box-has-an-id")
def test_every_rule_box_of_the_samples_has_a_rule_id() -> None:
    assert all(id.startswith("rule-") for _, id in ids("rule-box"))


@pytest.mark.scenario("knowledge-index/methods-definitions-and-tips-have-ids")
def test_the_other_boxes_have_the_id_of_their_type_but_for_one_left_out_on_purpose() -> None:
    without: Counter[str] = Counter()
    for css_class, prefix in PREFIX_OF_BOX.items():
        named = ids(css_class)
        assert named, css_class
        assert all(id.startswith(prefix) for _, id in named if id), css_class
        without.update(material for material, id in named if not id)
    assert without == {WITHOUT_ID_ON_PURPOSE: 1}
    assert {material.split("/")[0] for material in pages()} == {"junior", "senior"}


def test_validation_finds_nothing_else() -> None:
    """No id twice, no broken link, and and good learns of existing elements."""
    found = json.loads(run("validate", SAMPLES, "--offline", "--json", SAKUIN_DATA=None).stdout)["findings"]
    to_correct = [(one["rule"], one["material"]) for one in found if one["severity"] != "info"]
    assert to_correct == [("box-without-id", WITHOUT_ID_ON_PURPOSE)]


@pytest.mark.parametrize("material", pages())
def test_a_page_has_a_body_to_read(material: str) -> None:
    page = pages()[material]
    assert page.main is not None
    drawn = sum(len("".join(drawing.get_text().split())) for drawing in page.main.select("svg, script"))
    assert len("".join(page.main.get_text().split())) - drawn >= 900


def test_the_sample_table_has_articles_that_are_indexed_as_one_chunk_each() -> None:
    path = SAMPLES / "tables" / "学習コラム.json"
    articles = json.loads(path.read_text(encoding="utf-8"))["articles"]
    assert len({article["title"] for article in articles}) == len(articles) >= 25
    assert all(200 <= len(article["content"]) <= 950 and article["tags"] for article in articles)
