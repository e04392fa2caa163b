"""The structure of a page as Markdown: what is shown has it, what is embedded and searched has not."""

import re
from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from sakuin.knowledge.index_page import chunks_of_page
from sakuin.knowledge.model import Learns
from sakuin.knowledge.page import Explanation
from sakuin.knowledge.reading.page_reader import read_page

TABLE = (
    "<table><thead><tr><th>Size</th><th>Price</th></tr></thead>"
    "<tr><td>S</td><td>|x| &lt; 3</td></tr><tr><td></td><td>5</td></tr></table>"
)


def read(body: str) -> Explanation:
    (explanation,) = read_page(f'<div id="rule-a">{body}</div>'.encode()).explanations
    return explanation


@pytest.mark.parametrize(
    ("body", "shown", "searched"),
    [
        (
            "<ul><li>one<ol start=9><li>a<li><p>b</p><p>c</p></ol></li><li>two</li></ul>end",
            "- one\n  9. a\n  10. b\n      c\n- two\n\nend",
            "- one\n9. a\n10. b\nc\n- two\nend",
        ),
        (
            f"before{TABLE}after",
            "before\n\n| Size | Price |\n| --- | --- |\n| S | |x| < 3 |\n|  | 5 |\n\nafter",
            "before\nSize | Price\nS | |x| < 3\n| 5\nafter",
        ),
        (
            "<table><tr><td>1<td>2</table><table><tr><th>A<th>B<tr><td>3<td>4</table>",
            "|  |  |\n| --- | --- |\n| 1 | 2 |\n\n| A | B |\n| --- | --- |\n| 3 | 4 |",
            "1 | 2\nA | B\n3 | 4",
        ),
        (
            "<table><tr><th rowspan=2>A<th colspan=2>B<tr><th>C<th>D<tr><td>1<td>2<td>3</table>",
            "| A | B | |\n| --- | --- | --- |\n| | C | D |\n| 1 | 2 | 3 |",
            "A | B\nC | D\n1 | 2 | 3",
        ),
        ("<table><tr><td>one column</table>", "one column", "one column"),
        (
            "<ul><li>Prices:<table><tr><th>A<th>B<tr><td>1<td>2</table></ul>",
            "- Prices:\n\n  | A | B |\n  | --- | --- |\n  | 1 | 2 |",
            "- Prices:\nA | B\n1 | 2",
        ),
        (
            "<dl><dt>Term</dt><dd>It is.</dd><dd><p>It</p><p>was.</p></dd></dl>",
            "Term\n: It is.\n: It\n  was.",
            "Term\nIt is.\nIt\nwas.",
        ),
        ("a<blockquote>b<ul><li>c</ul></blockquote>d", "a\n> b\n> - c\n\nd", "a\nb\n- c\nd"),
        (
            "a<div class='admonition warning'><p class=admonition-title>Hot</p><p>Wait.</p></div>b",
            "a\n> Hot\n> Wait.\n\nb",
            "a\nHot\nWait.\nb",
        ),
        (
            "<ul><li>Run<pre>| a |\n  > b\n\n: c</pre>it</ul>",
            "- Run\n```\n| a |\n  > b\n\n: c\n```\n  it",
            "- Run\n```\n| a |\n  > b\n\n: c\n```\nit",
        ),
        (r"<ul><li>a \[ x \] b<li>c</ul>", "- a\n  x\n  b\n- c", "- a\nx\nb\n- c"),
        (r"<table><tr><th>a<th>b<tr><td>\[ x \]<td>c</table>", "| a | b |\n| --- | --- |\n| x | c |", "a | b\nx | c"),
        ("<table><tr><td>Tip<td><p>a<p>b</table>", "Tip\na\nb", "Tip\na\nb"),
        (
            "<table><tr><td>Home<td>Tea<table><tr><th>A<th>B</table></table>",
            *("Home\nTea\n\n| A | B |\n| --- | --- |", "Home\nTea\nA | B"),
        ),
        ("<a href='#c'><code>f()</code></a>, <a href='#d'><b>D</b></a>", "f(), D", "f(), D"),
        ("<ul><li>📌 one<p>📌 two</p></ul>", "- 📌 one\n  two", "- 📌 one\ntwo"),
        ("a\ufdd2\ufdd8b", "ab", "ab"),
        (
            r"<p>a<p><code>:</code> で<p>&gt; b<p>| c |<p><code>\</code>&gt; d<dl><dt>e<dd>: f<p>: g</dl>",
            "a\n\\: で\n\\> b\n\\| c |\n\\\\> d\ne\n: : f\n  \\: g",
            "a\n: で\n> b\n| c |\n\\> d\ne\n: f\n: g",
        ),
    ],
)
def test_what_is_shown_has_the_structure_and_what_is_searched_has_not(body: str, shown: str, searched: str) -> None:
    explanation = read(body)
    assert (explanation.content, explanation.text) == (shown, searched)


def test_a_list_a_table_and_a_quotation_are_markdown() -> None:
    text = read(f"a<ul><li>b<ul><li>c</ul></ul>{TABLE}<blockquote>d</blockquote>e").content
    kinds = [token.type for token in MarkdownIt("commonmark").enable("table").parse(text) if token.nesting == 1]
    listed = ["bullet_list_open", "list_item_open"]
    assert (kinds.count("tr_open"), kinds[-1]) == (3, "paragraph_open")
    assert [kind for kind in kinds if kind in ("table_open", "blockquote_open", *listed)] == [
        *listed,
        *listed,
        "table_open",
        "blockquote_open",
    ]


def test_an_anchored_part_of_a_structure_begins_without_it() -> None:
    page = read_page(b"<ul><li>a<ul><li id=tip-b>b<ul><li>c</ul></ul></ul><blockquote><p id=tip-d>d<p>e</blockquote>")
    assert [each.content for each in page.explanations] == ["- a\n  - [b](#tip-b)\n\n> [d](#tip-d)\n> e", "b\n- c", "d"]


def test_embedded_and_indexed_texts_and_their_hashes_are_those_of_the_plain_text() -> None:
    page = read_page(f'<p id="rule-a">{"word " * 3}</p><div id="rule-b">Sizes{TABLE}</div>'.encode())
    learns = {each.anchor: Learns(("a", "b", "c"), "rules") for each in page.explanations}
    chunks, texts = chunks_of_page("m", page, learns, "", {})
    assert "Sizes\nSizes\nSize | Price\nS | |x| < 3\n| 5" in texts.values()
    assert "| --- |" in chunks[1].content


Part = tuple[str, str]  # HTML, and its letters
WORDS = st.text(alphabet="abc", min_size=1, max_size=3).map(lambda word: (f"<p>{word}</p>", word))
CODE = st.text(alphabet="|>: `xy\n", max_size=9).map(lambda code: f"z{code}z")


def _around(name: str, parts: list[Part]) -> Part:
    return f"<{name}>{''.join(html for html, _ in parts)}</{name}>", "".join(letters for _, letters in parts)


def _several(name: str, inner: st.SearchStrategy[Part]) -> st.SearchStrategy[Part]:
    return st.lists(inner, min_size=1, max_size=3).map(lambda parts: _around(name, parts))


BLOCKS = st.recursive(
    st.one_of(WORDS, CODE.map(lambda code: (f"<pre>{escape(code)}</pre>", code))),
    lambda inner: st.one_of(
        _several("ol", _several("li", inner)),
        _several("blockquote", inner),
        _several("table", _several("tr", _several("td", inner))),
    ),
    max_leaves=12,
)


@given(_several("div", BLOCKS))
def test_every_word_and_line_of_code_is_shown_and_searched_once_and_in_order(page: Part) -> None:
    explanation = read(page[0])
    for text in (explanation.content, explanation.text):
        assert re.findall("[abcxyz]", text) == re.findall("[abcxyz]", page[1])


@pytest.mark.parametrize(
    "body",
    [
        f"<table><tr>{'<td colspan=1000 rowspan=1000>a' * 200}{'<tr><td>b' * 2_000}</table>",
        "<ul><li>a" * 3_000,
        "<blockquote>a" * 3_000,
        f"{'<table><tr><td>' * 3_000}a",
    ],
)
def test_no_structure_makes_a_page_large(body: str) -> None:
    assert len(read(body).content) < 40 * len(body)
