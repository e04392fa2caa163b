"""Documents of Tables as JSON text: their pointers (RFC 6901), their large strings, and names in the search engine."""

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sakuin.errors import Invalid, NotFound
from sakuin.tables.document import MAX_DEPTH, parsed_table, patched, written_body, written_table
from sakuin.tables.json_pointer import ancestors, is_within, pointer_hash, pointer_of, relative, resolve, tokens
from sakuin.tables.nodes import doc_id, namespace
from sakuin.tables.scan import LargeString, content_hash, large_strings, problem_of, storable

CASES: dict[str, Any] = json.loads(Path(__file__).with_name("cases.json").read_text("utf-8"))
TEXTS = st.text(alphabet=st.characters(codec=None), max_size=6)

DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def same(one: object, other: object) -> bool:
    """Compares as text: `==` takes 1 for 1.0 and true, and recurses."""
    return written_table(one) == written_table(other)


@given(DOCUMENTS)
@example({"\0": "\ud800", "": ["\udc00\U0001f600", -0.0, 1e300, 2**64]})
def test_a_document_comes_back_as_it_was_written(document: object) -> None:
    text = written_table(document)
    assert text.isascii()
    assert same(parsed_table(text), document)
    assert parsed_table(text.encode()) == document
    assert same(parsed_table(written_body(document)), document)


@pytest.mark.parametrize(
    "text",
    [
        '["' + "x" * 40_000 + '"]',
        '["' + "数" * 20_000 + '"]',
        '["' + "x" * 15_000 + "📐" + '"]',
        "[" + "{}," * 500 + "{}]",
        "[" + "0," * 2_500 + "0]",
    ],
    ids=["ASCII", "Japanese", "with a pictograph", "objects", "numbers"],
)
def test_a_document_that_takes_too_much_memory_is_refused_before_it_is_read(text: str) -> None:
    assert parsed_table(text.encode(), most_memory=200_000) == parsed_table(text)
    said = r"would take [\d,]+ bytes of memory; the limit is 100,000 \(table_memory_bytes\)\. Upload it as a whole"
    with pytest.raises(Invalid, match=said):
        parsed_table(text.encode(), most_memory=100_000)


def test_a_body_has_no_more_bytes_than_its_characters() -> None:
    assert written_body({"題": "数列😀", "a": "é"}) == '{"題":"数列😀","a":"é"}'.encode()
    assert written_body(["\ud800x", "\0"]) == rb'["\ud800x","\u0000"]'
    deep: object = "底"
    for _ in range(MAX_DEPTH):
        deep = [deep]
    assert same(parsed_table(written_body(deep)), deep)


def test_surrogates_of_one_character_become_it_and_a_byte_order_mark_nothing() -> None:
    assert parsed_table(r'"\ud83d\ude00"') == "😀"
    assert parsed_table(r'["\ud800", "\u0000"]') == ["\ud800", "\0"]
    assert parsed_table("\ufeff1") == parsed_table(b"\xef\xbb\xbf1") == 1


@pytest.mark.parametrize("text", [*CASES["no_json"], "9" * 10_000])
def test_what_is_no_json_is_invalid(text: str) -> None:
    with pytest.raises(Invalid, match=r"\.$"):
        parsed_table(text)


@pytest.mark.parametrize(
    ("text", "place"), [('{\n "a" 1}', "line 2, column 6"), (b'"\xed\xa0\x80"', "byte 1")], ids=["no JSON", "no UTF-8"]
)
def test_a_mistake_is_found_where_it_stands(text: str | bytes, place: str) -> None:
    with pytest.raises(Invalid, match=place):
        parsed_table(text)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"b":1,"a":', ',"c":2}]')])
@pytest.mark.parametrize("depth", [1000, MAX_DEPTH])
def test_deep_nesting_is_read_written_and_changed(opening: str, closing: str, depth: int) -> None:
    levels = depth // (2 if "[{" in opening else 1)
    text = opening * levels + "null" + closing * levels
    document = parsed_table(text)
    assert written_table(document) == text
    assert written_table(patched([document["a"]] if isinstance(document, dict) else document, [])).endswith("]")


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 10_000, 1_000_000])
def test_nesting_without_end_is_invalid(opening: str, levels: int) -> None:
    closing = "".join({"[": "]", "{": "}"}[letter] for letter in reversed(opening) if letter in "[{")
    for text in (opening * levels, opening * levels + "1" + closing * levels):
        with pytest.raises(Invalid, match=r"not JSON|more than 2,000 levels deep\. Flatten it"):
            parsed_table(text)


def test_a_number_of_ten_thousand_digits_takes_no_time() -> None:
    began = time.process_time()
    with pytest.raises(Invalid, match="4,300 digits"):
        parsed_table(f"[-{'9' * 10_000}]")
    with pytest.raises(Invalid, match="4,300 digits"):
        parsed_table("[" * 1500 + "9" * 10_000 + "]" * 1500)
    assert parsed_table("0." + "1" * 1_000_000) == pytest.approx(1 / 9)
    assert time.process_time() - began < 2


def test_nan_is_not_written() -> None:
    with pytest.raises(Invalid):
        written_table({"a": float("nan")})
    with pytest.raises(Invalid):
        written_table({"a": sys.float_info.max * 10})


@pytest.mark.parametrize("case", CASES["changes"])
def test_a_change_makes_a_new_document_and_leaves_the_old_one(case: dict[str, Any]) -> None:
    before = {"a": 0, "l": [1, 2, {"x/~": "y"}]}
    assert patched(before, [case["operation"]]) == case["after"]
    assert before == {"a": 0, "l": [1, 2, {"x/~": "y"}]}


@pytest.mark.parametrize("operation", CASES["not_found"])
def test_a_change_of_what_is_not_there_is_not_found_and_named(operation: dict[str, Any]) -> None:
    with pytest.raises(NotFound, match=operation["path"]):
        patched({"a": 0, "l": [1, 2]}, [operation])


@pytest.mark.parametrize("operation", CASES["senseless"])
def test_a_change_that_makes_no_sense_is_invalid(operation: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        patched({"a": 0}, [operation])


def test_a_change_may_not_nest_too_deep() -> None:
    deep = parsed_table("[" * 1500 + "]" * 1500)
    with pytest.raises(Invalid, match="levels deep"):
        patched(deep, [{"op": "add", "path": "/0" * 1499 + "/-", "value": deep}])


@given(st.lists(st.integers(), min_size=1, max_size=5), st.data())
def test_what_is_added_can_be_found_and_removed_again(items: list[int], data: st.DataObject) -> None:
    path = f"/a/{data.draw(st.integers(0, len(items)))}"
    added = patched({"a": items}, [{"op": "add", "path": path, "value": "new"}])
    assert resolve(added, path) == "new"
    assert patched(added, [{"op": "remove", "path": path}]) == {"a": items}


STEPS = st.lists(st.text(alphabet='a01/~*" あ\ud800\0-', max_size=4), max_size=5).map(tuple)

# RFC 6901, section 5.
EXAMPLE, NODES = CASES["rfc"]["document"], CASES["rfc"]["nodes"]


def test_the_examples_of_the_rfc_resolve() -> None:
    assert {pointer: resolve(EXAMPLE, pointer) for pointer in ("", *NODES)} == {"": EXAMPLE, **NODES}


@pytest.mark.parametrize("pointer", CASES["no_pointers"])
def test_what_is_no_pointer_is_invalid(pointer: str) -> None:
    with pytest.raises(Invalid, match="not a JSON Pointer"):
        tokens(pointer)


@pytest.mark.parametrize("step", [*CASES["no_indexes"], "9" * 5000])
def test_an_array_has_no_place_but_its_indexes(step: str) -> None:
    with pytest.raises(NotFound):
        resolve({"foo": ["bar", "baz"]}, f"/foo/{step}")


@pytest.mark.parametrize("pointer", ["/missing", "/foo/0/1", "/foo/bar", "/fo"])
def test_what_is_not_there_is_not_found_and_named(pointer: str) -> None:
    with pytest.raises(NotFound, match=pointer):
        resolve(EXAMPLE, pointer)


def test_what_is_not_below_a_scope_has_no_relative_pointer() -> None:
    for pointer, scope in (("/articles2", "/articles"), ("/articles", "/articles/0")):
        assert not is_within(pointer, scope)
        with pytest.raises(Invalid):
            relative(pointer, scope)


@given(STEPS)
@example(("~1", "/", "~"))
def test_a_pointer_splits_into_the_steps_it_was_made_of(steps: tuple[str, ...]) -> None:
    assert tokens(pointer_of(steps)) == steps
    assert len(ancestors(pointer_of(steps))) == len(steps) + 1


@given(STEPS, STEPS)
def test_a_scope_holds_exactly_the_nodes_it_is_an_ancestor_of(steps: tuple[str, ...], other: tuple[str, ...]) -> None:
    pointer, scope = pointer_of(steps), pointer_of(other)
    assert is_within(pointer, scope) == (scope in ancestors(pointer)) == (steps[: len(other)] == other)


@given(STEPS, STEPS)
def test_scope_and_relative_pointer_make_the_absolute_one(scope: tuple[str, ...], below: tuple[str, ...]) -> None:
    assert pointer_of(scope) + relative(pointer_of(scope + below), pointer_of(scope)) == pointer_of(scope + below)


def test_a_pointers_hash_is_short_and_stays() -> None:
    assert pointer_hash("") == "e3b0c44298fc1c14"
    assert len(pointer_hash("/\ud800" + "あ" * 300)) == 16


PROJECT, TABLE = "0b6f2f3e-7f0f-4d0e-9a54-0f6d5a1b2c3d", "7c9e6679-7425-40de-944b-e07fc1f90ae7"

HASHES = st.text(max_size=3).map(content_hash)

CHUNK_KEYS = st.tuples(st.text(alphabet=st.characters(codec=None), max_size=400), HASHES, st.integers(0, 10**9))


@pytest.mark.scenario("context-search/a-namespace-belongs-to-one-project-and-table")
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


@pytest.mark.scenario("context-search/a-doc-id-names-one-version-of-one-chunk")
def test_a_doc_id_tells_a_person_where_to_look() -> None:
    assert doc_id(TABLE, "/articles/0", content_hash("text"), 12) == "7c9e6679_507e916cc580f25d_982d9e3eb996f559_12"


@given(CHUNK_KEYS)
def test_a_doc_id_fits_whatever_the_pointer(key: tuple[str, str, int]) -> None:
    assert len(doc_id(TABLE, *key).encode()) <= 64


@pytest.mark.scenario("context-search/a-doc-id-names-one-version-of-one-chunk")
@given(CHUNK_KEYS, CHUNK_KEYS)
def test_a_doc_id_is_one_chunks(one: tuple[str, str, int], other: tuple[str, str, int]) -> None:
    assert (doc_id(TABLE, *one) == doc_id(TABLE, *other)) == (one == other)


@pytest.mark.parametrize(
    ("table", "digest", "index"),
    [("short", "0" * 64, 0), (TABLE, "XYZ", 0), (TABLE, "0" * 64, -1), (TABLE, "0" * 64, 10**21)],
)
def test_half_a_chunk_key_has_no_doc_id(table: str, digest: str, index: int) -> None:
    with pytest.raises(Invalid):
        doc_id(table, "/a", digest, index)


SCANNED_KEYS = st.text(alphabet='a0/~*" あ', max_size=3)

SCANNED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(SCANNED_KEYS, inner, max_size=4),
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


@given(SCANNED, st.integers(min_value=0, max_value=6))
def test_every_large_string_is_found_once_where_its_pointer_says(document: object, threshold: int) -> None:
    found = list(large_strings(document, "", threshold=threshold))
    assert all(resolve(document, node.json_pointer) == node.text for node in found)
    assert len({node.json_pointer for node in found}) == len(found) == longer_than(document, threshold)


@given(SCANNED, st.data())
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
