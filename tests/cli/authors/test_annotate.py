"""`sakuin annotate`: which boxes get an id, and which."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from sakuin.knowledge.page import DEFAULT_BOX_SELECTORS
from sakuin.knowledge.reading.page_reader import read_page
from sakuin.language.vocabulary import NO_VOCABULARY, vocabulary_of
from sakuin_cli.annotation.boxes import find_boxes
from sakuin_cli.annotation.slugs import Slugs
from sakuin_cli.annotation.source import read_source

from tests.cli.command import run

SLUGS = Slugs(vocabulary_of("school-mathematics"))
Annotate = Callable[..., Result]


@pytest.fixture
def annotate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Annotate:
    monkeypatch.chdir(tmp_path)
    environ = {"NO_COLOR": "1", "FORCE_COLOR": None, "COLUMNS": "80", "SAKUIN_BOX_SELECTORS": None}
    return lambda *arguments, **settings: run("annotate", *arguments, **{**environ, **settings})


def boxes(html: str, *selectors: str, suffix: str = ".html") -> list[tuple[str | None, str | None]]:
    """The id of each box without one, and the reason if it gets none."""
    found = find_boxes(read_source(html.encode(), suffix=suffix), selectors, SLUGS)
    return [(box.id, box.reason) for box in found.boxes]


def box(title: str, kind: str = "rule-box", body: str = "") -> str:
    return f'<div class="{kind}"><strong>{title}</strong>{body}</div>'


@pytest.mark.parametrize(
    ("kind", "title", "proposed"),
    [
        ("rule-box", "📌 ルール1：解の公式 → 例1", "rule-quadratic-formula"),
        ("rule-box", "たすき掛け", "method-tasukigake"),
        ("rule-box", "グラフの描き方", "method-line-drawing"),
        ("rule-box", "確率の定義", "def-probability"),
        ("rule-box", "公式（暗記必須！）", "rule-koushiki"),
        ("tip-box", "✏️ コツ2：公式は「形」で覚える", "tip-koushiki-katachi-oboeru"),
        ("tip-box", "フランス革命の原因", "tip-furansu-kakumei-genin"),
        ("tip-box", "両辺を文字で割らない", "tip-ryouhen-moji-waranai"),
        ("theorem", "Theorem 3.1 (Pythagoras' theorem)", "rule-pythagoras-theorem"),
        ("Definition", "What is a limit?", "def-what-is-limit"),
        ("rule-box", "How to complete the square", "method-how-to-complete-square"),
        ("note", "Größe und Maß", "tip-grosse-und-mass"),
        ("note", "Закон Ома", "tip-закон-ома"),
        ("example", "例3", "ex-3"),
        ("rule-box", "第2法則", "rule-daini-housoku"),
        ("tip-box", "ピザで思い出す", "tip-piza-omoidasu"),
        ("law", "Every natural number that is not 1 has a prime factor", "rule-every-natural-number-not-1"),
        ("example-box", "2x^2+7x+3=0 をたすき掛けで解く", "ex-tasukigake-toku"),
        ("定理", "円周角の定理", "rule-inscribed-angle"),
    ],
)
def test_an_id_says_type_and_title(kind: str, title: str, proposed: str) -> None:
    assert boxes(box(title, kind)) == [(proposed, None)]


def test_a_tip_that_is_called_tip_is_named_by_its_words() -> None:
    html = '<div class="admonition tip"><p class="admonition-title">Tip</p><p>Use the cache. It is fast.</p></div>'
    assert boxes(html) == [("tip-use-cache", None)]


def test_without_a_vocabulary_a_title_is_read() -> None:
    assert Slugs(NO_VOCABULARY).of("因数分解", "rule") == "insuu-bunkai"


@pytest.mark.parametrize("selector", DEFAULT_BOX_SELECTORS)
def test_what_validation_calls_a_box_is_one(selector: str) -> None:
    assert boxes(box("Some title", selector.removeprefix(".")))[0][0]


@pytest.mark.parametrize(
    "html",
    [
        box("練習1", body="<p>次の方程式を解け。</p>"),
        box("Exercise 2.3", "theorem"),
        "<h2>7. 練習問題</h2>" + box("公約数を使う"),
        box("解の公式", "rule-box exercise"),
        f'<div class="rule-box"><b>問題 3</b>{box("Look here", "tip-box")}</div>',
    ],
)
def test_what_readers_answer_is_an_exercise(html: str) -> None:
    assert {reason for _, reason in boxes(html)} == {"exercise"}
    # `validate` reports no such box either.
    assert read_page(html.encode()).unnamed_boxes == ()


def test_a_heading_of_prose_makes_no_exercise() -> None:
    assert boxes("<h2>Questions</h2>" + box("Who pays?", "note")) == [("tip-who-pays", None)]


@pytest.mark.parametrize("html", ["<div class=formula>\\[ a^2 = b \\]</div>", '<div class="tip-box"><i></i></div>'])
def test_what_says_nothing_is_decoration(html: str) -> None:
    assert boxes(html) == [(None, "decoration")]


@pytest.mark.parametrize(
    "html",
    [
        box("解の公式", "example-title"),
        '<p class="tip">Look at it</p>',
        '<nav><div class="tip">Look at it</div></nav>',
        '<div class="tip" hidden>Look at it</div>',
        '<!-- <div class="tip">Look at it</div> -->',
        '<div class="tip-box"><h3 id="tip-look">Look at it</h3></div>',
        '<div class="rule-box" id="method-{{ slug }}">x y z</div>',
        "{% comment %}" + box("Look at it") + "{% endcomment %}",
        "---\nexcerpt: " + box("Look at it") + "\n---\n",
    ],
)
def test_other_elements_and_boxes_with_an_id_are_none(html: str) -> None:
    assert boxes(html) == []


@pytest.mark.parametrize(
    "html",
    [
        box("{{ rule.title }}"),
        box("<%= title %>"),
        '<div class="rule-box" {{ attributes }}><b>Look at it</b></div>',
        '<div {% if y %}data-a="b"{% endif %} class="rule-box"><b>Look at it</b></div>',
        "{% for rule in rules %}" + box("Look at it") + "{% endfor %}",
        "{{ range .Rules }}{{ if .Hidden }}x{{ end }}" + box("Look at it") + "{{ end }}",
    ],
)
def test_what_a_template_makes_gets_its_id_there(html: str) -> None:
    assert boxes(html) == [(None, "template")]


def test_conditions_of_a_template_change_nothing() -> None:
    html = '{% if x %}<div class="rule-box {{ z }}">{% include "icon.html" %}<b>解の公式</b>'
    assert boxes(html) == [("rule-quadratic-formula", None)]


def test_code_in_markdown_is_no_box() -> None:
    code = f"```html\n{box('Look at it')}\n```\n\n    {box('Look at it')}\n\n`{box('Look at it')}`\n\n"
    assert boxes(code + box("Read it"), suffix=".md") == [("rule-read-it", None)]


def test_ids_are_unique_in_the_page() -> None:
    html = '<p id="rule-quadratic-formula"></p><h2>x</h2>' + box("解の公式") * 2
    assert [id for id, _ in boxes(html)] == ["rule-quadratic-formula-2", "rule-quadratic-formula-3"]


def test_an_id_of_another_kind_stays_and_the_heading_gets_the_new_one() -> None:
    source = read_source(b"<div class='tip' id='box1'><h3 class='t'>Look at it</h3></div>", suffix=".html")
    (found,) = find_boxes(source, (), SLUGS).boxes
    assert found.position is not None
    written = source.with_ids({found.position: "tip-look-at-it"})
    assert written == b"<div class='tip' id='box1'><h3 id='tip-look-at-it' class='t'>Look at it</h3></div>"
    assert boxes(written.decode()) == []
    assert boxes('<div class="tip" id="box1"><b>Look at it</b></div>') == [(None, "other-id")]


def test_a_part_of_a_box_needs_no_id_of_its_own() -> None:
    assert boxes('<section class="example"><h3>Pulleys</h3><div class="example-box">Two pulleys</div></section>') == [
        ("ex-pulleys", None)
    ]


def test_selectors_say_what_a_box_is() -> None:
    html = box("符号を間違える", "caution-box") + box("解の公式")
    assert boxes(html, ".caution-box") == [("tip-fugou-machigaeru", None)]


def test_writing_changes_nothing_but_ids_and_a_second_run_nothing(annotate: Annotate, tmp_path: Path) -> None:
    page = tmp_path / "site" / "page.html"
    page.parent.mkdir()
    original = b"\xef\xbb\xbf---\r\ntitle: x\r\n---\r\n<div  class='rule-box'>\r\n<b>Ohm's law</b></div>\r\n{{ x }}"
    page.write_bytes(original)
    assert annotate("site", "--check").exit_code == 1
    assert page.read_bytes() == original
    shown = annotate("site")
    assert (shown.exit_code, shown.stdout.splitlines()) == (
        0,
        [
            *("site/page.html", "     4  rule-ohms-law  Ohm's law", ""),
            *("1 box in 1 file, 1 id proposed", "Write them with --write"),
        ],
    )
    assert annotate("site", "--write").exit_code == 0
    assert page.read_bytes() == original.replace(b"<div ", b"<div id='rule-ohms-law' ")
    again = annotate("site", "--check", "--json")
    assert again.exit_code == 0
    assert json.loads(again.stdout) == {
        **{"files": 1, "boxes": 1, "proposed": 0, "written": 0},
        **{"ids": [], "left_out": [], "first_ids": [], "failed": []},
    }


def test_first_ids_of_a_page_with_headings_end_its_indexing_by_headings(annotate: Annotate, tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    html = "<h2 id=x>Ohm</h2><p>words</p>" + box("解の公式")
    page.write_text(html, "utf-8")
    assert "x" in [one.anchor for one in read_page(page.read_bytes()).explanations]
    assert json.loads(annotate(".", "--json").stdout)["first_ids"] == ["a.html"]
    assert "1 file without any id so far: its headings are indexed until now" in annotate(".", "--write").stdout
    assert [one.anchor for one in read_page(page.read_bytes()).explanations] == ["rule-quadratic-formula"]
    page.write_text('<meta name="sakuin:index" content="headings">' + html, "utf-8")
    assert json.loads(annotate(".", "--json", "--write").stdout)["first_ids"] == []
    assert [one.anchor for one in read_page(page.read_bytes()).explanations] == ["x", "rule-quadratic-formula"]


def test_a_file_that_cannot_be_read_fails_and_the_others_are_written(annotate: Annotate, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes(b"\xff\xfe\xfa")
    (tmp_path / "b.html").write_text(box("解の公式"), "utf-8")
    (tmp_path / "c.png").write_bytes(b"\xff")
    result = annotate(".", "--write", "--json")
    assert result.exit_code == 1
    document: dict[str, Any] = json.loads(result.stdout)
    assert (document["files"], document["written"], [one["path"] for one in document["failed"]]) == (2, 1, ["a.html"])
    assert 'id="rule-quadratic-formula"' in (tmp_path / "b.html").read_text("utf-8")


def test_selectors_of_the_environment_count(annotate: Annotate, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(box("Look at it", "callout") + box("解の公式"), "utf-8")
    ids = json.loads(annotate("a.html", "--json", SAKUIN_BOX_SELECTORS=".callout, .x").stdout)["ids"]
    assert [one["id"] for one in ids] == ["rule-look-at-it"]


def test_errors_say_what_to_do(annotate: Annotate, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    assert annotate("--write", "--check", ".").exit_code == 2
    nothing = annotate(".")
    assert (nothing.exit_code, nothing.stdout) == (1, "")
    assert nothing.stderr.startswith("sakuin: There is no source of a page in .: name a folder with .html")
    (tmp_path / "a.html").write_text("x")
    assert "is not a CSS selector" in annotate(".", SAKUIN_BOX_SELECTORS="[[").stderr
