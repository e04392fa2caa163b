"""The sample pages keep their promises."""

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml
from bs4 import BeautifulSoup, Tag

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "samples"
PREFIX_OF_BOX = {
    "rule-box": "rule-",
    "method-box": "method-",
    "definition": "def-",
    "example-box": "ex-",
    "tip-box": "tip-",
}
WITHOUT_ID_ON_PURPOSE = {"senior/二次関数の最大と最小_教材": 1}
ACTION = re.compile("(方法|手順|ルール|計算|求め方)$")


@cache
def pages() -> dict[str, BeautifulSoup]:
    """Returns the sample pages by material."""
    return {
        path.relative_to(SAMPLES).with_suffix("").as_posix(): BeautifulSoup(path.read_bytes(), "lxml")
        for path in sorted(SAMPLES.glob("*/*.html"))
    }


def ids(page: BeautifulSoup) -> list[str]:
    return [str(element["id"]) for element in page.find_all(id=True)]


def anchors(page: BeautifulSoup) -> set[str]:
    return {name for name in ids(page) if name.startswith(tuple(PREFIX_OF_BOX.values()))}


def boxes(page: BeautifulSoup, *css_classes: str) -> list[Tag]:
    return [box for css_class in css_classes for box in page.select(f".{css_class}")]


@pytest.mark.scenario("knowledge-index/a-rule-box-has-an-id")
def test_every_rule_box_of_the_samples_has_a_rule_id() -> None:
    assert all(
        str(box.get("id", "")).startswith("rule-") for page in pages().values() for box in boxes(page, "rule-box")
    )


@pytest.mark.scenario("knowledge-index/methods-definitions-and-tips-have-ids")
def test_the_other_boxes_have_the_id_of_their_type_but_for_one_left_out_on_purpose() -> None:
    without: Counter[str] = Counter()
    for material, page in pages().items():
        for css_class, prefix in PREFIX_OF_BOX.items():
            named = [str(box.get("id", "")) for box in boxes(page, css_class)]
            without[material] += named.count("")
            assert all(name.startswith(prefix) for name in named if name), material
    assert +without == WITHOUT_ID_ON_PURPOSE


def test_all_five_types_and_both_folders_are_there() -> None:
    found = {name.split("-")[0] for page in pages().values() for name in anchors(page)}
    assert found == {"rule", "method", "def", "ex", "tip"}
    assert {material.split("/")[0] for material in pages()} == {"junior", "senior"}


@pytest.mark.parametrize("material", pages())
def test_a_page_has_a_body_to_read_and_no_id_twice(material: str) -> None:
    page = pages()[material]
    assert len(ids(page)) == len(set(ids(page)))
    assert page.main is not None
    drawn = sum(len("".join(drawing.get_text().split())) for drawing in page.main.select("svg, script"))
    assert len("".join(page.main.get_text().split())) - drawn >= 900


def test_no_link_between_or_inside_the_samples_is_broken() -> None:
    for material, page in pages().items():
        for link in page.select("a[href]"):
            path, _, fragment = unquote(str(link["href"])).partition("#")
            target = (SAMPLES / material).parent.joinpath(path).resolve() if path else SAMPLES / f"{material}.html"
            assert target.is_file(), link
            there = pages()[target.relative_to(SAMPLES).with_suffix("").as_posix()]
            assert not fragment or fragment in ids(there), link


def test_learns_name_existing_elements_and_three_to_five_actions_each() -> None:
    by_key = {key: page for material, page in pages().items() for key in (material, material.split("/")[-1])}
    files = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in SAMPLES.glob("*/learns.yml")]
    assert len(files) == 2
    for key, by_anchor in (entry for learns in files for entry in learns.items()):
        assert by_anchor.keys() <= anchors(by_key[key]), key
        assert all(3 <= len(items) <= 5 for items in by_anchor.values()), key
        assert all(ACTION.search(item) for items in by_anchor.values() for item in items), key


def test_the_sample_table_has_articles_that_are_indexed_as_one_chunk_each() -> None:
    path = SAMPLES / "tables" / "学習コラム.json"
    articles = json.loads(path.read_text(encoding="utf-8"))["articles"]
    assert len({article["title"] for article in articles}) == len(articles) >= 25
    assert all(200 <= len(article["content"]) <= 950 and article["tags"] for article in articles)
