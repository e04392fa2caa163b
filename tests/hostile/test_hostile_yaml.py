"""`learns.yml` and `synonyms.yml` from an author who means harm, or from a tool that is broken."""

from collections.abc import Callable
from typing import Any

import pytest
from sakuin.errors import Invalid
from sakuin.knowledge.learns.authored import parse_learns, parse_synonyms

from tests.hostile.growth import grows_with_its_input

READERS: tuple[Callable[[bytes], Any], ...] = (parse_learns, parse_synonyms)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    "bomb",
    [
        *(b"a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]", b"x: &x {}\nm: {<<: *x}", b"[" * 100_000, b"- " * 50_000),
        *(b"{a: " * 20_000, b"\xff\xfe", "a: b".encode("utf-16"), b"a: \x01", b"a: {}\n---\nb: {}", b"*", b"&", b"'"),
        *(b"%YAML 9.9\n---\na: b", lambda: b"x" * 5_000_000, b'"\\ud800"'),
    ],
)
def test_a_bomb_is_refused_in_a_sentence(read: Callable[[bytes], Any], bomb: bytes | Callable[[], bytes]) -> None:
    with pytest.raises(Invalid, match=r"(?:learns|synonyms)\.yml") as refusal:
        read(bomb() if callable(bomb) else bomb)
    assert len(str(refusal.value)) < 400


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.system [id]", "!!python/name:os.system x", "!!binary eA=="])
def test_a_tag_makes_nothing_but_a_problem(tag: str) -> None:
    read = parse_learns(f"m: {{rule-a: [{tag}]}}".encode())
    assert (read.lists, len(read.problems)) == ({"m": {}}, 1)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        *(
            (f"m: {{rule-a: [前, {item}, 後]}}", why)
            for item, why in (
                ('"\\0 a"', "U+0000"),
                ("x" * 501, "more than 500 characters"),
                *((".nan", "is not text"), ("2026-01-01", "is not text")),
            )
        ),
        *(
            (f"? {key}\n: {{rule-a: [x]}}\n? m\n: {{rule-a: [前, 後]}}", "1 to 1,024 characters")
            for key in ('"\\0"', '""', '" "', "[a, b]", f'"{"x" * 1025}"')
        ),
    ],
)
def test_an_item_or_key_that_is_no_good_is_left_out_and_its_neighbours_stay(text: str, why: str) -> None:
    read = parse_learns(text.encode())
    assert read.lists == {"m": {"rule-a": ("前", "後")}}
    assert why in read.problems[0]


def test_a_phrase_with_nul_is_left_out_and_its_neighbours_stay() -> None:
    read = parse_synonyms('- [甲乙, 丙丁, "戊\\0己"]'.encode())
    assert (read.groups, len(read.problems)) == ((("甲乙", "丙丁"),), 1)


def test_a_list_of_thousands_of_items_is_cut_and_thousands_of_problems_are_counted() -> None:
    read = parse_learns(b"m: {rule-a: [" + b"x," * 10_000 + b"x]}")
    assert len(read.lists["m"]["rule-a"]) == 50
    read = parse_learns("\n".join(f"m{number}: x" for number in range(5000)).encode())
    assert (len(read.problems), read.problems[-1]) == (101, "and 4,900 more")


@pytest.mark.parametrize("piece", ["\u0323\u0301", "(a)", "a ", "\\n", "😀"])
def test_a_long_item_costs_what_its_length_costs(piece: str) -> None:
    assert grows_with_its_input(
        parse_learns, lambda times: f'm: {{rule-a: ["a{piece * times}"]}}'.encode(), size=20_000
    )
