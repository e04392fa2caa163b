"""A page, a text or a log line of any shape costs what its size costs."""

import pytest
from sakuin.knowledge.learns.writer import complete_learns
from sakuin.knowledge.reading.page_reader import read_page
from sakuin.platform.redaction import redacted
from sakuin.tables.chunking import chunks

from tests.hostile.growth import grows_with_its_input, peak_bytes
from tests.hostile.pages import GROWING, INPUTS, page


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


@pytest.mark.parametrize("piece", INPUTS["texts"].values(), ids=INPUTS["texts"])
def test_a_text_is_cut_in_the_time_that_its_length_takes(piece: str) -> None:
    assert grows_with_its_input(chunks, lambda times: (piece * times)[:times], size=20_000)


# Beginnings of everything that looks like a secret, again and again, without the end that would make it one.
@pytest.mark.parametrize("shape", INPUTS["secrets"])
@pytest.mark.parametrize("before", ["", "://", "eyJaaaaa.eyJaaaaa"])
def test_looking_for_secrets_costs_what_the_text_s_size_costs(shape: str, before: str) -> None:
    assert grows_with_its_input(redacted, lambda times: before + shape * times, size=2000)
