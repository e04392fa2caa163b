"""Which strings of a Table are indexed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sakuin.errors import NotFound
from sakuin.tables.json_pointer import is_within, resolve
from sakuin.tables.scan import LargeString, content_hash, large_strings, problem_of, storable

KEYS = st.text(alphabet='a0/~*" あ', max_size=3)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=25,
)


def pointers(document: object, scope: str = "", threshold: int = 1000) -> list[str]:
    return [found.json_pointer for found in large_strings(document, scope, threshold=threshold)]


def test_the_threshold_itself_is_large_and_one_below_is_not() -> None:
    document = {"small": "あ" * 199, "large": "あ" * 200, "number": 10**1000, "nothing": None}
    assert list(large_strings(document, "", threshold=200)) == [LargeString("/large", "あ" * 200)]


def test_only_the_scope_is_scanned_also_if_it_is_a_string() -> None:
    large = "x" * 1000
    document = {"articles": [{"content": large}], "articles2": [large], "secret": large, "small": "x"}
    assert pointers(document, "/articles") == ["/articles/0/content"]
    assert (pointers(document, "/secret"), pointers(document, "/small"), pointers(large)) == (["/secret"], [], [""])
    with pytest.raises(NotFound, match="/b"):
        pointers(document, "/b")


def test_nodes_come_in_the_documents_order() -> None:
    document = {"z": ["xx", {"y": "xx"}], "a": "xx", "": {"": "xx"}}
    assert pointers(document, threshold=2) == ["/z/0", "/z/1/y", "/a", "//"]


def longer_than(node: Any, least: int) -> int:
    """Counts the strings of `least` or more."""
    if isinstance(node, str):
        return len(node) >= least
    below = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return sum(longer_than(child, least) for child in below)


@given(DOCUMENTS, st.integers(min_value=0, max_value=6))
def test_every_large_string_is_found_once_where_its_pointer_says(document: object, threshold: int) -> None:
    found = list(large_strings(document, "", threshold=threshold))
    assert all(resolve(document, node.json_pointer) == node.text for node in found)
    assert len({node.json_pointer for node in found}) == len(found) == longer_than(document, threshold)


@given(DOCUMENTS, st.data())
def test_a_scope_gives_the_part_of_the_whole_that_it_holds(document: object, data: st.DataObject) -> None:
    whole = pointers(document, threshold=0)
    scope = data.draw(st.sampled_from([*whole, ""]))
    assert pointers(document, scope, threshold=0) == [pointer for pointer in whole if is_within(pointer, scope)]


def test_what_postgres_cannot_hold_has_a_reason() -> None:
    assert problem_of("日本語 👨‍👩‍👧\n") is None
    assert problem_of("ab\0") == "Character 2 is NUL (\\u0000), which Postgres cannot store. Remove it."
    assert problem_of("\udc00") == "Character 0 is half of a surrogate pair (\\udc00), which is not text. Replace it."


@given(st.text(alphabet=st.characters(codec=None)))
def test_a_text_without_a_problem_is_text_and_what_is_storable_has_none(text: str) -> None:
    if problem_of(text) is None:
        assert text.encode().decode() == text == storable(text)
    assert problem_of(storable(text)) is None


def test_a_hash_is_of_the_utf8() -> None:
    assert content_hash("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert content_hash("\ud800") != content_hash("\udc00") != content_hash("?")
