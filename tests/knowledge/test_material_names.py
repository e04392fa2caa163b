"""Names of keys, materials, links and chunks."""

import unicodedata
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sakuin.errors import Invalid
from sakuin.knowledge.names import (
    chunk_id,
    chunk_of_link,
    link,
    material_of_key,
    page_link,
    reads_as_another,
    split_chunk_id,
)


def test_a_key_becomes_its_material() -> None:
    assert material_of_key("junior/解き方_教材.html") == "junior/解き方_教材"
    assert material_of_key("site/a.html", prefix="site/") == "a"
    assert material_of_key("other/a.html", prefix="site") is material_of_key("site.html", prefix="site") is None
    assert material_of_key(unicodedata.normalize("NFD", "ガ.html")) == "ガ"


def test_japanese_stays_and_reserved_characters_are_encoded() -> None:
    assert link("解き方_教材", "rule-a", "/school_asset/") == "/school_asset/解き方_教材.html#rule-a"
    assert link("a b#c?d%", "rule-x") == "/a%20b%23c%3Fd%25.html#rule-x"
    assert link("/evil.example/x", "rule-x") == "/%2Fevil.example/x.html#rule-x"
    assert page_link("解き方 1", "https://example.org/") == "https://example.org/解き方%201.html"


NAMES = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=20)


@given(NAMES, NAMES)
def test_a_link_decodes_to_the_material_and_the_anchor_and_holds_no_sign_of_markup(material: str, anchor: str) -> None:
    written = link(material, anchor)
    assert unquote(written) == f"/{unicodedata.normalize('NFC', material)}.html#{anchor}"
    assert (written.isprintable(), written.count("#"), set(written) & set(' <>"')) == (True, 1, set())


@given(st.text(min_size=1), st.text(min_size=1).filter(lambda text: "#" not in text))
def test_a_chunk_id_splits_into_what_it_was_made_of(material: str, anchor: str) -> None:
    assert "#".join(split_chunk_id(chunk_id(material, anchor))) == chunk_id(material, anchor)


@pytest.mark.parametrize("chunk", ["", "a", "#a", "a#"])
def test_half_a_chunk_id_is_invalid(chunk: str) -> None:
    with pytest.raises(Invalid):
        split_chunk_id(chunk)


MATERIALS = NAMES.filter(lambda name: not reads_as_another(name))


@given(MATERIALS, NAMES, st.sampled_from(["", "/school_asset", "https://example.org", "https://example.org/a/b/"]))
def test_a_link_leads_back_to_its_chunk(material: str, anchor: str, base_url: str) -> None:
    if material.endswith("/"):
        material += "a"
    assert chunk_of_link(link(material, anchor, base_url), base_url) == chunk_id(material, anchor)


@pytest.mark.parametrize("text", ["a#rule-a", "/a.html", "https://example.org/a.html", "//[x/a.html#b", "", "a.htm#b"])
def test_what_is_no_link_to_an_element_leads_to_none(text: str) -> None:
    assert chunk_of_link(text, "https://example.org") is None
