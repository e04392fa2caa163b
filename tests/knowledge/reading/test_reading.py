"""Reading an HTML page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sakuin.knowledge.page import Explanation, Page, section_of
from sakuin.knowledge.reading.names import concept_name
from sakuin.knowledge.reading.page_reader import MOST_EXPLANATIONS, read_page


def page(html: str) -> Page:
    return read_page(html.encode())


def texts(html: str) -> dict[str, str]:
    return {explanation.anchor: explanation.content for explanation in page(html).explanations}


def only(html: str) -> Explanation:
    (explanation,) = page(html).explanations
    return explanation


def test_all_five_types_are_found_in_page_order() -> None:
    names = ("rule", "method", "def", "ex", "tip")
    found = page("".join(f'<p id="{name}-a">x</p>' for name in names)).explanations
    assert [explanation.type for explanation in found] == ["rule", "method", "definition", "example", "tip"]
    assert [explanation.position for explanation in found] == [0, 1, 2, 3, 4]


def test_an_anchored_element_inside_another_belongs_to_its_own_chunk_only() -> None:
    assert texts('<div id="rule-a">前<div id="tip-b">内</div>後</div>') == {
        "rule-a": "前\n[内](#tip-b)\n後",
        "tip-b": "内",
    }


def test_of_duplicate_ids_the_first_counts_and_all_are_listed() -> None:
    read = page('<p id="rule-a">一</p><p id="rule-a">二</p>')
    assert [(one.anchor, one.content) for one in read.explanations] == [
        (":~:page", "[一](#rule-a)\n二"),
        ("rule-a", "一"),
    ]
    assert read.ids == ("rule-a", "rule-a")


def test_an_anchored_heading_runs_to_the_next_heading() -> None:
    html = '<h2 id="rule-a">甲</h2><p>一</p><h3>小</h3><p>二</p><h2>次</h2><p>三</p>'
    assert texts(html) == {"rule-a": "甲\n一", "rule-a:~:小": "小\n二", "rule-a:~:次": "次\n三"}


def test_the_text_of_an_anchored_heading_goes_on_after_a_box_and_ends_with_its_section() -> None:
    assert texts('<h2 id="rule-a">甲</h2>一<p id="ex-1">二</p>三') == {
        "rule-a": "甲\n一\n[二](#ex-1)\n三",
        "ex-1": "二",
    }
    assert texts('<section><h3 id="rule-a">甲</h3><p>一</p></section><p>外</p>') == {
        ":~:page": "外",
        "rule-a": "甲\n一",
    }


@pytest.mark.parametrize(
    "html",
    [
        '<a id="rule-a"></a><h2>甲</h2><p>一</p><h2>次</h2>',
        '<p><span id="rule-a"></span></p><h2>甲</h2><p>一</p><h2>次</h2>',
        '<h2><a id="rule-a">甲</a></h2><p>一</p><h2>次</h2>',
        '<h2><span id="rule-a"></span>甲<a href="#rule-a">¶</a></h2><p>一</p><h2>次</h2>',
    ],
)
def test_an_anchor_before_or_in_a_heading_names_the_heading(html: str) -> None:
    assert (only(html).title, only(html).content) == ("甲", "甲\n一")


def test_a_term_has_its_descriptions_and_a_row_its_cells() -> None:
    assert texts('<dl><dt id="def-a">素数</dt><dd>一</dd><dd>二</dd><dt>他</dt></dl>') == {
        ":~:page": "[素数](#def-a)\n他",
        "def-a": "素数\n一\n二",
    }
    assert texts('<table><tr id="rule-a"><th>甲</th><td>一<br>二</td></tr></table>') == {"rule-a": "甲 | 一 二"}


def test_text_is_plain_and_japanese_gets_no_spaces() -> None:
    html = '<div id="rule-a"><b>解</b>の<i>公式</i>\n  を使う<ol><li>一<li>二</ol>x<sup>2</sup><img alt="図"></div>'
    assert only(html).text == "解の公式を使う\n1. 一\n2. 二\nx^2[図]"


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ('<div id="ex-1"><div class="example-title"><span>例1</span>5以下の和</div></div>', "5以下の和"),
        ('<div id="rule-a"><strong>📌 移項</strong> <a href="#ex-1">→ 例1</a></div>', "移項"),
        ('<p id="rule-a" data-title="展開の公式">(a+b)^2</p>', "展開の公式"),
        ('<p id="rule-a">両辺に同じ数を足す。等式は成り立つ。</p>', "両辺に同じ数を足す"),
        ('<div id="rule-square-root"></div>', "square root"),
    ],
)
def test_a_title_comes_from_the_first_source_that_names_something(html: str, title: str) -> None:
    assert only(html).title == title


def test_headings_and_meta_tags_place_an_explanation() -> None:
    read = page(
        '<meta name="category" content="数"><meta name="sakuin:category" content="代数">'
        '<meta name="prerequisites" content="平方根、展開"><h1>🎲 頁</h1>'
        '<h2>1. 節</h2><p id="rule-a">x</p><h2>2. 次</h2>'
    )
    assert (read.title, read.category, read.prerequisites) == ("頁", "代数", ("平方根", "展開"))
    assert read.explanations[0].headings == ("頁", "節")


@pytest.mark.parametrize(
    ("html", "language"),
    [('<html lang="ja"><p>', "ja"), ("<html lang=' en-GB '><p>", "en-GB"), ("<html lang=''><p>", None), ("<p>", None)],
)
def test_the_language_is_that_of_the_page(html: str, language: str | None) -> None:
    assert page(f'{html}<p id="rule-a">x</p>').language == language


def test_the_section_is_the_nearest_heading_but_not_that_of_the_page() -> None:
    read = page('<h1>頁</h1><p id="rule-a">x</p><h2>節</h2><h3>項</h3><p id="rule-b">x</p>')
    assert [section_of(each, read.title) for each in read.explanations] == [None, "項"]


def test_an_example_illustrates_the_concept_that_links_to_it() -> None:
    html = '<p id="rule-a">甲<a href="#ex-2">→ 例2</a></p><p id="rule-b">乙</p><h2>例</h2><p id="ex-2">丙</p>'
    assert page(html).explanations[2].illustrates == ("rule-a",)


def test_boxes_without_a_semantic_id_are_reported_but_not_those_named_by_their_heading() -> None:
    html = (
        '<div class="tip-box" id="x"><b>題</b></div><div class="rule-box"><h3 id="rule-q">問</h3></div>'
        '<div class="rule-box" id="rule-a"><div class="rule-box">中</div></div>'
    )
    assert [(box.selector, box.title) for box in page(html).unnamed_boxes] == [(".tip-box", "題")]


def test_in_page_links_are_decoded() -> None:
    assert page('<a href="#rule-%E8%A7%A3">l</a><a href="#">t</a><a href="x.html#y">z</a>').links == ("rule-解",)


@pytest.mark.parametrize(
    ("text", "encodings"),
    [
        ("割合は、比べる量をもとにする量で割って求める。①髙", ["cp932", "utf-8"]),
        ("割合は、比べる量をもとにする量で割って求める。", ["euc_jp"]),
        ("La fracción es también un número. ¿Qué es? El ángulo según la definición.", ["cp1252"]),
        (
            "Prędkość średnia ciała to iloraz przebytej drogi i czasu ruchu, w metrach na sekundę.",
            ["cp1250", "iso8859-2"],
        ),
        ("Сумма углов треугольника равна ста восьмидесяти градусам.", ["cp1251", "koi8-r"]),
        ("求解下列方程，并说明每一步的理由。平方根的定义是什么？", ["gb18030"]),
    ],
)
def test_an_encoding_that_is_not_declared_is_detected(text: str, encodings: list[str]) -> None:
    for encoding in encodings:
        assert read_page(f"<p id=rule-a>{text}</p>".encode(encoding)).explanations[0].content == text


def test_as_many_nested_anchors_as_are_allowed_neither_crash_nor_hang() -> None:
    read = page("".join(f'<div id="rule-{number}">' for number in range(MOST_EXPLANATIONS)) + "x")
    assert len(read.explanations) == MOST_EXPLANATIONS


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("📌 ルール2：傾きの意味 → 例2", "傾きの意味"),
        ("1️⃣ たすき掛け！", "たすき掛け"),
        ("【公式】解の公式", "解の公式"),
        ("(1) 頂点", "頂点"),
        ("Step 2: Draw the graph", "Draw the graph"),
        ("Ex. 3 Draw the graph", "Draw the graph"),
        ("一次関数とは？", "一次関数"),
        (r"判別式 \(D = b^2 - 4ac\)", "判別式 D = b^2 - 4ac"),
    ],
)
def test_a_name_has_no_pictographs_numbering_or_link_labels(written: str, name: str) -> None:
    assert concept_name(written) == name


@pytest.mark.parametrize(
    "name",
    [
        *("2乗の形", "第1四分位数", "△ABCの面積", "①と②の式", "3.5倍の計算", "練習1", "♠を引く"),
        *("2.0 migration guide", "0.40.0 (October 15, 2024)", "Python 3.12 → 3.13", "2024-05-03 Talks"),
        *("Rules of ownership", "Tips and tricks", "STEPS to parse options"),
    ],
)
def test_what_only_looks_like_numbering_stays(name: str) -> None:
    assert concept_name(name) == name


@pytest.mark.parametrize(
    ("written", "titles"),
    [
        (["1. Ants", "2. Bees", "Cats"], ["Ants", "Bees", "Cats"]),
        (["1) Ants", "2) Bees", "3) Cats"], ["Ants", "Bees", "Cats"]),
        (["2 Ants", "2.1 Bees", "2.2 Cats"], ["2 Ants", "Bees", "Cats"]),
        (["2. Ants", "2.1 Bees", "2.2 Cats", "2.2.1 Dogs", "2.2.2 Eels"], ["Ants", "Bees", "Cats", "Dogs", "Eels"]),
        (["1. Ants", "Cats", "1. Dogs"], ["1. Ants", "Cats", "1. Dogs"]),
        (["1. Ants", "1.1 Bees", "2. Cats"], ["Ants", "Bees", "Cats"]),
        (["3. Ants", "2. Bees", "1. Cats"], ["3. Ants", "2. Bees", "1. Cats"]),
        (["2.0 migration guide", "2.1 Ants", "2.2 Bees"], ["2.0 migration guide", "2.1 Ants", "2.2 Bees"]),
        (["1.2 Ants", "1.1 Bees", "1.0 Cats"], ["1.2 Ants", "1.1 Bees", "1.0 Cats"]),
        (["0.1.1 (May)", "0.1.2 (June)"], ["0.1.1 (May)", "0.1.2 (June)"]),
        (["0.40.0 (October 15, 2024)", "0.39.2"], ["0.40.0 (October 15, 2024)", "0.39.2"]),
    ],
)
@pytest.mark.parametrize("html", ["<h2>{}</h2><p>x</p>", "<h2><a href=#a>{}</a></h2><p id=rule-{n}>x</p>"])
def test_a_number_is_no_title_if_the_headings_beside_it_count(html: str, written: list[str], titles: list[str]) -> None:
    read = page("<h1>P</h1>" + "".join(html.format(title, n=place) for place, title in enumerate(written)))
    assert [each.title if read.by_headings else each.headings[-1] for each in read.explanations] == titles


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title>Worksheet 7</title><h1>Interest</h1><h1>Taxes</h1>", "Worksheet 7"),
        ("<title>Changes - Kettle</title><h1>2.0</h1><h1>Changes</h1>", "Changes"),
        ("<title>Kettle - Tea</title><h1>Boiling</h1>", "Boiling"),
        ("<title>Kettle - Tea-Time 1.2-3</title><h2>Boiling</h2>", "Kettle"),
        ("<h1>Boiling</h1><h1>Tea</h1>", "Boiling"),
    ],
)
def test_the_title_of_a_page_is_its_only_first_heading_or_its_title(html: str, title: str) -> None:
    assert page(f"{html}<p id=rule-a>x</p>").title == title


@given(st.text(max_size=80))
def test_any_text_gives_a_name_on_one_line(text: str) -> None:
    assert "\n" not in concept_name(text)
