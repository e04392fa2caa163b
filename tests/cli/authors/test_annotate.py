"""`sakuin annotate`: which boxes get which id, and no other byte changes."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from hypothesis import given, settings
from hypothesis import strategies as st
from sakuin.knowledge.page import DEFAULT_BOX_SELECTORS
from sakuin.knowledge.reading.page_reader import read_page
from sakuin.language.vocabulary import NO_VOCABULARY, vocabulary_of
from sakuin_cli.annotation.boxes import find_boxes
from sakuin_cli.annotation.slugs import slug_of
from sakuin_cli.annotation.source import Source, read_source

from tests.cli.command import run
from tests.effort import times

VOCABULARY = vocabulary_of("school-mathematics")

Annotate = Callable[..., Result]


@pytest.fixture
def annotate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Annotate:
    monkeypatch.chdir(tmp_path)
    environ = {"NO_COLOR": "1", "FORCE_COLOR": None, "COLUMNS": "80", "SAKUIN_BOX_SELECTORS": None}
    return lambda *arguments, **settings: run("annotate", *arguments, **{**environ, **settings})


def boxes(html: str, *selectors: str, suffix: str = ".html") -> list[tuple[str | None, str | None]]:
    """The id of each box without one, and the reason if it gets none."""
    found = find_boxes(read_source(html.encode(), f"x{suffix}"), selectors, VOCABULARY)
    return [(box.id, box.reason) for box in found]


def box(title: str, kind: str = "rule-box", body: str = "") -> str:
    return f'<div class="{kind}"><strong>{title}</strong>{body}</div>'


@pytest.mark.parametrize(
    ("kind", "title", "proposed"),
    [
        ("rule-box", "📌 ルール1：解の公式 → 例1", "rule-quadratic-formula"),
        ("rule-box", "たすき掛け", "method-cross-multiplication"),
        ("rule-box", "グラフの描き方", "method-line-drawing"),
        ("rule-box", "確率の定義", "def-probability"),
        ("rule-box", "公式（暗記必須！）", "rule-公式"),
        ("tip-box", "✏️ コツ2：公式は「形」で覚える", "tip-公式は-形-で覚える"),
        ("tip-box", "フランス革命の原因", "tip-フランス革命の原因"),
        ("tip-box", "両辺を文字で割らない", "tip-両辺を文字で割らない"),
        ("theorem", "Theorem 3.1 (Pythagoras' theorem)", "rule-pythagoras-theorem"),
        ("Definition", "What is a limit?", "def-what-is-limit"),
        ("rule-box", "How to complete the square", "method-how-to-complete-square"),
        ("note", "Größe und Maß", "tip-grosse-und-mass"),
        ("note", "Закон Ома", "tip-закон-ома"),
        ("example", "例3", "ex-3"),
        ("rule-box", "第2法則", "rule-第2法則"),
        ("tip-box", "ピザで思い出す", "tip-ピザで思い出す"),
        ("law", "Every natural number that is not 1 has a prime factor", "rule-every-natural-number-that-is"),
        ("example-box", "2x^2+7x+3=0 をたすき掛けで解く", "ex-たすき掛けで解く"),
        ("定理", "円周角の定理", "rule-inscribed-angle"),
    ],
)
def test_an_id_says_type_and_title(kind: str, title: str, proposed: str) -> None:
    assert boxes(box(title, kind)) == [(proposed, None)]


def test_a_tip_that_is_called_tip_is_named_by_its_words() -> None:
    html = '<div class="admonition tip"><p class="admonition-title">Tip</p><p>Use the cache. It is fast.</p></div>'
    assert boxes(html) == [("tip-use-cache", None)]


def test_without_a_vocabulary_a_title_keeps_its_words() -> None:
    assert slug_of("因数分解", NO_VOCABULARY) == "因数分解"


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
    assert boxes(html) == [(None, "says nothing")]


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
        "---\nexcerpt: " + box("Look at it") + "\n---\n",
    ],
)
def test_other_elements_and_boxes_with_an_id_are_none(html: str) -> None:
    assert boxes(html) == []


@pytest.mark.parametrize(
    "html",
    [
        box("{{ rule.title }}"),
        "{% comment %}" + box("Look at it") + "{% endcomment %}",
        box("<%= title %>"),
        '<div class="rule-box" {{ attributes }}><b>Look at it</b></div>',
        '<div {% if y %}data-a="b"{% endif %} class="rule-box"><b>Look at it</b></div>',
        "{% for rule in rules %}" + box("Look at it") + "{% endfor %}",
        "{{ range .Rules }}{{ if .Hidden }}x{{ end }}" + box("Look at it") + "{{ end }}",
    ],
)
def test_what_a_template_makes_gets_its_id_there(html: str) -> None:
    assert boxes(html) == [(None, "in a template")]


def test_code_in_markdown_is_no_box() -> None:
    code = f"```html\n{box('Look at it')}\n```\n\n    {box('Look at it')}\n\n`{box('Look at it')}`\n\n"
    assert boxes(code + box("Read it"), suffix=".mdx") == [("rule-read-it", None)]


def test_ids_are_unique_in_the_page() -> None:
    html = '<p id="rule-quadratic-formula"></p><h2>x</h2>' + box("解の公式") * 2
    assert [id for id, _ in boxes(html)] == ["rule-quadratic-formula-2", "rule-quadratic-formula-3"]


def test_an_id_of_another_kind_stays() -> None:
    assert boxes('<div class="tip" id="box1"><b>Look at it</b></div>') == [(None, "has another id")]


def test_a_part_of_a_box_needs_no_id_of_its_own() -> None:
    assert boxes('<section class="example"><h3>Pulleys</h3><div class="example-box">Two pulleys</div></section>') == [
        ("ex-pulleys", None)
    ]


def test_selectors_say_what_a_box_is() -> None:
    html = box("符号を間違える", "caution-box") + box("解の公式")
    assert boxes(html, ".caution-box") == [("rule-符号を間違える", None)]


def test_writing_changes_nothing_but_ids_and_a_second_run_nothing(annotate: Annotate, tmp_path: Path) -> None:
    page = tmp_path / "site" / "page.html"
    page.parent.mkdir()
    original = b"\xef\xbb\xbf---\r\ntitle: x\r\n---\r\n<div  class='rule-box'>\r\n<b>Ohm's law</b></div>\r\n{{ x }}"
    page.write_bytes(original)
    shown = annotate("site")
    assert page.read_bytes() == original
    assert (shown.exit_code, shown.stdout.splitlines()) == (
        0,
        ["+ site/page.html:4  rule-ohms-law  Ohm's law", "1 id proposed in 1 file, 0 left out"],
    )
    assert annotate("site", "--write").exit_code == 0
    assert page.read_bytes() == original.replace(b"<div ", b'<div id="rule-ohms-law" ')
    again = annotate("site", "--json")
    assert again.exit_code == 0
    assert json.loads(again.stdout) == {**{"files": 1, "proposed": 0, "written": 0, "boxes": [], "failed": []}}


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
    ids = json.loads(annotate("a.html", "--json", SAKUIN_BOX_SELECTORS=".callout, .x").stdout)["boxes"]
    assert [one["id"] for one in ids] == ["rule-look-at-it"]


def test_errors_say_what_to_do(annotate: Annotate, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    nothing = annotate(".")
    assert (nothing.exit_code, nothing.stdout) == (1, "")
    assert nothing.stderr.startswith("sakuin: There is no page in .: name a folder of .html or .md files")
    (tmp_path / "a.html").write_text("x")
    assert "is not a CSS selector" in annotate(".", SAKUIN_BOX_SELECTORS="[[").stderr


TITLES = st.sampled_from(
    ["解の公式", "たすき掛け", "Ohm's law", "{{ page.title }}", "練習1", "例1", "→", "<b>x</b>", ""]
)
# What stands between boxes, some of it broken.
BETWEEN = st.sampled_from(
    [
        *("\n", "\r\n", "\r", " ", "文", "a < b", "<p>", "</div>", "<br/>", "<h2>練習問題</h2>", "<h2>本文</h2>"),
        *("{% if x %}", "{% endif %}", "{% for x in y %}", "{% endfor %}", "{{ x | y: '\"' }}", "{# c > #}"),
        *(
            "<!-- <div class='tip'>x</div> -->",
            "<script>'<div class=\"tip\">'</script>",
            "{{ range .Pages }}",
            "{{ end }}",
        ),
        *("<% if a > b %>", "<?php echo '>' ?>", "\\(x < {{y}}\\)", "<a href='#x", '">', "&amp;", "<svg><g/></svg>"),
        *("<table><tr><td>", "<!DOCTYPE html>", "<html lang='ja'>", "\t", "```\n<div class='tip'>x</div>\n```\n"),
    ]
)

TAGS = st.sampled_from(
    [
        *('<div class="rule-box">', "<div class='tip-box'>", "<div\n  class=definition>", "<SECTION CLASS='theorem' >"),
        *('<div class="rule-box" id="rule-quadratic-formula">', "<div id=box1 class=method>", "<aside class=note/>"),
        *('<div class="tip {{ size }}">', '<div {% if a %}data-x="1"{% endif %} class="tip">', '<li class="例題">'),
        *('<div class="tip" {{ attributes }}>', '<div class="tip" id="{{ id }}">', '<div class="x" class="tip">'),
    ]
)

HEADS = st.sampled_from(
    ["", "---\ntitle: <div class='tip'>x</div>\n---\n", '+++\na = "b"\n+++\r\n', '{"a": "<div class=tip>"}\n']
)

BOXES = st.tuples(TAGS, st.sampled_from(["<h3>", "<strong>", "<p class='box-title'>", ""]), TITLES).map("".join)

TEXTS = st.tuples(HEADS, st.lists(st.one_of(BOXES, BETWEEN), max_size=14).map("".join)).map("".join)

ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "cp932", "euc_jp"])

DECLARED = {"cp932": "<meta charset=Shift_JIS>", "euc_jp": "<meta charset=EUC-JP>"}


def ids_of(source: Source) -> dict[int, str]:
    found = find_boxes(source, (), VOCABULARY)
    return {box.position: box.id for box in found if box.id and box.position is not None}


@settings(max_examples=times(75), deadline=None)
@given(TEXTS, ENCODINGS, st.sampled_from([".html", ".md"]))
def test_without_the_inserted_attributes_it_is_the_original(text: str, encoding: str, suffix: str) -> None:
    data = (DECLARED.get(encoding, "") + text).encode(encoding)
    source = read_source(data, f"x{suffix}")
    ids = ids_of(source)
    written = source.with_ids(ids)
    attributes = [rf""" id=(["']){re.escape(one)}\1""" for one in ids.values()]
    again = read_source(written, f"x{suffix}")
    # An id that was proposed is nowhere in the original.
    found = re.findall("|".join(f"(?:{one})" for one in attributes).replace(r"\1", "[\"']"), again.text) if ids else []
    assert len(found) == len(ids) == len(set(ids.values()))
    text = again.text
    for one in attributes:
        text, removed = re.subn(one, "", text)
        assert removed == 1
    assert text.encode(source.encoding) == data
    assert ids_of(again) == {}


@pytest.mark.parametrize(
    "broken", [b"\xff\xfe\xfa", "<meta charset=Shift_JIS>文".encode(), "<p>文".encode("utf-16"), b"PK\x03\x04\x00\x00"]
)
def test_what_is_no_text_is_unreadable(broken: bytes) -> None:
    from sakuin.errors import UnreadablePage

    with pytest.raises(UnreadablePage):
        read_source(broken, "x.html")


def test_bytes_with_two_spellings_in_an_old_encoding_stay() -> None:
    # Shift_JIS as Windows reads it has ∵ at 0x81E6 and 0x879A, and writes the first.
    data = b'<meta charset=Shift_JIS><p>\x87\x9a\x81\xe6</p><div class="tip"><b>Look at it</b></div>'
    source = read_source(data, "x.html")
    assert source.with_ids(ids_of(source)) == data.replace(b"<div ", b'<div id="tip-look-at-it" ')
