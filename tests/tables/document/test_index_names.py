"""Names in the search engine."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sakuin.errors import Invalid
from sakuin.tables.nodes import doc_id, namespace
from sakuin.tables.scan import content_hash

PROJECT, TABLE = "0b6f2f3e-7f0f-4d0e-9a54-0f6d5a1b2c3d", "7c9e6679-7425-40de-944b-e07fc1f90ae7"
HASHES = st.text(max_size=3).map(content_hash)
KEYS = st.tuples(st.text(alphabet=st.characters(codec=None), max_size=400), HASHES, st.integers(0, 10**9))


def test_a_namespace_is_of_a_project_and_a_table() -> None:
    assert namespace(PROJECT, TABLE) == f"project_{PROJECT}_table_{TABLE}"
    assert namespace(PROJECT, TABLE, "1f00aa") == f"project_{PROJECT}_table_{TABLE}_1f00aa"


@given(st.uuids(), st.uuids(), st.from_regex(r"[0-9a-f]{0,16}", fullmatch=True))
def test_a_namespace_is_one_that_turbopuffer_takes(project: object, table: object, suffix: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9-_.]{1,128}", namespace(str(project), str(table), suffix))


@pytest.mark.parametrize(
    ("project", "table", "suffix"),
    [
        *((PROJECT, "", ""), ("", TABLE, ""), (PROJECT, "あ", ""), (PROJECT, TABLE, "a/b"), (PROJECT, TABLE, "x" * 42)),
        *((PROJECT, TABLE + "\n", ""), ("a_table_b", "c", "")),
    ],
)
def test_a_name_that_turbopuffer_refuses_or_another_pair_has_is_invalid(project: str, table: str, suffix: str) -> None:
    with pytest.raises(Invalid):
        namespace(project, table, suffix)


def test_a_doc_id_tells_a_person_where_to_look() -> None:
    assert doc_id(TABLE, "/articles/0", content_hash("text"), 12) == "7c9e6679_507e916cc580f25d_982d9e3eb996f559_12"


@given(KEYS)
def test_a_doc_id_fits_whatever_the_pointer(key: tuple[str, str, int]) -> None:
    assert len(doc_id(TABLE, *key).encode()) <= 64


@given(KEYS, KEYS)
def test_a_doc_id_is_one_chunks(one: tuple[str, str, int], other: tuple[str, str, int]) -> None:
    assert (doc_id(TABLE, *one) == doc_id(TABLE, *other)) == (one == other)


@pytest.mark.parametrize(
    ("table", "digest", "index"),
    [("short", "0" * 64, 0), (TABLE, "XYZ", 0), (TABLE, "0" * 64, -1), (TABLE, "0" * 64, 10**21)],
)
def test_half_a_chunk_key_has_no_doc_id(table: str, digest: str, index: int) -> None:
    with pytest.raises(Invalid):
        doc_id(table, "/a", digest, index)
