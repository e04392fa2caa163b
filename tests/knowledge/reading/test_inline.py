"""Inline elements: notes, struck-out text and labels never join the words and numbers beside them."""

import pytest
from sakuin.knowledge.reading.page_reader import read_page


def text(html: str) -> str:
    (explanation,) = read_page(f"<main><h1>T</h1><p>{html}</p></main>".encode()).explanations
    return explanation.content.removeprefix("T\n")


def titles(html: str) -> list[str]:
    return [one.title for one in read_page(f"<main>{html}</main>".encode()).explanations]


@pytest.mark.parametrize(
    ("html", "written"),
    [
        ("1945<sup id='fnref:2'><a href='#fn:2'>2</a></sup> and", "1945[2] and"),
        ("1901<a href='#n4'><sup>4</sup></a> stands", "1901[4] stands"),
        ("1901<a href='#fn2' class=footnote-ref role=doc-noteref><sup>2</sup></a>", "1901[2]"),
        ("35<span class=footnote>3</span> metres", "35[3] metres"),
        ("35<span class=footnote-mark><a href='x.html#fn1x0'><sup class=textsuperscript>1</sup></a></span>", "35[1]"),
        ("35<a class='footnote-reference brackets' href='#id2'><span>[</span>1<span>]</span></a>", "35[1]"),
        ("35<sup class=footnote>[<a class=footnote href='#_footnotedef_1'>1</a>]</sup>", "35[1]"),
        (
            "35<span class=ltx_note><sup class=ltx_note_mark>1</sup><span class=ltx_note_outer><span>"
            "<sup class=ltx_note_mark>1</sup><span class=ltx_tag_note>1</span>By rope.</span></span></span> m",
            "35 [By rope.] m",
        ),
        ("35<label class=sidenote-number></label><span class=sidenote>By rope.</span> m", "35 [By rope.] m"),
        ("35<sup><a href=#a>1</a></sup><sup><a href=#b>*</a></sup> m<a href='#ftn3'>3</a>", "35[1][*] m[3]"),
        ("10<sup>2</sup>, 3<sup>rd</sup>, see <a href='#sec-1'>12</a>", "10^2, 3rd, see 12"),
        ("1950<a class=fn href='#f4'>4</a> and 1951<small><a href='#f5'>5</a></small>", "1950[4] and 1951[5]"),
        ("1961<fn>12</fn> and", "1961[12] and"),
        ("Part 2<a class=headerlink href='#part-2'>¶</a>", "Part 2"),
        ("10<span style='vertical-align: super'>3</span> m<span class=superscript>2</span>", "10^3 m^2"),
        ("<span class=num>3</span><span class=sr-only>/</span><span class=den>4</span>", "3/4"),
    ],
)
def test_the_mark_of_a_note_or_the_note_in_its_sentence_stands_in_brackets(html: str, written: str) -> None:
    assert text(html) == written


@pytest.mark.parametrize(
    ("html", "written"),
    [
        ("Pay <del>10</del><ins>20</ins> euros", "Pay ~~10~~ 20 euros"),
        ("<s>100</s>80, <strike> 7 </strike>6", "~~100~~ 80, ~~7~~ 6"),
        ("<span style='text-decoration: line-through'>9</span> <span class=line-through>8</span> 7", "~~9~~ ~~8~~ 7"),
        ("Call <del>old()</del>, colo<del>u</del>r <del></del>x", "Call ~~old()~~, colo~~u~~r x"),
        ("</p><del><p>Old</p><p>rule</p></del><p>New", "~~Old\nrule~~\nNew"),
    ],
)
def test_struck_out_text_is_marked(html: str, written: str) -> None:
    assert text(html) == written


@pytest.mark.parametrize(
    ("html", "written"),
    [
        ("Set the <x-term>time to live</x-term> of. Ja<nobr>va</nobr>", "Set the time to live of. Java"),
        ("<x-a>One</x-a> <x-b>two</x-b>", "One two"),
        ("<x-card>A</x-card><x-card>B</x-card>", "A\nB"),
        ("<span style='display: block'>A</span><span style='display:block'>B</span>", "A\nB"),
        ("New<span class=badge>beta</span>, <b>Okakura</b><cite>Tea</cite>", "New beta, Okakura Tea"),
        ("<label for=a>a.js</label><label for=b>b.ts</label>", "a.js b.ts"),
        ("<span class='status aui-lozenge'>DONE</span><span class='status aui-lozenge'>LIVE</span>", "DONE LIVE"),
        ("<dl><dt>axis<span class=classifier>int</span></dt><dd>It.</dd></dl>", "axis : int\n: It."),
    ],
)
def test_words_are_neither_joined_nor_torn(html: str, written: str) -> None:
    assert text(html) == written


def test_a_title_is_one_line_without_marks_of_notes_and_struck_out_words() -> None:
    html = "<h2>Install<br>the server</h2>a<h2><div>First</div><div>Second</div></h2>a"
    assert titles(html) == ["Install the server", "First Second"]
    html = "<h2>Price <s>10</s> 20<sup><a href='#fn1'>1</a></sup></h2>a<h2><del>Old way</del></h2>a"
    assert titles(html) == ["Price 20", "Old way"]
    html = "<h2>fn fmt() -&gt; Result&lt;<a href='prim.unit.html'>()</a>, Error&gt;<a href='#fmt'>§</a></h2>a"
    assert titles(html) == ["fn fmt() -> Result<(), Error>"]


@pytest.mark.parametrize(
    ("html", "written"),
    [
        ("<ruby>漢<rt>かん<rb>字<rt>じ</ruby>の<ruby>読<rb>み<rt>よ<rt>み</ruby>方", "漢字の読み方"),
        ("<ruby>漢<rp>(<rt>かん<rp>)</ruby>字、<ruby>東京<rtc>capital</rtc></ruby>に", "漢字、東京に"),
        ("<ruby><rb>甲<rb>乙<rt>こう<rt>おつ</ruby><ruby>丙<rt>へい</rt></ruby>丁", "甲乙丙丁"),
        (
            "<m:math><m:mi>t</m:mi><m:mo>=</m:mo><m:mfrac><m:mi>s</m:mi><m:mi>v</m:mi></m:mfrac></m:math> here",
            r"t = \frac{s}{v} here",
        ),
    ],
)
def test_ruby_without_end_tags_and_formulas_with_a_prefix_are_read(html: str, written: str) -> None:
    assert text(html) == written


@pytest.mark.parametrize(
    ("html", "written"),
    [
        ("<ol start=5><li value=7>a<li>b</ol>", "7. a\n8. b"),
        ("<ol reversed><li>b<li>a</ol><ol start=-1><li>c<li>d</ol>", "2. b\n1. a\n-1. c\n0. d"),
        ("<ol style='list-style-type: katakana'><li>a<li>b</ol>", "ア. a\nイ. b"),
        ("<ol type=a><li>x<li>y<ol type=I start=3><li>z</ol></ol>", "a. x\nb. y\n   III. z"),
        ("<ol class='upperalpha simple'><li>x</ol><ol style='list-style-type: lower-roman'><li>y</ol>", "A. x\ni. y"),
        ("<ol style='list-style: none'><li>5. five<li>six</ol><ol><li>1. own</ol>", "5. five\n- six\n\n1. own"),
        (
            "<ol class=ltx_enumerate><li class=ltx_item><span class='ltx_tag ltx_tag_item'>5.</span> <div><p>Five</p>"
            "</div></ol>",
            "5. Five",
        ),
        (
            "<ul><li><input type=checkbox checked> Buy<li><label><input type=checkbox> Bake</label></ul>",
            "- [x] Buy\n- [ ] Bake",
        ),
    ],
)
def test_items_have_the_numbers_and_boxes_that_a_reader_sees(html: str, written: str) -> None:
    assert text(f"</p>{html}") == written


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("<i class='fa fa-check'></i>", "✓"),
        ("<span class='icon icon-x'></span>", "✗"),
        ("<i aria-label=No></i>", "No"),
        ("<svg role=img><title>Partly</title><path/></svg>", "Partly"),
        ("<span aria-hidden=true>✓</span><span class=sr-only>Yes</span>", "Yes"),
        ("<span aria-hidden=true>✗</span>", "✗"),
        ("<input type=checkbox checked>", "[x]"),
        ("<span hidden>secret</span><span style='display:none' aria-hidden=true>secret</span>", ""),
        ("<b>text</b><i aria-label=Icon></i>", "text"),
    ],
)
def test_a_cell_with_nothing_but_icons_says_what_they_show(cell: str, written: str) -> None:
    html = f"</p><table><tr><th>A<th>B<tr><td>{cell}<td>x</table>"
    assert text(html).strip().split("\n")[-1] == f"| {written} | x |"


def test_a_cell_extends_to_the_end_of_its_group_of_rows() -> None:
    rows = "<tbody><tr><td rowspan=0>EU<td>a<tr><td>b</tbody><tbody><tr><td>US<td>c</tbody>"
    assert text(f"</p><table>{rows}</table>").split("\n")[-3:] == ["| EU | a |", "| | b |", "| US | c |"]


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("Theorem 1.2", "Theorem 1.2"),
        ("<span>Theorem 1.2</span> (Pump).", "Theorem 1.2 (Pump)."),
        ("<span class=type>Theorem</span> <span class=codenumber>1.1.1</span><span>.</span>", "Theorem 1.1.1."),
        ("Ex 2.0 notes", "Ex 2.0 notes"),
        ("Exercise 3.4", "Exercise 3.4"),
        ("How do I return goods?", "How do I return goods?"),
        ("例2：傾きとは？", "傾き"),
        ("Example 2.1: pump", "pump"),
        ("ルール2 傾き", "傾き"),
        ("2.", "Top › 2."),
    ],
)
def test_a_title_is_no_lone_number_and_keeps_its_question(heading: str, title: str) -> None:
    assert titles(f"<h1>Top</h1><p>x</p><h2>{heading}</h2><p>Text.</p>")[1] == title


@pytest.mark.parametrize(
    ("html", "written", "searched"),
    [
        ("Download it <a href=file.zip>here</a>.", "Download it [here](<file.zip>).", "Download it here."),
        (
            "See <a href=' ../a b.html?q=1&amp;r=<2>#x\n'> the\nguide </a>and",
            "[the guide](<../a%20b.html?q=1&r=%3C2%3E#x>)",
            "the guide",
        ),
        ("Write to <a href='mailto:a@b.example'>us</a>", "[us](<mailto:a@b.example>)", "Write to us"),
        ("Text <a href=t><b>bold</b> and <del>7</del></a><ins>5</ins>", "[bold and ~~7~~](<t>) 5", "bold and ~~7~~ 5"),
        (
            "A <a href=x.pdf>[PDF]</a> or [<a href=y.pdf>PDF</a>]",
            "[[PDF]](<x.pdf>) or [[PDF](<y.pdf>)]",
            "[PDF] or [PDF]",
        ),
        ("It costs <a href='a$_{1}$.html'>$x^2$ euros</a>", "[x^2 euros](<a$_%7B1%7D$.html>)", "costs x^2 euros"),
        ("詳しくは\n<a href=x.pdf>\nこちら</a>\nを参照", "詳しくは[こちら](<x.pdf>)を参照", "詳しくはこちらを参照"),
        (
            "A list</p><ul><li><a href=a.zip>one</a> file<li>two</ul>",
            "- [one](<a.zip>) file\n- two",
            "- one file\n- two",
        ),
        (
            "It is <span class=badge>new</span><a href=k>word</a> <a class=tag href=m>a</a>b",
            "new [word](<k>) [a](<m>) b",
            "new word a b",
        ),
        (
            "</p><table><tr><td>Now<td><a href=a.zip>one</a> file</table>",
            "| Now | [one](<a.zip>) file |",
            "Now | one file",
        ),
    ],
)
def test_a_link_out_of_the_page_has_its_address_which_is_not_searched(html: str, written: str, searched: str) -> None:
    (explanation,) = read_page(f"<main><h1>T</h1><p>{html}</p></main>".encode()).explanations
    assert written in explanation.content
    assert searched in explanation.text
    assert "](<" not in explanation.text


@pytest.mark.parametrize(
    "html",
    [
        "at <a href='https://www.b.example/'>b.example</a> or <a href='mailto:a@b.example'>a@b.example</a>",
        "it <a href='javascript:x()'>opens</a> <a href='data:,x'>a box</a> <a href=#t>here</a> <a href>now</a>",
        f"a broken <a href='https://[x'>address</a> or a long <a href='{'x' * 1001}'>one</a>",
        "a picture <a href=x.png><img src=x.png></a> and a sign <a href=y>→</a>",
        "the type <code>f(<a href=int.html>int</a>)</code>, a note<sup><a href='notes.html#fn1'>1</a></sup>",
        "a whole <a href=card.html><div>card</div><div>of two lines</div></a>",
        "an <a href=z>odd] text</a>",
        "</p><h2>The <a href=z>title</a></h2><p>and its text",
    ],
)
def test_other_links_are_their_text(html: str) -> None:
    page = read_page(f"<main><h1>T</h1><p>It is {html}</p></main>".encode())
    assert "](<" not in "".join(each.title + each.content for each in page.explanations)


def test_an_address_begins_where_the_page_says() -> None:
    html = "<base href='https://a.example/docs/'><main><h1>T</h1><p>Go <a href=../b.zip>on</a></p></main>"
    assert read_page(html.encode()).explanations[0].content == "T\nGo [on](<https://a.example/b.zip>)"
