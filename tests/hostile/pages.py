"""Pages that no author would write, in any size."""

from collections.abc import Callable

from sakuin.knowledge.reading.page_reader import read_page

ANCHOR = '<div id="rule-a">'

Make = Callable[[int], bytes]


def page(body: str, *, head: str = "") -> bytes:
    return f"<!DOCTYPE html><html><head><meta charset='utf-8'>{head}</head><body>{body}</body></html>".encode()


def repeated(piece: str, *, before: str = "", after: str = "") -> Make:
    """Makes pages in which `piece` stands so many times."""
    return lambda times: page(before + piece * times + after)


def texts(html: bytes) -> dict[str, str]:
    """The contents of a page by anchor."""
    return {explanation.anchor: explanation.content for explanation in read_page(html).explanations}


def titles(html: bytes) -> dict[str, str]:
    """The names of what a page explains, by anchor."""
    return {explanation.anchor: explanation.title for explanation in read_page(html).explanations}


# What may stand in a page thousands of times, each with a shape of its own that once, or elsewhere, cost the square.
GROWING: dict[str, Make] = {
    "nested tags": repeated("<div>", before=ANCHOR),
    "nested tags with text": repeated("<sup>x", before=ANCHOR),
    "nested tables": repeated("<table><tr><td>x", before=ANCHOR),
    "nested links": repeated("<a href=#rule-a>", before=ANCHOR),
    "links at the ends of lines": repeated("<a href=x>題</a>\n", before=ANCHOR),
    "nested boxes without an id": repeated("<div class='rule-box'>x"),
    "empty boxes, one in another": repeated("<div class='rule-box'>", after="<p>x"),
    "headings in headings": repeated("<section><h2>題", before=ANCHOR),
    "headings without an id": repeated("<h2>x</h2>y"),
    "headings that are never closed": repeated("<section><h3><a name=x>"),
    "terms": lambda times: page("".join(f"<dl><dt id=t{number}>x<dd>y" for number in range(times))),
    "admonitions, one in another": repeated("<div class='admonition tip'><p class=admonition-title>x</p>y"),
    "links in a page without an id": repeated("<p><a href='#x'><code>x</code></a> y"),
    "lines of code": repeated("<span>x</span>\n", before="<pre>"),
    "tags that are never closed": repeated("<p><b>x", before=ANCHOR),
    "tags that were never opened": repeated("</p></i>", before=ANCHOR),
    "ids": lambda times: page("".join(f'<p id="x{number}">y' for number in range(times))),
    "the same id": repeated("<p id='rule-a'>y", before="", after=""),
    "empty anchors": repeated('<a id="x"></a>', before=ANCHOR),
    "comments": repeated("<!-- x -->", before=ANCHOR),
    "comments before the root": lambda times: ("<!-- x -->" * times + "<p id='rule-a'>x").encode(),
    "comments that are never closed": lambda times: ("<!--" * times + "<p id='rule-a'>x").encode(),
    "lines of pictographs": repeated("📌 \n<br>", before=ANCHOR),
    "combining marks": repeated("\u0323\u0301", before=ANCHOR + "a"),
    "combining marks in an id": lambda times: page("<p id='rule-" + "\u0323\u0301" * times + "'>x"),
    "texts in an element of many classes": lambda times: page(
        f"<p id='rule-a' class='{'x ' * times * 5}'>" + "text<br>" * times
    ),
    "attributes": lambda times: page("<p id='rule-a' " + " ".join(f"a{n}='1'" for n in range(times)) + ">x"),
    "spaces": repeated(" " * 50, before=ANCHOR + "x"),
    "braces that are never closed": repeated(r"\frac{\text{", before=ANCHOR),
    "braces that were never opened": repeated("}", before=ANCHOR),
    "dollars": repeated("$a ", before=ANCHOR),
    "numeric entities": repeated("&#x1F600;&lt;", before=ANCHOR),
    "svg": repeated("<svg><g id='g'>", before=ANCHOR),
    "mathematics": repeated("<math><annotation encoding='application/x-tex'>x</annotation></math>", before=ANCHOR),
    "meta tags": repeated("<meta name='category' content='x'>"),
    "link labels": repeated("<a href='#x'>→ 例1・例2</a>", before=ANCHOR),
    "a title of separators": lambda times: page(ANCHOR, head=f"<title>{' - ' * times}</title>"),
    "brackets after a step": lambda times: page(f"{ANCHOR}<ol><li>代入する{'(a)' * times}</ol>"),
}
