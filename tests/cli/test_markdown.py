"""Markdown files as pages."""

from pathlib import Path

import pytest
from sakuin.errors import UnreadablePage
from sakuin.knowledge.page import Explanation, Page
from sakuin.knowledge.reading.page_reader import read_page
from sakuin_cli.site.markdown import page_of

from tests.cli.conftest import Operator


def read(text: str | bytes, name: str = "a.md") -> Page:
    return read_page(page_of(text if isinstance(text, bytes) else text.encode(), name))


def content(text: str, name: str = "a.md") -> str:
    return "\n".join(one.content for one in read(text, name).explanations)


def boxes(text: str) -> list[tuple[str, str, str]]:
    found: tuple[Explanation, ...] = read(f"# A\n\nx\n\n{text}").explanations[1:]
    return [(one.type, one.title, one.content.rpartition("\n")[2]) for one in found]


ORDERS = """---
layout: page
---
# Orders & more

See [delivery](delivery.md#how-long), [notes](Notes.MDX) and [a site](https://example.com/x.md).

## 返品について

| within | cost |
|---|---|
| 14 days | none |
"""


def test_headings_get_ids_and_links_lead_to_pages() -> None:
    body = page_of(ORDERS.encode(), "orders.md")
    page = read_page(body)
    assert [one.anchor for one in page.explanations] == ["orders--more", "返品について"]
    assert (page.title, "14 days" in page.explanations[1].content) == ("Orders & more", True)
    for address in (b"delivery.html#how-long", b"Notes.html", b"https://example.com/x.md"):
        assert b'href="' + address + b'"' in body


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: 'Kettle: handbook'\n---\nBoil.\n\n## Installation\n\nx", "Kettle: handbook"),
        ('+++\ntitle = "Kettle"\n+++\n# Other\n\nx', "Kettle"),
        ("---\r\ntitle: 2024\r\ntags: [a]\r\n---\r\n# 2024\r\n\r\nx", "2024"),
        ("---\ntitle: [broken\n---\n# One\n\nx\n\n# Two\n\ny", "One"),
        ("Read\n====\n\nx", "Read"),
        ("<h1 align=center>The <b>tool</b></h1>\n\nx\n\n## Use\n\ny", "The tool"),
        ("## Use\n\nx", "notes"),
        ("# Title of `code` & *more* {#id}\n\nx", "Title of code & more"),
    ],
)
def test_the_title_is_that_of_the_front_matter_or_the_first_heading_or_the_files_name(text: str, title: str) -> None:
    assert read(text, "notes.md").title == title


def test_ids_and_formulas_stay() -> None:
    text = r"""# 公式 {#formula}

解は $x_1=\frac{-b}{2a}$ と $\{x_2\}$ と \(a_1*b_2*c\) で、 $5 and $6 は値段、\[link\] は括弧。

\[
x
- y
= z_1
\]
"""
    (formula,) = read(text).explanations
    assert (formula.anchor, formula.title) == ("formula", "公式")
    assert formula.content.split("\n")[1:] == [
        r"解は x_1=\frac{-b}{2a} と \{x_2\} と a_1*b_2*c で、 $5 and $6 は値段、[link] は括弧。",
        "x - y = z_1",
    ]


@pytest.mark.parametrize(
    ("text", "box"),
    [
        ('!!! tip "Quick"\n    Divide *first*.', ("tip", "Quick", "Divide first.")),
        ('??? note "Folded"\n    Text.', ("rule", "Folded", "Text.")),
        (":::note Title here\n\nText.\n\n:::", ("rule", "Title here", "Text.")),
        ("::: tip\nText.\n:::", ("tip", "Text", "Text.")),
        (":::caution[In brackets]\nText.\n:::", ("rule", "In brackets", "Text.")),
        (':::info{.wide title="As a field"}\nText.\n:::', ("rule", "As a field", "Text.")),
        (":::{warning} Of MyST\nText.\n:::", ("rule", "Of MyST", "Text.")),
        ("```{note} Fenced\n:class: wide\n\nSome **text**.\n```", ("rule", "Fenced", "Some text.")),
        ("> [!WARNING]\n> Not by zero.", ("rule", "Not by zero", "Not by zero.")),
        ("> [!tip]- Folded\n> Text.", ("tip", "Folded", "Text.")),
        ('{% hint style="info" %}\nText.\n{% endhint %}', ("rule", "Text", "Text.")),
    ],
)
def test_admonitions_of_generators_are_boxes(text: str, box: tuple[str, str, str]) -> None:
    assert boxes(text) == [box]


EXAMPLE = '```md\n{% hint style="info" %}\n> [!tip] T\n=== "T"\n{{< tab "T" >}}\n```'


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("```{code-block} python\n:linenos:\nx = 1\n```", "```python\nx = 1\n```"),
        (EXAMPLE, EXAMPLE),
        ('=== "Linux"\n\n    Run *it*.', "Linux\nRun it."),
        ("{{< highlight go >}}\nif x {\n  y()\n}\n{{< /highlight >}}", "```go\nif x {\n  y()\n}\n```"),
        ("{% highlight ruby %}\ndef a\n  1\n{% endhighlight %}", "```ruby\ndef a\n  1\n```"),
        ('{{< tabs >}}\n{{% tab "Mac" %}}\nBrew `{{< x >}}`.\n{{% /tab %}}\n{{< /tabs >}}', "Mac\nBrew {{< x >}}."),
        ("H~2~O and 10^-3^ and ~10~ 20 and `a~b~`", "H_2O and 10^{-3} and ~~10~~ 20 and a~b~"),
        (r"Both $$a*b*c$$ and \\(x*y*z\\)", "Both\na*b*c\nand x*y*z"),
        ("{% include x %}\n![Cup](a.png){ width=30 }\n{: .wide }", "[Cup]"),
        ("(a-b)=\n\nSee {ref}`Cups <b>` and {math}`x*y*z`.", "See Cups <b> and x*y*z."),
        ("```{versionadded} 2.0\nOf *steam*.\n```", "2.0\nOf steam."),
        ("Boil.\n% A note\n%\n% on it\nAbout 5\n% of 7 % stay.\n\n% End", "Boil. About 5 % of 7 % stay."),
        ("[[toc]]\n\n[TOC]\n\n* Contents\n{:toc}\n\nThe `[[toc]]` of [[toc]].", "The [[toc]] of [[toc]]."),
        ("See\n\n<<< @/snippets/cup.js#top{2,4} [cup.js]\n<<< ../a/pot.py", "See\nsnippets/cup.js\na/pot.py"),
        ("{{ $frontmatter.none }}Hot {{ x }}.", "Hot {{ x }}."),
        (
            "Tea{: .x }\nand{:.v}, *hot*{:.y} `a`{: .b } {:.2f}.\n{: .c #d}\n\nThe {:.lit} text",
            "Tea and, hot a {:.2f}.\nThe {:.lit} text",
        ),
        ("{::comment}\nOne\n\ntwo\n{:/comment}\nThree", "Three"),
        (
            "Use HTML.\n\n*[HTML]: Hyper *Text* Markup\n*[W3C]: A body",
            "Use HTML.\n- HTML: Hyper Text Markup\n- W3C: A body",
        ),
        ("```\n% a\n[[toc]]\n<<< @/b\n*[X]: c\nd{: .e }\n```", "```\n% a\n[[toc]]\n<<< @/b\n*[X]: c\nd{: .e }\n```"),
    ],
)
def test_syntax_of_generators_is_read_and_code_stays(text: str, read_as: str) -> None:
    assert content(f"# A\n\n{text}") == f"A\n{read_as}"


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("{hot && <b>Only *if* hot</b>} {\n  cup ? <p>\n\n Many **cups**\n\n </p> : null\n}", "Only if hot\nMany cups"),
        ("{a < b ? (<p>One <i>b</i> <Tip title='T' /> x</p>) : (<p>Two</p>)}", "One b T x\nTwo"),
        ("{pots.map((pot) => (\n  <p key={pot.id}>\n    Pot {pot.name}\n  </p>\n))}", "Pot"),
        (
            "{on ? 'yes' : \"no\"} {name || 'Nobody'} {'Sum ' + n} {t('key')} {`Use ${version}`}",
            "yes no Nobody Sum Use 2.1",
        ),
        (
            "Of {version} and {port}, {frontMatter.kind}, {props.x}. {1 + 2} {/* a\n\nb */}End",
            "Of 2.1 and 80, a pot, . End",
        ),
        ("<b style={{a: 'b'}} onClick={() => f(1)}>Bold</b> <a href={'/z'}>z</a>", "Bold [z](</z>)"),
        ("$\\frac{a}{b}$ \\{x\\} `{y}` of {z", "\\frac{a}{b} {x} {y} of {z"),
    ],
)
def test_expressions_of_mdx_show_their_words_and_no_code(text: str, read_as: str) -> None:
    before = "---\nkind: a pot\n---\nexport const version = '2.1'\nexport const port: number = 80;\n\n# A {#a}\n\n"
    assert content(before + text, "a.mdx") == f"A\n{read_as}"


def test_front_matter_is_shown_where_vitepress_names_it() -> None:
    text = "---\ntitle: Tea\nyear: 2024\n---\n# {{ $frontmatter.title }} {.c #t}\n\nOf {{$frontmatter.year}}."
    (tea,) = read(text).explanations
    assert (tea.anchor, tea.title, tea.content) == ("t", "Tea", "Tea\nOf 2024.")


def test_mdx_is_read_as_text() -> None:
    text = """import Tabs from '@theme/Tabs';
export const a = {
  b: 1
};

# A

{/* comment */}

<Tabs groupId="os" defaultValue={x}>
  <TabItem value="apple" label="Apple" default>

  This is **apple**.

  </TabItem>
  <TabItem
    value={{b: 1}} label="Pear">
    ### Cut
    Cut it.
  </TabItem>
</Tabs>

<Select />

After `<Foo/>`.{" "}Then {'two'} of {props.n}.
"""
    assert content(text, "a.mdx") == "A\nApple\nThis is apple.\nPear\nCut\nCut it.\nAfter <Foo/>. Then two of ."


KETTLE = "# やかん\n\nやかんは水を沸かす道具である。"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp932", "euc_jp", "utf-16", "utf-16-le"])
def test_the_encoding_is_detected(encoding: str) -> None:
    assert read(KETTLE.encode(encoding)).title == "やかん"


def test_an_encoding_that_cannot_be_told_is_refused_by_name() -> None:
    with pytest.raises(UnreadablePage, match="utf-8"):
        read(b"# caf\xe9\n\nx")


def test_a_push_reads_markdown_beside_pages(operator: Operator) -> None:
    for place, text in {"guide.md": b"# G\n\nx", "a/b.MARKDOWN": b"# B\n\nx", "c.mdx": b"# C\n\nx"}.items():
        operator.file(f"site/{place}", text)
    operator.file("site/node_modules/p/README.md", b"# P\n\nx")
    operator.file("site/.github/x.md", b"# X\n\nx")
    operator.file("site/built.md", b"# Source\n\nx")
    operator.file("site/built.html")
    operator.file("site/wrong.md", b"# caf\xe9\n\nx")
    pushed = operator.sakuin("push", operator.folder / "site", "--json").document
    applied = [page["key"] for page in pushed["pages"] if page["outcome"] == "applied"]
    assert applied == ["a/b.html", "built.html", "c.html", "guide.html"]
    assert [Path(file["path"]).name for file in pushed["failed"]] == ["wrong.md"]
    assert [Path(file["path"]).name for file in pushed["skipped_files"]] == ["built.md"]
    assert operator.sakuin("read", "guide#g", "--details", "--json").document["chunk"]["title"] == "G"
