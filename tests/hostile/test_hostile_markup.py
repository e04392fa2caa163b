"""What markup hides, breaks off or repeats: readers and agents see the same."""

import pytest
from sakuin.knowledge.learns.writer import complete_learns
from sakuin.knowledge.reading.page_reader import read_page

from tests.hostile.pages import ANCHOR, INPUTS, page, texts, titles

MEGABYTE = 1_000_000


@pytest.mark.parametrize("hiding", INPUTS["hidden"])
def test_what_no_reader_sees_is_in_no_title_and_no_content(hiding: str) -> None:
    html = page(f"<section id='rule-a'><h2>題{hiding}</h2><p>文{hiding}</p></section>")
    assert (titles(html), texts(html)) == ({"rule-a": "題"}, {"rule-a": "題\n文"})


@pytest.mark.parametrize("inert", ["template", "noscript", "iframe", "noframes", "noembed"])
def test_an_id_in_what_a_browser_does_not_build_is_no_anchor(inert: str) -> None:
    assert texts(page(f"<{inert}><p id='rule-x'>密</p></{inert}><p id='rule-a'>文")) == {"rule-a": "文"}


@pytest.mark.parametrize("rest", INPUTS["never_closed"])
def test_what_is_never_closed_costs_nothing_that_stands_before_it(rest: str) -> None:
    assert texts(page(f"<p id='rule-a'>前</p>{rest}<p id='rule-b'>後</p>"))["rule-a"].startswith("前")


@pytest.mark.parametrize("broken", INPUTS["broken"])
def test_broken_markup_costs_none_of_its_neighbours(broken: str) -> None:
    read = texts(page(f"<p id='rule-a'>前</p>{broken}<p>間</p><p id='rule-b'>後</p>"))
    assert (read["rule-a"], read["rule-b"]) == ("前", "後")


def test_a_billion_laughs_are_not_told() -> None:
    entities = '<!ENTITY a "ハ"><!ENTITY b "&a;&a;&a;">' + "".join(
        f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(1, 20)
    )
    bomb = f"<!DOCTYPE html [{entities}]><p id='rule-a'>前 &t; 後</p>".encode()
    assert len(texts(bomb)["rule-a"]) < 100


@pytest.mark.parametrize("external", ["SYSTEM 'file:///etc/passwd'", "SYSTEM 'http://127.0.0.1:1/x'", "PUBLIC 'x' 'y'"])
def test_an_external_entity_is_never_fetched(external: str) -> None:
    html = f"<?xml version='1.0'?><!DOCTYPE html [<!ENTITY x {external}>]><html><p id='rule-a'>前&x;後</p></html>"
    assert "root:" not in texts(html.encode())["rule-a"]


@pytest.mark.parametrize("reference", INPUTS["references"])
def test_a_numeric_entity_that_is_no_visible_character_leaves_its_neighbours(reference: str) -> None:
    content = texts(page(f"<p id='rule-a'>前{reference}後"))["rule-a"]
    assert content.replace("\ufffd", "") == "前後"


@pytest.mark.parametrize(
    "pieces",
    [
        *([(r"\frac{", 80_000)], [("}", MEGABYTE)], [(r"\text{\label{", 50_000)], [(r"\sqrt{", 80_000), ("}", 80_000)]),
        *([("$", MEGABYTE)], [(r"\(", 400_000)], [("\\", MEGABYTE)], [(r"\def\a{\a\a}\a", 40_000)]),
        [("{", 500_000), ("}", 499_999)],
    ],
    ids=str,
)
def test_a_megabyte_of_tex_is_read_whatever_its_braces_say(pieces: list[tuple[str, int]]) -> None:
    tex = "".join(piece * times for piece, times in pieces)
    assert "後" in texts(page(f"{ANCHOR}{tex}<p id='rule-b'>後"))["rule-b"]


def test_a_title_that_stands_in_headings_within_headings_is_read_once_each() -> None:
    html = page("<h2>" * 50 + "題" * 100_000 + "<p id='rule-a'>文")
    assert texts(html) == {"rule-a": "文"}


def test_a_step_with_thousands_of_brackets_is_no_learns_item() -> None:
    read = read_page(page(f"{ANCHOR}<ol><li>両辺を割る{'(a)' * 100_000}</ol>"))
    assert 3 <= len(complete_learns((), read.explanations[0], read)) <= 5
