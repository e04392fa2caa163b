"""Documents that are JSON to the letter and nothing that people write."""

import pytest
from sakuin.errors import Invalid, NotFound
from sakuin.tables.document import MOST_OPERATIONS, parsed_table, patched, written_table
from sakuin.tables.json_pointer import resolve
from sakuin.tables.model import SkippedNode
from sakuin.tables.scan import LONGEST_POINTER, LargeString, large_strings

from tests.hostile.growth import grows_with_its_input, peak_bytes

LARGE = "x" * 1000


@pytest.mark.parametrize(
    ("number", "kept"), [("-0", "0"), ("-0.0", "-0.0"), ("1e-999", "0.0"), ("0." + "1" * 9000, "0.1")]
)
def test_a_number_that_a_double_rounds_is_rounded(number: str, kept: str) -> None:
    assert written_table(parsed_table(number)).startswith(kept)


def test_of_duplicate_keys_the_last_counts_at_every_depth() -> None:
    assert parsed_table('{"a": 1, "a": {"b": 1, "b": 2}}') == {"a": {"b": 2}}
    deep = '{"a": 1, "a":' * 1500 + "2" + "}" * 1500
    assert resolve(parsed_table(deep), "/a" * 1500) == 2


def test_strings_below_a_key_of_a_megabyte_are_reported_once_and_their_neighbours_are_found() -> None:
    document = {"k" * 1_000_000: [LARGE] * 1000, "good": LARGE}
    found = list(large_strings(document, "", threshold=200))
    assert [each.json_pointer for each in found if isinstance(each, LargeString)] == ["/good"]
    (reported,) = (each for each in found if isinstance(each, SkippedNode))
    assert f"1,000,001 characters, more than {LONGEST_POINTER:,}. Shorten the keys" in reported.reason
    assert len(reported.json_pointer) == 200


def test_pointers_take_no_more_memory_than_their_limit_allows() -> None:
    document = {"k" * 100_000: {str(number): number for number in range(20_000)}}
    assert peak_bytes(lambda: list(large_strings(document, "", threshold=200))) < 2_000_000


@pytest.mark.parametrize("piece", ["{}", "[]", '{"a":[]}'])
def test_a_document_of_nothing_but_containers_is_refused_before_it_fills_a_worker(piece: str) -> None:
    with pytest.raises(Invalid, match="too many objects, arrays and values"):
        parsed_table("[" + f"{piece}," * (40_000_000 // (len(piece) + 1)))


@pytest.mark.parametrize("place", ["/a/-", "/a/0", "/b"])
def test_changes_cost_what_their_number_costs(place: str) -> None:
    def changed(times: int) -> object:
        operations = [{"op": "set", "path": place, "value": number} for number in range(times)]
        return patched({"a": list(range(10_000)), "b": 0}, operations)

    assert grows_with_its_input(changed, int, size=MOST_OPERATIONS // 4)


def test_more_changes_than_may_come_together_are_refused_before_the_first() -> None:
    operations = [{"op": "set", "path": "/a", "value": 1}] * (MOST_OPERATIONS + 1)
    with pytest.raises(Invalid, match="5,001 operations; the limit is 5,000"):
        patched({}, operations)


def test_a_refusal_repeats_a_line_of_what_it_refuses_and_no_more() -> None:
    for operation in ({"op": "x" * 100_000}, {"op": "set", "path": "/" + "y" * 100_000 + "/z", "value": 1}):
        with pytest.raises((Invalid, NotFound)) as refusal:
            patched({}, [operation])
        assert len(str(refusal.value)) < 700
