"""Reading a page without a semantic id: by its headings and admonitions."""

import json
from pathlib import Path

import pytest
from sakuin.errors import UnreadablePage
from sakuin.knowledge.names import link
from sakuin.knowledge.page import Explanation, Page, Words
from sakuin.knowledge.reading.page_reader import read_page
from sakuin.knowledge.validation import findings_of_page
from sakuin.language.model import LONGEST_BODY

SITES = Path(__file__).parent / "sites"
# Type, anchor and title of each section by the name of its page.
SECTIONS = json.loads((SITES / "sections.json").read_text("utf-8"))

BODY = "<h1 id=top>Title</h1><p>Intro</p>"


def page(html: str) -> Page:
    return read_page(html.encode())


def found(read: Page) -> list[tuple[str, str, str]]:
    return [(one.type, one.anchor, one.title) for one in read.explanations]


def by_anchor(html: str) -> dict[str, Explanation]:
    return {one.anchor: one for one in page(html).explanations}


@pytest.mark.parametrize("site", SECTIONS)
def test_a_page_of_each_generator_has_its_sections_alone(site: str) -> None:
    read = read_page((SITES / f"{site}.html").read_bytes())
    assert read.by_headings
    assert [list(section) for section in found(read)] == SECTIONS[site]
    text = "\n".join(one.content for one in read.explanations)
    assert not [
        word
        for word in ("¶", "Next", "Edit", "Contents", "Copy", "[source]", "Posted", "delicious", "©", "購読", "Share")
        if word in text
    ]


def test_a_generic_or_repeated_title_has_the_heading_above_it() -> None:
    release = "<h2 id=v{0}>{0} (May 3)</h2><h3 id=f{0}>Fixed</h3><p>A leak.</p><h3 id=i{0}>Inside</h3><p>Dry.</p>"
    read = page("<h1>Changes</h1>" + release.format("1.2.0") + release.format("1.1.0"))
    assert [one.title for one in read.explanations] == [
        *("1.2.0 › Fixed", "1.2.0 › Inside", "1.1.0 › Fixed", "1.1.0 › Inside")
    ]
    assert read.explanations[0].headings == ("Changes", "1.2.0 (May 3)")
    assert [one.title for one in page("<h1>Tea</h1><p>Hot</p><h2>Usage</h2><p>Drink</p>").explanations] == [
        *("Tea", "Tea › Usage")
    ]


def test_the_text_around_an_admonition_and_an_inner_section_stays_with_its_heading() -> None:
    watering = {one.anchor: one.content for one in read_page((SITES / "mkdocs.html").read_bytes()).explanations}
    assert watering["how-often"].split("\n")[1:] == [
        "Water when the upper two centimetres of soil are dry.",
        "In autumn, once a week is enough.",
    ]
    assert watering["pots"].split("\n")[1:] == ["```", "def litres(days):", "    return days", "```"]
    kettle = {one.anchor: one for one in read_page((SITES / "sphinx.html").read_bytes()).explanations}
    assert kettle["tea.Kettle"].content.split("\n")[1:] == ["A vessel with a switch.", "It is made of steel."]
    assert kettle["boiling"].content.endswith("see Kettle.boil().")
    assert kettle["descaling"].headings == ("Kettle", "Boiling")


@pytest.mark.parametrize(
    ("part", "titles"),
    [
        ("<h2 id=s>Sponsors</h2><p><a href=https://a.example>Anna and Bo of Example</a></p>", ["Tea"]),
        ("<h2 id=s>Gold sponsors</h2><p>Who gives 100 a month is named here.</p>", ["Tea", "Gold sponsors"]),
        ("<h2 id=s>Cups</h2>", ["Tea"]),
        ("<h2 id=s>Cups</h2><p><b>Cups</b></p>", ["Tea"]),
        ("<h2 id=s>Cups</h2><img alt=Cups src=a.png><p>Cups are small.</p>", ["Tea", "Cups"]),
    ],
)
def test_headings_without_text_or_with_links_alone_are_no_explanations(part: str, titles: list[str]) -> None:
    assert [one.title for one in page(f"<main><h1 id=t>Tea</h1><p>Hot</p>{part}</main>").explanations] == titles


@pytest.mark.parametrize("refresh", ["0; url=../guide/", "0;URL='/guide'", "1, url=https://example.org/guide"])
def test_a_page_that_leads_to_another_at_once_has_no_section(refresh: str) -> None:
    head = f'<title>Redirecting...</title><meta http-equiv="Refresh" content="{refresh}">'
    for body, words in (("<p>Redirecting to <a href=../guide/>the guide</a>...</p>", 4), ("", 1)):
        moved = page(f"<html><head>{head}</head><body>{body}</body></html>")
        assert (moved.explanations, moved.words) == ((), Words(0, 0, {"redirect": words}))
        assert [one.rule for one in findings_of_page("moved", moved, None)] == ["page-redirects"]


@pytest.mark.parametrize("refresh", ["300", "5; url=/news", "0"])
def test_a_page_that_people_can_read_before_it_reloads_keeps_its_sections(refresh: str) -> None:
    assert found(page(f'<meta http-equiv=refresh content="{refresh}">{BODY}')) == found(page(BODY))


def test_only_without_scripts_a_page_leads_elsewhere() -> None:
    inert = '<noscript><meta http-equiv=refresh content="0; url=/plain"></noscript>'
    assert found(page(inert + BODY)) == found(page(BODY))


def test_a_template_of_a_theme_has_no_explanation() -> None:
    template = '{#- made by hand -#}\n{% extends "base.html" %}{% block outdated %}<p>Old</p>{% endblock %}'
    assert page(template).explanations == ()
    assert len(page("<h1>Templates</h1><pre>{% block a %}</pre>").explanations) == 1


@pytest.mark.parametrize(
    "name",
    [
        "sponsor-list",
        "visitor-counter",
        "advertisement",
        "page-views",
        "post-byline",
        "entry__meta",
        "p-breadcrumb",
        "td-page-meta__lastmod",
        "c-shareBtns",
        "author-bio",
        "date-tags",
    ],
)
def test_what_themes_say_about_an_article_is_left_out(name: str) -> None:
    (lead, *_) = page(f"<main><h1>A</h1><div class='x {name}'>by anna</div><p>text</p></main>").explanations
    assert lead.content == "A\ntext"


def test_a_group_of_blocks_with_date_and_author_is_left_out_and_one_with_the_post_is_not() -> None:
    date = "<div class=wp-block-post-date><time>May 3</time></div><p>—</p><p>by</p><div>anna</div>"
    post = f"<main><h1>A</h1><div class='wp-block-group is-nowrap'>{date}</div><p>text</p></main>"
    assert [one.content for one in page(post).explanations] == ["A\ntext"]
    whole = f"<main><h1>A</h1><div class='wp-block-group'>{date}<h2>B</h2><p>text</p></div></main>"
    assert [one.title for one in page(whole).explanations] == ["A", "B"]


@pytest.mark.parametrize("name", ["entry share", "post type-post tag-tips", "post-title", "page-metal", "shared"])
def test_what_only_sounds_like_it_is_content(name: str) -> None:
    (lead, *_) = page(f"<main><h1>A</h1><div class='{name}'>by anna</div></main>").explanations
    assert lead.content == "A\nby anna"


@pytest.mark.parametrize(
    "section",
    [
        # Sphinx, Docutils, MkDocs.
        "<section id=comments><h2>Comments</h2><pre>## a</pre></section>",
        "<div class=section id=comments><h2>Comments</h2><pre>## a</pre></div>",
        "<h2 id=comments>Comments</h2><pre>## a</pre>",
    ],
)
def test_a_section_about_comments_is_content_and_the_comments_of_readers_are_not(section: str) -> None:
    of_readers = (
        "<div id=comments><h2>2 comments</h2><p>Nice</p></div><section id=comments class=area><p>Nice</p></section>"
    )
    _, about = page(f"<main><h1>Syntax</h1><p>All of it.</p>{section}{of_readers}</main>").explanations
    assert (about.anchor, about.content) == ("comments", "Comments\n```\n## a\n```")


def test_text_beside_a_box_is_in_sections_with_a_link_to_it() -> None:
    html = "<h2 id=a>A</h2><p>x</p><div class=admonition>y</div><p id=rule-z><b>Z [0]</b>: z</p><p>w</p>"
    read = page(html)
    assert found(read) == [("definition", "a", "A"), ("rule", "a:~:rule", "y"), ("rule", "rule-z", "Z [0]")]
    assert [one.content for one in read.explanations] == ["A\nx\n[Z \\[0\\]](#rule-z)\nw", "y", "Z [0]: z"]
    assert read.explanations[0].text == "A\nx\nw"
    assert [one.is_section for one in read.explanations] == [True, True, False]
    only_ids = page(f"<meta name=sakuin:index content=ids>{html}")
    assert (only_ids.by_headings, found(only_ids)) == (False, [("rule", "rule-z", "Z [0]")])


def test_a_page_whose_only_ids_are_examples_keeps_its_rules_and_the_table_after_a_box() -> None:
    read = page(
        "<main><h1 id=t>Angles</h1><h2 id=r>Rules</h2><p>Half of it.</p><div id=rule-v>Memorise these values:</div>"
        "<table><tr><th>30<th>45<tr><td>1<td>2</table><h2 id=e>In use</h2><div id=ex-1>Find it.</div>"
        "<h2 id=p>練習問題</h2><p>Try it.</p><h3 id=s>Solutions</h3><p>It is 2.</p></main>"
    )
    assert [(one.type, one.anchor) for one in read.explanations] == [
        *(("definition", "r"), ("rule", "rule-v"), ("example", "ex-1"), ("example", "p"), ("example", "s"))
    ]
    assert read.explanations[0].text == "Rules\nHalf of it.\n30 | 45\n1 | 2"


def test_a_box_outside_of_the_content_is_found() -> None:
    read = page("<body><aside><h3 id=tip-a>A</h3><p>x</p></aside><main><h1 id=t>T</h1><p>y</p></main><p id=ex-b>z</p>")
    assert [(one.anchor, one.content) for one in read.explanations] == [
        *(("tip-a", "A\nx"), ("t", "T\ny\n[z](#ex-b)"), ("ex-b", "z"))
    ]


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("<h2 id=a>A</h2>", "a"),
        ("<h2><a id=a></a>A</h2>", "a"),
        ("<h2><a name=a>A</a></h2>", "a"),
        ("<a name=a></a><h2>A</h2>", "a"),
        ("<p><a id=a></a></p><h2>A</h2>", "a"),
        ("<section id=a><h2>A</h2></section>", "a"),
        ("<section id=a><div><p class=date>May 1</p><h2>A</h2></div></section>", "a"),
        ("<h2>A</h2>", "top:~:a"),
        ("<h2 id='a b'>A</h2>", "top:~:a"),
        ("<h2 id=top>A</h2>", "top:~:a"),
        ("<p id=a>Before</p><h2 id=a>A</h2>", "top:~:a"),
        ("<section id=a><p>" + "Long text before. " * 9 + "</p><h2>A</h2></section>", "top:~:a"),
        ("<h2>!</h2>", "top:~:section"),
    ],
)
def test_the_anchor_of_a_heading_is_one_that_a_link_reaches(heading: str, anchor: str) -> None:
    assert anchor in by_anchor(f"<main>{BODY}{heading}<p>Text</p></main>")


@pytest.mark.parametrize(
    ("part", "anchor"), [("<h1 id=a>Title</h1>Text", "a"), ("<div id=rule-a><b>Rule</b> Text</div>", "rule-a")]
)
def test_a_page_without_a_body_tag_is_read(part: str, anchor: str) -> None:
    page = read_page(f"<!doctype html><title>T</title><main>{part}</main>".encode())
    assert [explanation.anchor for explanation in page.explanations] == [anchor]


def test_links_to_what_has_no_anchor_lead_to_the_anchor_before_it_or_to_the_page() -> None:
    assert link("docs/a", "top:~:a b", "/site") == "/site/docs/a.html#top"
    assert link("docs/a", ":~:夜空", "/site") == "/site/docs/a.html"


@pytest.mark.parametrize(
    ("text", "directive"),
    [
        ("Boil the water until it sings.", "Boil%20the%20water%20until%20it%20sings."),
        ("夜空の見方\n\n目が暗さに慣れるまで、待つ。", "夜空の見方,-目が暗さに慣れるまで、待つ。"),
        ("- one, two-three & four of them", "one%2C%20two%2Dthree%20%26%20four%20of%20them"),
        ("```\ncode\n```\nThe text after a block of code", "The%20text%20after%20a%20block%20of%20code"),
        ("word " * 40, "%20".join(["word"] * 16)),
        ("解の公式に係数を代入すると、" + "あ" * 200, "解の公式に係数を代入すると、" * 0),
        ("解の公式に係数を代入し、そのあとで計算すると、" + "あ" * 200, "解の公式に係数を代入し、そのあとで計算すると"),
        ("あ" * 200, ""),
        ("```\nonly code\n```", ""),
        ("", ""),
    ],
)
def test_a_link_to_what_has_no_anchor_names_the_beginning_of_its_text(text: str, directive: str) -> None:
    written = link("docs/a", "top:~:b", "/site", text=text)
    assert written == "/site/docs/a.html#top" + (f":~:text={directive}" if directive else "")
    assert link("docs/a", "b", "/site", text=text) == "/site/docs/a.html#b"


def test_headings_without_an_anchor_are_counted_but_for_the_title_of_the_page() -> None:
    read = page("<h1>Title</h1><p>x</p><h2>A</h2><p>y</p><h2>A</h2><p>z</p><h2>Empty</h2><h2 id=c>C</h2><p>w</p>")
    assert [one.anchor for one in read.explanations] == [":~:title", ":~:a", ":~:a-2", "c"]
    assert read.unanchored_headings == ("A", "A")


def test_a_page_without_headings_is_one_explanation_and_one_of_links_is_none() -> None:
    assert found(page("<title>Tea</title><p>It is hot.</p>")) == [("definition", ":~:tea", "Tea")]
    assert found(page("<h1 id=a>Index</h1><ul><li><a href=/b>Bread</a></li><li><a href=/c>Cake</a></li></ul>")) == []
    assert found(page("<title>Blog</title><p>About us</p><h2 id=a>A</h2>b")) == [
        ("definition", ":~:blog", "Blog"),
        ("definition", "a", "A"),
    ]


@pytest.mark.parametrize(
    "heading",
    [
        "Step 1: Mix<a class=headerlink href=#a>¶</a>",
        "<a class=header href=#a>Step 1: Mix</a>",
        "<a class=header-anchor href=#a><span>Step 1: Mix</span></a>",
        "<a class=header-anchor href=#a aria-hidden=true>#</a> Step 1: Mix",
        "Step 1: Mix <a class=hash-link href=#a aria-label='Direct link'>&#8203;</a>",
        "Step 1: Mix<a class=headerlink href=#a>&#xf0c1;</a>",
        "<a class=doc-anchor href=#a>§</a>Step 1: Mix",
    ],
)
def test_a_link_at_a_heading_is_left_out_but_not_the_title_in_it(heading: str) -> None:
    (step,) = page(f"<h2 id=a>{heading}</h2><p>Flour</p>").explanations
    assert (step.title, step.content) == ("Mix", "Step 1: Mix\nFlour")


def test_hidden_text_is_no_part_of_a_section() -> None:
    html = "<h1 id=a>A</h1><p>Seen</p><p hidden>No</p><p style='display:none'>No</p><span class=sr-only>No</span>"
    assert by_anchor(html)["a"].content == "A\nSeen"


def test_a_panel_of_tabs_is_read_since_a_click_shows_it() -> None:
    gas, electric = "<div role=tabpanel>Light</div>", "<div role=tabpanel hidden>Press</div>"
    html = "<h1 id=a>A</h1><ul role=tablist><li role=tab>Gas</li><li role=tab>Electric</li></ul><div>%s</div>"
    assert by_anchor(html % (gas + electric))["a"].content.endswith("Light\nPress")
    assert "Press" not in by_anchor(html % electric)["a"].content


@pytest.mark.parametrize("label", ["Tip", "ヒント", "提示", "Tipp"])
def test_the_name_of_its_kind_is_no_title_of_an_admonition(label: str) -> None:
    box = f"<div class='admonition tip'><p class=admonition-title>{label}</p><p>Reef early.</p></div>"
    (tip,) = page(f"<main><h1 id=a>A</h1>{box}</main>").explanations
    assert (tip.type, tip.title, tip.content) == ("tip", "Reef early", f"{label}\nReef early.")


def test_the_date_and_the_author_of_a_post_are_left_out() -> None:
    date = "<div class=x><time datetime=2024-05-03>May 3</time> · One min read</div>"
    post = f"<article><header><h1 id=a>Bread</h1>{date}<div class=avatar>Anna</div></header><p>Dough</p></article>"
    assert by_anchor(f"<main>{post}</main>")["a"].content == "Bread\nDough"


def test_topics_and_footnotes_of_docutils_are_text() -> None:
    asides = (
        "<aside class=topic>Topic</aside><aside class='footnote-list brackets'><p>Note</p></aside><aside>Ad</aside>"
        "<aside class='contents topic'><p>Contents</p><ul><li><a href=#a>All of the parts</a></ul></aside>"
    )
    assert by_anchor(f"<main><h1 id=a>A</h1><p>x</p>{asides}</main>")["a"].content == "A\nx\nTopic\nNote"


def test_the_signs_of_code_belong_to_a_title() -> None:
    headings = "Join with <code>format!</code>", "<code><b>#[test]</b></code>:", "A<label><code>b</code></label>", "No!"
    body = "".join(f"<h2>{heading}</h2><p>Text</p>" for heading in headings)
    titles = [one.title for one in page(f"<main>{body}<h2><code>empty!</code></h2></main>").explanations]
    assert titles == ["Join with format!", "#[test]", "A b", "No"]


@pytest.mark.parametrize(
    ("part", "titles"),
    [
        # Docusaurus: posts, pages of a tag.
        ("<article><header><h2><a href=/blog/soup>Soup</a></h2></header><p>Hot</p></article>", []),
        ("<article><a href=/docs/soup><h2>Soup</h2></a><p>Hot</p></article>", []),
        # Jekyll, WordPress.
        ("<ul><li><h3> <a class=post-link href=/2024/soup.html>Soup</a></h3><p>Hot</p></li></ul>", []),
        ("<article class=post><h2><a href=https://a.example/soup rel=bookmark>Soup</a></h2><p>Hot</p></article>", []),
        # The post itself, a changelog, an overview.
        ("<article><h1><a href=/blog/soup>Soup</a></h1><p>Hot</p></article>", ["Soup"]),
        ("<article><h2 id=soup><a href=#soup>Soup</a></h2><p>Hot</p></article>", ["Soup"]),
        ("<article><h2><a href=https://a.example/compare>Soup</a></h2><p>Hot</p></article>", ["Soup"]),
        (
            "<article><h2><a href=/a>Soup</a></h2><p>Hot</p><h2><a href=/b>Tea</a></h2><p>Hot</p></article>",
            ["Soup", "Tea"],
        ),
        ("<article><h2>About <a href=/soup>Soup</a></h2><p>Hot</p></article>", ["About Soup"]),
    ],
)
def test_teasers_of_other_pages_are_left_out(part: str, titles: list[str]) -> None:
    assert [one.title for one in page(f"<main>{part}</main>").explanations] == titles


@pytest.mark.parametrize(
    ("box", "kind"),
    [
        ("<aside class='starlight-aside starlight-aside--tip'><p>Box</p></aside>", "tip"),
        (
            "<aside class='starlight-aside starlight-aside--tip' aria-label=Box><p aria-hidden=true>Box</p>x</aside>",
            "tip",
        ),
        ("<div class='markdown-alert markdown-alert-note'><p>Box</p></div>", "rule"),
        ("<div class='tip custom-block'><p class=custom-block-title>TIP</p><p>Box</p></div>", "tip"),
        ("<div class='hint-container tip'><p class=hint-container-title>Tips</p><p>Box</p></div>", "tip"),
        ("<div class='admonitionblock example'><p>Box</p></div>", "example"),
        ("<div class='alert alert-warning' role=alert>Box</div>", "rule"),
        ("<blockquote class='book-hint info'>Box</blockquote>", "rule"),
        ("<details class=info><summary>Box</summary><p>x</p></details>", "rule"),
        ("<p class=note>Box</p>", "rule"),
        ("<div class=definition-box>Box</div>", "definition"),
        ("<div class=info>Box</div>", None),
        ("<aside>Box</aside>", None),
        ("<blockquote>Box</blockquote>", None),
    ],
)
def test_admonitions_of_other_generators(box: str, kind: str | None) -> None:
    boxes = [one.type for one in page(f"<main>{BODY}{box}</main>").explanations if one.title == "Box"]
    assert boxes == ([kind] if kind else [])


def test_meta_tags_of_the_page_choose_its_content_and_types() -> None:
    read = page(
        "<meta name=sakuin:content content='div.text'><meta name=sakuin:leave-out content='.ad, #legal'>"
        "<meta name=sakuin:types content='.step = method, h3 = example'>"
        "<h1>Menu</h1><p>x</p><div class='text wide'><h2 id=a>A</h2><p>Cake</p><p class=ad>Buy</p>"
        "<div class=step id=s>Stir</div><h3 id=b>B</h3><p>Pie</p><p id=legal>Law</p></div>"
    )
    assert found(read) == [("definition", "a", "A"), ("method", "s", "Stir"), ("example", "b", "B")]
    assert [one.content for one in read.explanations] == ["A\nCake", "Stir", "B\nPie"]


def test_text_before_an_article_does_not_make_it_the_content() -> None:
    read = page(
        f"<div>{'Menu ' * 40}</div><article><h1 id=a>A</h1><p>Short</p></article>"
        "<h2 id=b>B</h2><p>This is most of what the page says.</p>"
    )
    assert [anchor for _, anchor, _ in found(read)] == ["a", "b"]


def test_terms_of_one_description_are_one_section_with_all_of_them() -> None:
    read = page(
        "<h1 id=a>A</h1><p>x</p><dl><dt id=f><a href=#f><code>-f</code> <em>file</em></a></dt>"
        "<dt id=file><code>--file</code></dt><dt>--input</dt><dd>Reads it</dd><dt id=v>-v</dt><dd>Says more</dd></dl>"
    )
    assert found(read) == [("definition", "a", "A"), ("definition", "f", "-f file"), ("definition", "v", "-v")]
    assert [one.content for one in read.explanations[1:]] == ["-f file\n--file\n--input\nReads it", "-v\nSays more"]


def test_a_heading_in_a_section_of_its_own_names_what_follows() -> None:
    method = "<details><summary><section id={0}><h3>{0}()</h3></section></summary><p>x<h4 id={0}-ex>Examples</h4><p>y"
    read = page(f"<h1 id=o>Option</h1><p>x</p>{method.format('is_some')}</details>{method.format('unwrap')}</details>")
    assert [title for *_, title in found(read)] == [
        *("Option", "is_some()", "is_some() › Examples", "unwrap()", "unwrap() › Examples")
    ]
    assert read.explanations[4].headings == ("Option", "unwrap()")


def test_a_setting_that_cannot_be_read_is_reported_and_the_rest_is_used() -> None:
    read = page(
        "<meta name=sakuin:types content='div > p = tip, .a = idea, .box = tip'><meta name=sakuin:index content=all>"
        "<h1 id=t>T</h1><p>x</p><p class=box id=b>B</p>"
    )
    assert found(read) == [("definition", "t", "T"), ("tip", "b", "B")]
    assert [problem.split(" ")[0] for problem in read.problems] == ["sakuin:types:", "sakuin:types:", "sakuin:index"]


def test_ids_that_a_generator_made_of_titles_are_not_semantic() -> None:
    html = "<h1 id=a>A</h1><p>x</p><h2 id=method-syntax>Method syntax</h2><p>y</p><h2 id=b>B</h2><p>z</p>"
    assert [anchor for _, anchor, _ in found(page(html))] == ["a", "method-syntax", "b"]
    written = page(html.replace(">Method syntax", ">How methods are called"))
    assert found(written)[1] == ("method", "method-syntax", "How methods are called")
    mixed = html.replace("<p>z", "<p>y<p id=rule-z>z")
    assert found(page(mixed))[1:] == [
        *(("definition", "method-syntax", "Method syntax"), ("definition", "b", "B"), ("rule", "rule-z", "z"))
    ]
    chosen = page(f"<meta name=sakuin:index content=headings>{mixed}")
    assert (chosen.by_headings, [anchor for _, anchor, _ in found(chosen)]) == (True, ["a", "method-syntax", "b"])


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        # Slugs by GitHub, docutils, Pandoc, MkDocs, Hugo; repeated, cut, numbered.
        ("<section id=method-objects><h2>Method objects<a href=#>¶</a></h2>{}</section>", "definition"),
        ("<div id=method-objects class='section level2'><h2>Method objects</h2>{}</div>", "definition"),
        ("<h2 id=method-get--post>Method: GET &amp; POST</h2>{}", "definition"),
        ("<h2 id=method-get-and-post>Method: GET &amp; POST</h2>{}", "definition"),
        ("<h2 id=method-do_it>Method <code>do_it</code></h2>{}", "definition"),
        ("<h2 id=tip-fur-anfanger>Tip für Anfänger</h2>{}", "definition"),
        ("<h2 id=tip-fuer-anfaenger>Tip für Anfänger</h2>{}", "definition"),
        ("<h2 id=method-syntax_2>Method syntax</h2>{}", "definition"),
        ("<h2 id=method-syntax-of-a-long>Method syntax of a long title</h2>{}", "definition"),
        ("<h2 id=rule-of-thumb>3.1. Rule of thumb</h2>{}", "definition"),
        # The heading says it.
        ("<h2 id=rule-1-dont-panic>Rule 1: Don't panic</h2>{}", "rule"),
        ("<h2 id=rule-3-order>3. Rule 3: order</h2>{}", "rule"),
        ("<h2 id=rule-3>ルール3</h2>{}", "rule"),
        ("<section id=def-3><h2>Definition 3</h2>{}</section>", "definition"),
        # An author wrote it.
        ("<h2 id=tip-slope>How steep it is</h2>{}", "tip"),
        ("<section id=tip-slope><h2>How steep it is</h2>{}</section>", "tip"),
        ("<div id=tip-slope><h2>Tip slope</h2>{}</div>", "tip"),
        # RDoc.
        ("<div id=method-i-each class=method-detail>each() {}</div>", "definition"),
    ],
)
def test_the_type_of_an_id_counts_unless_a_generator_made_it(part: str, kind: str) -> None:
    read = page(f"<main><h1 id=t>T</h1><p>x</p>{part.format('<p>Text</p>')}<h2 id=z>Z</h2><p>y</p></main>")
    assert [one.type for one in read.explanations if one.content.endswith("Text")] == [kind]
    assert [one.anchor for one in read.explanations][::2] == ["t", "z"]


@pytest.mark.parametrize(
    "part",
    [
        "<form><label id=rule-l>Rule</label><input id=rule-name></form>",
        "<p>As known<sup id=ex-1><a href=#n>1</a></sup></p><p class=footnote id=ex-2>x</p>",
        "<section id=method-summary><h2>Method Summary</h2><div id=method-summary-table>x</div></section>",
    ],
)
def test_ids_of_fields_notes_and_parts_of_sections_are_places_that_are_no_explanations(part: str) -> None:
    read = page(f"<main><h1 id=t>T</h1><p>y</p>{part}</main>")
    assert (read.by_headings, {one.type for one in read.explanations}) == (True, {"definition"})
    assert read.places == {name for name in read.ids if name != "t"}


def test_a_page_of_too_many_headings_is_refused() -> None:
    with pytest.raises(UnreadablePage, match="headings"):
        read_page(f"<main>{'<h2>x</h2>y' * 11}</main>".encode(), most_explanations=10)


@pytest.mark.parametrize(
    ("body", "content"),
    [
        # Text in no section belongs to the page's own.
        ("<main><section class=hero><h1>T</h1><p>Sub.</p></section><div><p>X</p></div></main>", "T\nSub.\nX"),
        ("<main><p>X</p><h1>T</h1><p>Y</p></main>", "X\nT\nY"),
        ("<main><details><summary><h1>T</h1></summary><p>X</p></details><p>Y</p></main>", "T\nX\nY"),
        ("<header><h1>T</h1><div class=abstract>X</div></header><nav>N</nav><p>Y</p>", "T\nX\nY"),
        ("<header><h1>T</h1><p>X</p></header><main><p>Y</p></main>", "T\nX\nY"),
        ("<header><h1><a href=/>Site</a></h1></header><main><h1>T</h1><p>Y</p></main>", "T\nY"),
        ("<header><h1>T</h1><p>X</p></header><h1>U</h1><p>Y</p>", "T\nX|U\nY"),
        # Code in the middle of a sentence, and code that is links.
        ("<h1>T</h1><p>Like</p><div class=example><pre>b</pre></div><p>it is.</p>", "T\nLike\n```\nb\n```\nit is."),
        ("<h1>T</h1><pre><a href=a>GObject</a>\n  <a href=b>GType</a></pre>", "T\n```\nGObject\n  GType\n```"),
        # All articles; a post whose title links to itself.
        ("<main><article><h1>T</h1><p>X</p></article><article><p>Y</p></article></main>", "T\nX\nY"),
        ("<main><article><header><h2><a href=/t/>T</a></h2></header><p>X</p></article></main>", "T\nX"),
        # Names of themes that only name.
        (
            "<div class='widget Blog'><h1>T</h1><p>It is text.</p></div><div class=widget><a href=/>A</a></div>",
            "T\nIt is text.",
        ),
        (
            "<main><h1>T</h1><div class='row gutter'><p>It drips.</p></div><div class=menu><p>Tea is hot.</p></div>",
            "T\nIt drips.\nTea is hot.",
        ),
        ("<main><h1>T</h1><div class=menu><a href=/a>Tea is hot.</a> <a href=/b>Wine</a></div><p>X</p></main>", "T\nX"),
        # Accordions, buttons, tabs.
        ("<main><h1><button>T</button></h1><p>X</p></main>", "T\nX"),
        ("<main><h1 role=button aria-controls=p>T</h1><div id=p style='display:none'>X</div></main>", "T\nX"),
        ("<main><h1>T</h1><p role=button aria-expanded=false>X?</p><div hidden>Y</div></main>", "T\nX?\nY"),
        (
            "<main><h1>T</h1><div class='tab-pane fade'>X</div><div class='ui-tabs-panel' style='display:none'>Y</div>",
            "T\nX\nY",
        ),
        ("<main><h1>T</h1><button class=accordion>Q</button><div><p>X</p></div></main>", "T\nQ\nX"),
        (
            "<main><h1>T</h1><p>Click <button>Save</button> now.<div><button>Copy</button><button>Share</button></div>",
            "T\nClick Save now.",
        ),
        (
            "<main><h1>T</h1><div><div role=tabpanel>X</div></div><div><div role=tabpanel aria-hidden=true>Y</div>",
            "T\nX\nY",
        ),
        # Notes.
        (
            "<main><h1>T</h1><p>X</p><aside role=doc-footnote>A note.</aside><aside class=x><p>It leaks.</p></aside>",
            "T\nX\nA note.\nIt leaks.",
        ),
        (
            "<main><h1>T</h1><p>X</p><aside class=s><p>Inherited by <a href=/a>Type</a><a href=/b>._A</a></aside>",
            "T\nX\nInherited by [Type](</a>)[._A](</b>)",
        ),
        ("<article><h1>T</h1><p>X</p><footer>Written in May. <address>Anna</address></footer></article>", "T\nX"),
        ("<main><h1>T</h1><blockquote>X<footer>Y</footer></blockquote><footer>© Z</footer></main>", "T\n> X\n> Y"),
    ],
)
def test_the_main_text_of_a_page_is_read_whatever_its_structure(body: str, content: str) -> None:
    assert [one.content for one in page(f"<title>T</title><body>{body}").explanations] == content.split("|")


def test_text_before_a_heading_of_rank_1_that_is_not_the_pages_has_its_own_section() -> None:
    read = page("<title>Pumps | Wiki</title><div><p>Close it.</p><h1 id=parts>Parts</h1><p>A wheel.</p></div>")
    assert found(read) == [("definition", ":~:pumps", "Pumps"), ("definition", "parts", "Parts")]


def test_sections_named_as_parts_of_themes_are_read() -> None:
    section = "<section id={0} class=level2><h2>{1}</h2><p>{1} are text.</p></section>"
    div = "<div id={0} class='section level2'><h2>{1}</h2><p>{1} are text.</p></div>"
    names = {"comments": "Comments", "sidebar": "Sidebars", "footer": "Footers"}
    parts = "".join(form.format(name, names[name]) for name, form in zip(names, (section, div, section), strict=True))
    assert [one.anchor for one in page(f"<main><h1 id=t>T</h1>x{parts}</main>").explanations] == ["t", *names]


@pytest.mark.parametrize(
    ("body", "contents"),
    [
        (
            "<h1 id=t>T</h1><h2 id=i>Implementations</h2><dl><dt id=c>impl Copy</dt></dl>"
            "<h3 id=a>impl Send</h3><h3 id=b>impl Sync</h3>",
            ["Implementations\nimpl Copy\nimpl Send\nimpl Sync"],
        ),
        # Without ids: Doxygen, TypeDoc.
        ("<p>A gap.</p><h2>Members</h2><h2 id=e>end</h2><p>char</p>", ["A gap.\nMembers", "end\nchar"]),
        ("<h1 id=t>T</h1><p>f(x)</p><h4>Returns A</h4>", ["T\nf(x)\nReturns A"]),
        ("<h1 id=t>T</h1><h2>Widget</h2>", []),
        # YARD.
        (
            "<h1 id=t>T</h1><p>x</p><h2 id=m>Methods</h2><h3>From Error</h3>"
            "<p><a href=E.html#a>a</a>, <a href=E.html#b>b</a>",
            ["T\nx", "Methods\nFrom Error\n[a](<E.html#a>), [b](<E.html#b>)"],
        ),
        (
            "<h1 id=t>T</h1><p>x</p><h2 id=m>Related</h2><p><a href=a.html>Anna's pump</a>, <a href=b.html>Boo</a>",
            ["T\nx"],
        ),
    ],
)
def test_headings_with_nothing_or_references_below_them_belong_to_the_heading_above(
    body: str, contents: list[str]
) -> None:
    assert [one.content for one in page(f"<title>T</title><main>{body}</main>").explanations] == contents


@pytest.mark.parametrize(
    ("part", "is_read"),
    [
        ("<div id=footer>Generated on Monday by yard 0.9 (ruby-3.1).</div>", False),
        ("<div class=footer><p>© 2020 Anna. The contributions are the copyrights of their owners.</p></div>", False),
        ("<div class=part><p>© is the sign of a copyright. It is written before the year of the text.</p></div>", True),
        (
            "<p>Generated by the pump, the pressure rises. It falls again when the pump stops, and rises again. "
            "Then it stays as it is until the valve opens, which takes a second.</p>",
            True,
        ),
        ("<details><summary>Settings</summary><label><input type=checkbox name=p>Protected</label></details>", False),
        ("<form><p>How many? Choose one.</p><label><input type=radio name=q>Three</label></form>", True),
    ],
)
def test_credits_of_programs_and_settings_of_a_page_are_left_out(part: str, is_read: bool) -> None:
    (lead,) = page(f"<h1 id=t>T</h1><p>x</p>{part}").explanations
    assert (lead.content != "T\nx") == is_read


@pytest.mark.parametrize(
    ("link", "is_read"),
    [
        ("<a href=s.html#{0}>Source</a>", False),
        ("<a href=https://a.example/{0}>GitHub</a>", True),
        ("<p>see <a href=s.html#{0}>Source</a></p>", True),
        ("<ul><li><a href=s.html#{0}>Source</a></li></ul>", True),
    ],
)
def test_links_alone_to_the_source_of_a_part_are_left_out(link: str, is_read: bool) -> None:
    parts = "".join(f"<section>{link.format(number)}<h2>F{number}</h2><p>x</p></section>" for number in range(5))
    body = f"<main><h1 id=t>T</h1><p>It pumps water as long as it runs.</p>{parts}</main>"
    text = "\n".join(one.content for one in page(body).explanations)
    assert any(word in text for word in ("Source", "GitHub")) == is_read


def test_a_numbered_heading_above_boxes_alone_is_searched_with_them() -> None:
    boxes = "".join(
        f"<h2>{n}. Lines {n}</h2><div class=box id=rule-{n}><b>Slope {n}</b><p>It is steep.</p></div>"
        for n in (1, 2, 3)
    )
    assert page(f"<main><h1>Graphs</h1>{boxes}</main>").words.lost == 0


def test_the_books_of_a_page_say_what_is_searched_left_out_and_lost() -> None:
    read = page(
        "<nav>Site</nav><main><nav>On this page</nav><h1 id=t>Pumps</h1><p>They move 水を.</p><p hidden>Not yet</p>"
        "<div class=menu><a href=/a>All pumps</a></div><div><button>Copy it</button></div>"
        "<div class=sponsors><p>We thank Anna</p></div><h2>Alone and lost</h2><p>Alone and lost</p></main>"
        "<footer>End</footer>"
    )
    assert read.words == Words(
        5, 6, {"form": 2, "furniture": 3, "hidden": 2, "menu": 5}, (*["Alone and lost\nAlone and lost"],)
    )
    line = "5 words searched, 0 only read, 12 left out (form 2, furniture 3, hidden 2, menu 5), 6 lost"
    assert str(read.words) == line
    only_ids = page("<meta name=sakuin:index content=ids><h1>A title</h1><p>two <a href=a/b>words</a><p id=rule-a>box")
    assert (only_ids.words.searched, only_ids.words.left_out) == (1, {"setting": 4})


def test_words_behind_the_indexed_part_of_an_explanation_are_only_read() -> None:
    long = f'<div class="rule-box" id="rule-a"><p>{"word " * (LONGEST_BODY // 5)}数 and 3 more</p></div>'
    read = page(f"<main>{long}<h2>More</h2><p>{'word ' * 9_995}</p><h2>Drawing</h2><img></main>")
    assert read.words == Words(29_996, 1, first_lost=("Drawing",), only_read=4)
    assert str(read.words) == "29,996 words searched, 4 only read, 0 left out, 1 lost"
