"""S3 keys that no file system would give: each is one material, or none."""

from urllib.parse import unquote, urljoin, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sakuin.knowledge.learns.authored import learns_keys
from sakuin.knowledge.names import chunk_id, chunk_of_link, link, material_of_key

from tests.builders import a_page
from tests.hostile.pages import INPUTS
from tests.worlds import Worlds

SITE = "https://school.example/assets"
KEYS = [*INPUTS["keys"], "x" * 1019 + ".html"]


@pytest.mark.parametrize("key", KEYS, ids=ascii)
def test_a_link_to_any_key_stays_on_the_site_and_leads_to_that_key(key: str) -> None:
    material = material_of_key(key)
    assert material is not None
    address = link(material, "rule-a", SITE)
    arrived = urlsplit(urljoin("https://school.example/", address))
    assert (arrived.scheme, arrived.netloc, unquote(arrived.fragment)) == ("https", "school.example", "rule-a")
    assert not any(sign.isspace() or sign in '<>"\\' for sign in address)


def test_a_page_under_any_key_is_found_under_its_own_name_and_no_other(a_world: Worlds) -> None:
    world = a_world()
    for number, key in enumerate(KEYS):
        world.put(key, a_page({"rule-a": f"題{number}"}))
    materials = [material_of_key(key) or "" for key in KEYS]
    found = world.read.chunks([chunk_id(material, "rule-a") for material in materials])
    assert [(chunk.material, chunk.title) for chunk in found if chunk] == [
        (material, f"題{number}") for number, material in enumerate(materials)
    ]


@pytest.mark.parametrize("key", INPUTS["no_keys"])
def test_a_key_without_a_name_or_suffix_is_no_page(key: str) -> None:
    assert material_of_key(key) is None


@pytest.mark.parametrize("escape", ["../", "a/../", "materials/../", *"\u202a\u202e\u2066\u2069"], ids=ascii)
def test_a_key_that_reads_as_another_one_is_refused(a_world: Worlds, escape: str) -> None:
    key = f"materials/{escape}secret.html"
    assert material_of_key(key, prefix="materials/") is None
    assert chunk_of_link(f"/{escape}secret.html#rule-a") is None
    world = a_world()
    refused = world.upload_result(key, world.put(key, a_page({"rule-a": "題"})))
    assert (refused.outcome, "`..`" in str(refused.reason)) == ("failed", True)
    assert world.materials() == []


@pytest.mark.parametrize("folder", ["./", "/", "materials/.../"])
def test_other_dots_and_slashes_in_a_key_are_letters_of_a_name(folder: str) -> None:
    assert material_of_key(f"materials/{folder}secret.html", prefix="materials/") == f"{folder}secret"
    assert material_of_key(f"{folder}other/x.html", prefix="materials/other/") is None


@given(st.text(alphabet="a/.%か\u3099", max_size=1000), st.text(alphabet="a/.", max_size=40))
def test_a_learns_file_is_never_looked_for_above_the_prefix(key: str, prefix: str) -> None:
    depth = len([part for part in prefix.split("/") if part])
    for found in learns_keys(key, prefix):
        assert key.startswith(found.removesuffix("learns.yml"))
        assert found.count("/") >= min(depth, key.count("/"))
