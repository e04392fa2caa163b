"""Code in pages stays as its author wrote it."""

import json
from pathlib import Path

import pytest
from sakuin.knowledge.markdown import fenced, parts, without_code
from sakuin.knowledge.reading.page_reader import read_page

BUILT = Path(__file__).parent / "code"
BLOCKS: dict[str, list[str]] = json.loads((BUILT / "blocks.json").read_text(encoding="utf-8"))


def content(html: str) -> str:
    return "\n".join(one.content for one in read_page(html.encode()).explanations)


def code(text: str) -> list[str]:
    return [part for is_code, part in parts(text) if is_code]


@pytest.mark.parametrize("name", BLOCKS)
def test_each_block_of_a_built_site_is_its_source_byte_for_byte(name: str) -> None:
    page = content((BUILT / f"{name}.html").read_text(encoding="utf-8"))
    # Boxes are explanations of their own, so that the order differs.
    assert sorted(code(page)) == sorted(BLOCKS[name])


@pytest.mark.parametrize(
    "block",
    [
        "<div class=fragment><div class=line><b>if</b> (a) {</div><div class=line>    <b>go</b>();</div></div>",
        "<pre><span class=code-line>if (a) {</span><span class=code-line>    go();</span></pre>",
        "<pre><span class=line>if (a) {</span>\n<span class=line>    go();</span></pre>",
        "<pre><span style='display:block'>if (a) {</span><span style='display:block'>    go();</span></pre>",
        "<table class='highlight tab-size'><tr><td class=blob-num>1<td class=blob-code>if (a) {<tr><td class=blob-num>2"
        "<td class=blob-code>    <i>go</i>();</table>",
        "<code style='white-space: pre'>if (a) {\n    go();</code>",
        "<p><code>if (a) {<br>&nbsp; &nbsp; go();</code></p>",
        "<listing>if (a) {\n    go();</listing>",
        "<pre>if&nbsp;(a) {\n&nbsp;&nbsp;&nbsp; go();</pre>",
        "<div class=example><pre class=example>if (a) {\n    go();</pre></div>",
    ],
)
def test_blocks_of_code_outside_of_pre_and_lines_without_an_end_keep_their_lines(block: str) -> None:
    assert content(f"<main><h1>A</h1>{block}</main>") == "A\n```\nif (a) {\n    go();\n```"


def test_a_box_of_code_alone_stays_in_its_sentence() -> None:
    box = "<div class=example><pre class=example>b &lt;- a</pre></div>"
    (section,) = read_page(f"<h1>A</h1><p>As in</p>{box}<p>two copies exist.</p>".encode()).explanations
    assert section.content == "A\nAs in\n```\nb <- a\n```\ntwo copies exist."


def test_code_of_links_is_no_menu() -> None:
    classes = [f"├── Class{number}" for number in range(40)]
    lines = (f"{line[:4]}<a href={line[4:]}.html>{line[4:]}</a>" for line in classes)
    assert code(content(f"<h1>Hierarchy</h1><pre>{chr(10).join(lines)}</pre>")) == ["\n".join(classes)]


LINES = "def f(x):\n    if x:\n\n        return '<b>'"
HIGHLIGHTED = "<span class=k>def</span> f(x):\n    <span class=k>if</span> x:\n\n        return '&lt;b&gt;'\n"


@pytest.mark.parametrize(
    ("block", "language"),
    [
        # CommonMark, Sphinx, MkDocs, Jekyll with Rouge, Pandoc, Asciidoctor, Docutils.
        (f"<pre><code class=language-python>{HIGHLIGHTED}</code></pre>", "python"),
        (
            f"<div class='highlight-python notranslate'><div class=highlight><pre>{HIGHLIGHTED}</pre></div></div>",
            "python",
        ),
        (f"<div class='language-py highlight'><pre><span></span><code>{HIGHLIGHTED}</code></pre></div>", "py"),
        (f"<div class='language-python highlighter-rouge'><pre class=highlight>{HIGHLIGHTED}</pre></div>", "python"),
        (f"<div class=sourceCode><pre class='sourceCode python'><code>{HIGHLIGHTED}</code></pre></div>", "python"),
        (f"<pre class=highlight><code data-lang=python>{HIGHLIGHTED}</code></pre>", "python"),
        (f"<pre class='code python literal-block'>{HIGHLIGHTED}</pre>", "python"),
        (f"<div class='highlight-default notranslate'><pre>{HIGHLIGHTED}</pre></div>", ""),
        # Numbers of lines: Pygments, Rouge, Hugo; anchors of lines; buttons.
        (
            "<div class=highlight><table class=highlighttable><tr><td class=linenos><pre>1\n2\n3\n4</pre></td>"
            f"<td class=code><pre>{HIGHLIGHTED}</pre></td></tr></table></div>",
            "",
        ),
        (
            "<pre class=highlight><code><table class=rouge-table><tr><td class='rouge-gutter gl'><pre>1\n2\n</pre></td>"
            f"<td class=rouge-code><pre>{HIGHLIGHTED}</pre></td></tr></table></code></pre>",
            "",
        ),
        (
            "<table class=lntable><tr><td class=lntd><pre><code><span class=lnt>1\n</span></code></pre></td>"
            f"<td class=lntd><pre><code class=language-python>{HIGHLIGHTED}</code></pre></td></tr></table>",
            "python",
        ),
        (f"<pre><button>Copy</button><a id=line-1 href=#line-1></a>{HIGHLIGHTED}</pre>", ""),
        # An element for each line: Docusaurus, Expressive Code.
        (
            "<pre class='prism-code language-python'><code>"
            + "".join(f"<span class=token-line>{line}<br></span>" for line in HIGHLIGHTED.split("\n"))
            + "</code></pre>",
            "python",
        ),
        (
            "<pre data-language=python><code>"
            + "".join(
                f"<div><div class=gutter>1</div><div class=code>{line or chr(10)}</div></div>"
                for line in HIGHLIGHTED.rstrip().split("\n")
            )
            + "</code></pre>",
            "python",
        ),
    ],
)
@pytest.mark.parametrize("before", ["<h1 id=a>Use</h1>", "<div id=rule-a><b>Use</b>"])
def test_code_of_each_highlighter_has_its_lines_and_its_language(block: str, language: str, before: str) -> None:
    text = content(f"<main>{before}<p>Before</p>{block}<p>After</p>")
    assert text == f"Use\nBefore\n```{language}\n{LINES}\n```\nAfter"


def test_a_fence_is_longer_than_the_backticks_in_its_code() -> None:
    written = "````\n```\nx\n```\n````"
    assert content(f"<h1>A</h1><pre>{written}</pre>") == f"A\n`````\n{written}\n`````"
    assert code(f"a\n{fenced(written)}\nb") == [written]
    assert without_code(f"a\n{fenced(written)}\nb").split() == ["a", "b"]
    assert without_code(f"a\n{fenced(written)}"[:-2]).split() == ["a"]


def test_tex_and_spaces_in_code_stay() -> None:
    assert content(r"<h1>A</h1><p>\(x\)</p><pre>  $x^2$ \left(  y \right)  </pre>") == (
        "A\nx\n```\n  $x^2$ \\left(  y \\right)  \n```"
    )


def test_code_in_a_line_is_no_tex() -> None:
    html = r"<h1>A</h1><p>Match <code>\d+\,\left</code> or <code><i>$x^2$</i></code>, not \(x\,y\) or $y^2$"
    assert content(html) == "A\nMatch \\d+\\,\\left or $x^2$, not x y or y^2"


def test_braces_in_a_line_keep_their_spaces_outside_of_tex() -> None:
    html = "<h1>A</h1><p>Write <code>fn main() {</code>\nfirst, <code>{ x }</code> or { y }"
    assert content(html) == "A\nWrite fn main() { first, { x } or { y }"
    assert content(html + r" and \(\frac{ 1 }{2}\)").endswith(r"fn main() { first, { x } or {y} and \frac{1}{2}")


def test_the_name_of_a_language_above_code_is_no_text() -> None:
    html = "<h1>A</h1><div class='language-js'><button>Copy</button><span class=lang>js</span><pre>x</pre></div>"
    assert content(f"<main>{html}</main>") == "A\n```js\nx\n```"


def test_code_in_a_list_and_in_a_table_has_its_lines() -> None:
    html = "<h1>A</h1><ol><li><pre>a\n b</pre></li></ol><table><tr><td>x<td><pre>c\n d</pre></table>"
    assert content(html) == "A\n1.\n```\na\n b\n```\nx\n```\nc\n d\n```"


def test_hidden_text_in_code_is_left_out() -> None:
    assert content("<h1>A</h1><pre>a\u200b<span hidden>b</span>\n\x07c</pre>") == "A\n```\na\nc\n```"
    assert content("<h1>A</h1><pre><span class=boring>fn main() {\n</span>a;\n</pre>") == "A\n```\na;\n```"


def test_code_is_no_title() -> None:
    (box,) = read_page(b"<div id=rule-a><pre>x = 1</pre><p>It is set.</p></div>").explanations
    assert box.title == "It is set."
