"""A page of any shape costs what its size costs."""

import pytest
from sakuin.knowledge.learns.writer import complete_learns
from sakuin.knowledge.reading.page_reader import read_page

from tests.hostile.growth import grows_with_its_input, peak_bytes
from tests.hostile.pages import GROWING, page


def read_with_its_learns(html: bytes) -> None:
    """Reads all of a page that needs no other system."""
    read = read_page(html)
    for explanation in read.explanations:
        complete_learns((), explanation, read)


@pytest.mark.parametrize("shape", GROWING)
def test_a_page_costs_in_time_what_its_size_costs(shape: str) -> None:
    assert grows_with_its_input(read_with_its_learns, GROWING[shape], size=1000)


@pytest.mark.parametrize("shape", ["nested tags", "ids", "attributes", "combining marks", "headings in headings"])
def test_a_page_costs_in_memory_what_its_size_costs(shape: str) -> None:
    once, four_times = (peak_bytes(lambda times=times: read_page(GROWING[shape](times))) for times in (250, 1000))
    assert four_times < 6 * once


def test_what_the_head_says_is_not_copied_into_every_chunk_without_a_bound() -> None:
    long = "あ" * 100_000
    read = read_page(page("<p id='rule-a'>x", head=f"<meta name='category' content='{long}'>"))
    assert len(read.category or "") == 500
    read = read_page(page("<p id='rule-a'>x", head=f"<meta name='prerequisites' content='{long}{'、あ' * 10_000}'>"))
    assert len("".join(read.prerequisites)) <= 501
    many = "、".join(map(str, range(10_000)))
    assert len(read_page(page("x", head=f"<meta name='prerequisites' content='{many}'>")).prerequisites) == 100
