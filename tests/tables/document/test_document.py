"""Documents of Tables as JSON text."""

import sys
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sakuin.errors import Invalid
from sakuin.tables.document import MAX_DEPTH, parsed_table, written_body, written_table

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
    said = r"would take [\d,]+ bytes of memory; the limit is 100,000 \(table_memory_bytes\)\. Raise the limit"
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
def test_deep_nesting_is_read_and_written(opening: str, closing: str, depth: int) -> None:
    levels = depth // (2 if "[{" in opening else 1)
    text = opening * levels + "null" + closing * levels
    document = parsed_table(text)
    assert written_table(document) == text


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
