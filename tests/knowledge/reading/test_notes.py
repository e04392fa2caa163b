"""Footnotes stand in the section that marks them, whatever wrote them."""

import pytest
from sakuin.knowledge.reading.page_reader import read_page

PAGE = "<main><h1>T</h1><h2>A</h2>{}<h2>B</h2><p>Bee.</p>{}</main>"
TEXT = "A\nOpened in 1945[1].\n[1] Only the north."
IN_MARKDOWN = (
    '<p>Opened in 1945<sup><a href="#{0}" class="footnote-ref">1</a></sup>.</p>',
    '<section class="footnotes"><ol><li id="{0}"><p>Only the north. <a href="#ref">↩︎</a></p></li></ol></section>',
)
IN_DOCUTILS = (
    '<p>Opened in 1945<a class="footnote-reference" href="#id2" role="doc-noteref">[1]</a>.</p>',
    '<aside class="footnote" id="id2" role="doc-footnote"><span class="label"><span>[</span>'
    '<a role="doc-backlink" href="#id1">1</a><span>]</span></span><p>Only the north.</p></aside>',
)
IN_WORD = (
    '<p>Opened in 1945<a href="#_ftn1" name="_ftnref1">[1]</a>.</p>',
    '<div><p><a href="#_ftnref1" name="_ftn1">[1]</a> Only the north.</p></div>',
)
IN_ITEM = ('<ul><li>1945<sup><a href="#fn1">1</a></sup></li><li>Two</li></ul>', '<ol><li id="fn1">North.</li></ol>')
IN_CELL = ('<table><tr><td>1945<sup><a href="#fn1">1</a></sup></table>', '<ol><li id="fn1">North.</li></ol>')
TWICE = (
    '<p>One<a href="#fn1">[1]</a> and two<a href="#fn2">[2]</a>.</p><p>Again<a href="#fn1">[1]</a>.</p>',
    '<div><p id="fn1">First.</p><p id="fn2">Second.</p></div>',
)
IN_ORG = (
    '<p>1945<sup><a id="fnr.1" href="#fn.1">1</a></sup></p>',
    '<div><sup><a id="fn.1" href="#fnr.1">1</a></sup> <div><p>North.</p></div></div>',
)
IN_TERMS = (
    '<p>1945<a id="i1" class="footnote-reference" href="#i2">1</a></p>',
    '<dl class="footnote"><dt id="i2"><span><a href="#i1">1</a></span></dt><dd><p>North.</p></dd></dl>',
)
LINK = ('<p>See <a href="#b2">2</a>.</p>', '<p id="b2">No note.</p>')
CITED = ('<p>Old<sup><a href="#cite_note-1">1</a></sup>.</p>', '<ol class="references"><li id="cite_note-1">Book.</ol>')


@pytest.mark.parametrize(
    ("parts", "text", "end"),
    [
        (tuple(part.format("fn1") for part in IN_MARKDOWN), TEXT, "Bee."),
        (tuple(part.format("user-content-fn-1") for part in IN_MARKDOWN), TEXT, "Bee."),
        (IN_DOCUTILS, TEXT, "Bee."),
        (IN_WORD, TEXT, "Bee."),
        (IN_ITEM, "A\n- 1945[1]\n  [1] North.\n- Two", "Bee."),
        (IN_CELL, "A\n1945[1] [1] North.", "Bee."),
        (IN_ORG, "A\n1945[1]\n[1] North.", "Bee."),
        (IN_TERMS, "A\n1945[1]\n[1] North.", "Bee."),
        (TWICE, "A\nOne[1] and two[2].\n[1] First.\n[2] Second.\nAgain[1].", "Bee."),
        (LINK, "A\nSee 2.", "No note."),
        (CITED, "A\nOld[1].", "1. Book."),
    ],
)
def test_a_note_is_in_the_place_of_its_first_mark(parts: tuple[str, str], text: str, end: str) -> None:
    marked, last = read_page(PAGE.format(*parts).encode()).explanations[-2:]
    assert (marked.content, last.content.split("\n")[-1]) == (text, end)
