"""Pages of any size are read, or refused with what to do about it."""

import pytest
from botocore.response import StreamingBody
from sakuin.errors import UnreadablePage
from sakuin.knowledge.reading.page_reader import MOST_CHARACTERS, read_page
from sakuin.platform.s3 import S3Bucket

from tests.effort import times
from tests.hostile.pages import ANCHOR, page, texts

MEGABYTE = 1_000_000
# More than the 10 MB that are allowed.
HUGE = min(50, times(12)) * MEGABYTE
MANY = min(100_000, times(10_000))


class OneLargeObject:
    """The part of S3's client that reading needs; it counts the bytes that were read."""

    def __init__(self, size: int) -> None:
        self.size, self.read_bytes, self.closed = size, 0, False

    def get_object(self, **_asked: str) -> dict[str, object]:
        return {"ContentLength": self.size, "Body": StreamingBody(self, self.size), "VersionId": "v1"}

    def read(self, amount: int | None = None) -> bytes:
        self.read_bytes += amount or self.size
        return b"x" * (amount or self.size)

    def close(self) -> None:
        self.closed = True


def test_a_50_mb_page_is_refused_before_its_body_travels() -> None:
    stored = OneLargeObject(50 * MEGABYTE)
    with pytest.raises(UnreadablePage, match="50,000,000 bytes; the limit is 10,000,000"):
        S3Bucket(stored, "materials").read("a.html", max_bytes=10 * MEGABYTE)
    assert (stored.read_bytes, stored.closed) == (0, True)


def test_a_page_over_the_limit_is_refused_by_what_it_holds_where_the_limit_is_raised() -> None:
    with pytest.raises(UnreadablePage, match=r"^It has more than 200,000 elements\. Split the page\.$"):
        # No tree is built of what a drawing contains, which would take longer than everything else here.
        read_page(page(f"{ANCHOR}<svg>{'<b>' * (HUGE // 3)}"))
    assert texts(page(f"<p id='rule-a' title='{'x' * HUGE}'>文")) == {"rule-a": "文"}


def test_a_page_of_more_words_than_a_worker_reads_in_time_is_refused() -> None:
    with pytest.raises(UnreadablePage, match=f"the limit is {MOST_CHARACTERS:,}"):
        read_page(page(ANCHOR + "two words " * (MEGABYTE // 2)))


def test_thousands_of_nested_tags_lose_nothing_inside_or_after_them() -> None:
    deep = page("<div>" * MANY + "<p id='rule-deep'>内</p>" + "</div>" * MANY + "<p id='rule-after'>後</p>")
    assert texts(deep) == {"rule-deep": "内", "rule-after": "後"}


def test_thousands_of_ids_are_all_known_and_those_that_explain_are_limited() -> None:
    many = page("".join(f'<p id="x{number}">' for number in range(MANY)) + "<p id='rule-a'>x")
    read = read_page(many)
    assert (len(read.ids), [explanation.anchor for explanation in read.explanations]) == (MANY + 1, ["rule-a"])
    with pytest.raises(UnreadablePage, match="2,001 semantic ids; the limit is 2,000"):
        read_page(page("".join(f'<p id="rule-{number}">x' for number in range(2001))))


def test_an_id_of_a_megabyte_is_no_anchor_and_costs_its_page_nothing() -> None:
    assert list(texts(page(f"<p id='rule-{'x' * MEGABYTE}'>長<p id='rule-b'>短"))) == [":~:page", "rule-b"]


@pytest.mark.parametrize("attribute", ["title", "class", "style", "data-title", "aria-label", "href", "alt"])
def test_an_attribute_of_a_megabyte_is_read_past(attribute: str) -> None:
    huge = page(f"<p id='rule-a'><a {attribute}='{'x ' * (MEGABYTE // 2)}'>文</a><p id='rule-b'>後")
    assert texts(huge) == {"rule-a": "文", "rule-b": "後"}
