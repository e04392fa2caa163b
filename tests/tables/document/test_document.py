"""Documents of Tables as JSON text."""

import sys
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sakuin.errors import Invalid, NotFound
from sakuin.tables.document import MAX_DEPTH, parsed_table, patched, written_body, written_table
from sakuin.tables.json_pointer import resolve

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


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "{", "[1,]", '{"a":1,}', "{a:1}", "[1 2]", '{"a" 1}', "1 2", "'a'", "01", "+1", ".5", "nul", "]"),
        *("NaN", "[Infinity]", "-Infinity", '"a\nb"', '"\\x"', '"\\u12"', "1e999", "[-1e999]", "9" * 10_000, "\u3000"),
    ],
)
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


@pytest.mark.parametrize(
    ("operation", "after"),
    [
        ({"op": "set", "path": "/a", "value": 9}, {"a": 9, "l": [1, 2, {"x/~": "y"}]}),
        ({"op": "set", "path": "/new", "value": 9}, {"a": 0, "l": [1, 2, {"x/~": "y"}], "new": 9}),
        ({"op": "set", "path": "/l/0", "value": 9}, {"a": 0, "l": [9, 2, {"x/~": "y"}]}),
        ({"op": "set", "path": "/l/3", "value": 9}, {"a": 0, "l": [1, 2, {"x/~": "y"}, 9]}),
        ({"op": "add", "path": "/l/0", "value": 9}, {"a": 0, "l": [9, 1, 2, {"x/~": "y"}]}),
        ({"op": "add", "path": "/l/-", "value": 9}, {"a": 0, "l": [1, 2, {"x/~": "y"}, 9]}),
        ({"op": "replace", "path": "/l/2/x~1~0", "value": None}, {"a": 0, "l": [1, 2, {"x/~": None}]}),
        ({"op": "remove", "path": "/l/1"}, {"a": 0, "l": [1, {"x/~": "y"}]}),
        ({"op": "remove", "path": "/a"}, {"l": [1, 2, {"x/~": "y"}]}),
        ({"op": "replace", "path": "", "value": [1]}, [1]),
    ],
)
def test_a_change_makes_a_new_document_and_leaves_the_old_one(operation: dict[str, Any], after: object) -> None:
    before = {"a": 0, "l": [1, 2, {"x/~": "y"}]}
    assert patched(before, [operation]) == after
    assert before == {"a": 0, "l": [1, 2, {"x/~": "y"}]}


@pytest.mark.parametrize(
    "operation",
    [
        *({"op": op, "path": path, "value": 1} for op in ("replace", "remove") for path in ("/b", "/l/2", "/l/-")),
        *({"op": op, "path": path, "value": 1} for op in ("add", "set") for path in ("/b/c", "/l/3", "/l/01", "/a/x")),
    ],
)
def test_a_change_of_what_is_not_there_is_not_found_and_named(operation: dict[str, Any]) -> None:
    with pytest.raises(NotFound, match=operation["path"]):
        patched({"a": 0, "l": [1, 2]}, [operation])


@pytest.mark.parametrize(
    "operation",
    [
        *({}, {"op": "move", "path": "/a", "from": "/b"}, {"op": "set", "path": "/a"}, {"op": "set", "value": 1}),
        *({"op": "remove", "path": ""}, {"op": "set", "path": "a", "value": 1}, {"op": ["set"], "path": "/a"}),
    ],
)
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
