"""The tree of a page, beside that of bs4's own builder."""

import gc
from contextlib import suppress
from typing import Any

import pytest
import soupsieve
from bs4 import BeautifulSoup, Tag
from hypothesis import given
from hypothesis import strategies as st
from sakuin.errors import UnreadablePage
from sakuin.knowledge.reading.page_reader import read_page
from sakuin.knowledge.reading.parsing import parsed

PIECES = [
    *("<p>", "</p>", "<div id=a class='b c'>", "</div>", "<pre>", "</pre>", "<ruby>", "<rt>", "</rt>", "</ruby>"),
    *("<ul><li>", "</ul>", "<table><tr><td>", "</table>", "<b>", "</b>", "<a href='#a'>", "</a>", "<br>", "<o:p>"),
    *("text", " ", " \n ", "\u3000", "&lt;", "<script type='math/tex'>x</script>", "</html>", "<h2>"),
]
HTML = st.lists(st.sampled_from(PIECES), max_size=30).map(lambda pieces: "<main>" + "".join(pieces))


def linked(root: Tag) -> list[list[Any]]:
    """Returns each node with its neighbours."""
    return [
        [type(node) if isinstance(node, str) else node.name, node.get_text(), getattr(node, "attrs", {})]
        + [each and (each.name or str(each)) for each in (node.parent, node.previous_sibling, node.next_element)]
        for node in root.descendants
    ]


@given(HTML)
def test_the_tree_is_that_of_bs4(html: str) -> None:
    root, elements, _ = parsed(html)
    theirs = BeautifulSoup(html, "lxml", multi_valued_attributes=None)
    assert linked(root) == linked(theirs)
    assert elements == root.find_all(True)


@pytest.mark.parametrize("selector", ["div.b p", "#a > b", "ruby rt", "li:first-child", "a[href]", "p + p"])
def test_css_selectors_find_the_same_elements(selector: str) -> None:
    html = "<div id=a class='b c'><p>1<p>2</p><b>3</b><ruby>4<rt>5</rt></ruby><ul><li>6<li>7</ul><a href=#a>8</a></div>"
    found = soupsieve.select(selector, parsed(html)[0])
    assert [tag.get_text() for tag in found] == [
        tag.get_text() for tag in soupsieve.select(selector, BeautifulSoup(html, "lxml"))
    ]
    assert found


def test_a_comment_does_not_divide_a_text() -> None:
    assert [str(text) for text in parsed("<p>a<!-- note -->b")[0].find_all(string=True)] == ["ab"]


@pytest.mark.parametrize("most", [10, 1_000])
@pytest.mark.parametrize("is_enabled", [True, False])
def test_garbage_is_not_collected_while_a_page_is_read(is_enabled: bool, most: int) -> None:
    collections: list[str] = []
    (gc.enable if is_enabled else gc.disable)()
    gc.callbacks.append(lambda phase, _info: collections.append(phase))
    try:
        with suppress(UnreadablePage):
            read_page(b"<h2>a</h2>b" * 1_000, most_explanations=most)
        assert gc.isenabled() == is_enabled
    finally:
        gc.callbacks.pop()
        gc.enable()
    # One after it: its start and its stop.
    assert len(collections) <= 2
