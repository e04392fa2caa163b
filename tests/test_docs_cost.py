"""docs/reference/cost.md is what benchmarks/cost.py reckons."""

import re
from pathlib import Path

import pytest

from benchmarks import cost

DOCUMENT = (Path(__file__).parents[1] / "docs" / "reference" / "cost.md").read_text()
BOOK = cost.book()


@pytest.mark.parametrize("name", sorted(cost.document(BOOK)))
def test_a_table_is_the_reckoned_one(name: str) -> None:
    written = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- /{name} -->", DOCUMENT, re.DOTALL)
    assert written, f"docs/reference/cost.md has no place for {name}"
    assert written[1] == cost.document(BOOK)[name], "run `python -m benchmarks.cost`, and put its table there"


def test_every_price_and_every_figure_is_used() -> None:
    source = Path(cost.__file__).read_text()
    named = [
        *BOOK.data["habits"],
        *(name for name, each in BOOK.data.items() if isinstance(each, dict) and "usd" in each),
    ]
    assert [name for name in named if f'"{name}"' not in source] == []


def test_every_price_says_where_and_when_it_was_read() -> None:
    prices = [each for each in BOOK.data.values() if isinstance(each, dict) and "usd" in each]
    assert all(each["source"] and re.fullmatch(r"20\d\d(-\d\d){0,2}", each["read"]) for each in prices)


def test_more_of_anything_never_costs_less() -> None:
    for kind in ("pages", "Tables"):
        by_chunks = [sum(cost.month(BOOK, kind, chunks, 1000).values()) for chunks in cost.SIZES]
        by_searches = [sum(cost.month(BOOK, kind, 1000, searches).values()) for searches in cost.SIZES]
        assert by_chunks == sorted(by_chunks)
        assert by_searches == sorted(by_searches)


def test_what_is_provisioned_is_what_the_text_says() -> None:
    assert f"costs {cost.provisioned(BOOK):.2f} dollars" in DOCUMENT


def test_the_day_of_a_slow_flood_is_what_the_text_says() -> None:
    assert f"Lambda would cost {cost.slow_flood(BOOK):.2f} dollars" in DOCUMENT
    assert cost.slow_flood(BOOK) > cost.flood(BOOK)["Lambda"]
