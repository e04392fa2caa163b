"""What every `Bucket` promises."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import boto3
import pytest
from moto import mock_aws
from sakuin.errors import NotFound, Unavailable, UnreadablePage
from sakuin.platform.s3 import S3Bucket

from tests.doubles.bucket import MemoryBucket

KEY = "junior/二次方程式 の+解き方%20_教材.html"
HTML = "text/html; charset=utf-8"
# S3 lists a thousand at a time. Here it lists fewer: to write a thousand takes five seconds.
AT_A_TIME = 12


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """S3 on moto."""
    with mock_aws():
        client = boto3.client("s3")
        for listing in ("ListObjectsV2", "ListObjectVersions"):
            client.meta.events.register(f"provide-client-params.s3.{listing}", _listed_in_pages)
        yield client


@pytest.fixture(params=["memory", "s3"])
def bucket(request: pytest.FixtureRequest, client: Any) -> S3Bucket:
    """An empty bucket with versions."""
    if request.param == "memory":
        return MemoryBucket()
    name = f"materials-{uuid4()}"
    client.create_bucket(Bucket=name)
    client.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    return S3Bucket(client, name)


def _listed_in_pages(params: dict[str, object], **_event: object) -> None:
    params["MaxKeys"] = AT_A_TIME


def test_a_written_object_is_read_as_it_was_also_an_empty_one(bucket: S3Bucket) -> None:
    for body in (b"\x00\xff<p>", b""):
        version = bucket.write(KEY, body, content_type=HTML)
        stored = bucket.read(KEY, max_bytes=10)
        assert (stored.body, stored.version_id, bucket.current_version(KEY)) == (body, version, version)


def test_every_version_stays_readable_under_its_id(bucket: S3Bucket) -> None:
    first = bucket.write(KEY, b"one", content_type=HTML)
    second = bucket.write(KEY, b"two", content_type=HTML)
    assert first != second
    assert bucket.read(KEY, version_id=first, max_bytes=10).body == b"one"
    assert bucket.read(KEY, max_bytes=10).body == b"two"


def test_what_is_not_there_is_not_found_and_may_be_removed(bucket: S3Bucket) -> None:
    for _ in range(2):
        assert bucket.current_version(KEY) is None
        with pytest.raises(NotFound):
            bucket.read(KEY, max_bytes=10)
        bucket.remove(KEY)
    bucket.write(KEY, b"one", content_type=HTML)
    with pytest.raises(NotFound):
        bucket.read(KEY, version_id="11111111-1111-1111-1111-111111111111", max_bytes=10)


def test_a_delete_marker_is_nothing_and_the_versions_below_it_stay(bucket: S3Bucket) -> None:
    version = bucket.write(KEY, b"one", content_type=HTML)
    marker = bucket.remove(KEY)
    assert marker not in ("", version)
    assert bucket.current_version(KEY) is None
    assert bucket.keys("") == []
    assert bucket.read(KEY, version_id=version, max_bytes=10).body == b"one"
    for wanted in (None, marker):
        with pytest.raises(NotFound):
            bucket.read(KEY, version_id=wanted, max_bytes=10)


@pytest.mark.parametrize("size", [11, 5000])
def test_an_object_that_is_too_large_is_unreadable_and_says_so(bucket: S3Bucket, size: int) -> None:
    bucket.write(KEY, b"x" * size, content_type=HTML)
    with pytest.raises(
        UnreadablePage,
        match=rf"^The file has {size:,} bytes; the limit is 10 \(page_bytes for a page, table_bytes for a Table\)\.",
    ):
        bucket.read(KEY, max_bytes=10)
    assert len(bucket.read(KEY, max_bytes=size).body) == size


def test_keys_come_in_order_below_a_prefix_however_many(bucket: S3Bucket) -> None:
    names = [f"senior/{number:04}.html" for number in range(AT_A_TIME + 5)]
    for name in [*reversed(names), "junior/a.html"]:
        bucket.write(name, b"", content_type=HTML)
    assert bucket.keys("senior/") == names
    assert bucket.keys("junior/") == ["junior/a.html"]
    assert bucket.keys("nowhere/") == []


def test_a_bucket_without_versions_names_versions_by_their_content(client: Any) -> None:
    client.create_bucket(Bucket="plain")
    bucket = S3Bucket(client, "plain")
    bucket.write(KEY, b"one", content_type=HTML)
    first = bucket.current_version(KEY)
    bucket.write(KEY, b"two", content_type=HTML)
    assert first is not None
    assert bucket.current_version(KEY) not in (first, None)
    assert bucket.read(KEY, max_bytes=10).version_id is None
    assert bucket.read(KEY, version_id=bucket.current_version(KEY), max_bytes=10).body == b"two"
    with pytest.raises(Unavailable):
        bucket.read(KEY, version_id=first, max_bytes=10)


def test_a_bucket_that_refuses_is_unavailable_not_empty(client: Any) -> None:
    with pytest.raises((Unavailable, NotFound)) as failure:
        S3Bucket(client, "another-account-s").keys("")
    assert failure.type is Unavailable


def test_what_keys_hold_now_comes_in_the_order_of_their_bytes_removed_ones_among_them(bucket: S3Bucket) -> None:
    for key in ("b.html", "b-1.html", "あ.html", "B/x.html", "gone.html", "b.html"):
        bucket.write(key, b"x", content_type=HTML)
    bucket.remove("gone.html")
    page = bucket.current_objects("")
    assert [one.key for one in page.items if one.version_id] == ["B/x.html", "b-1.html", "b.html", "あ.html"]
    assert {one.key for one in page.items if one.version_id is None} == {"gone.html"}
    assert [one.key for one in page.items] == sorted((one.key for one in page.items), key=str.encode)
    assert page.upto is None
    assert {one.version_id for one in page.items if one.key == "b.html"} == {bucket.current_version("b.html")}
    assert all(one.modified.tzinfo for one in page.items)


def test_what_keys_hold_comes_in_pages_below_a_prefix(bucket: S3Bucket) -> None:
    for number in range(AT_A_TIME):
        for _ in range(3):
            bucket.write(f"site/{number:04}.html", b"", content_type=HTML)
    bucket.write("other.html", b"", content_type=HTML)
    first = bucket.current_objects("site/", limit=8)
    rest = bucket.current_objects("site/", after=first.upto, limit=8)
    assert (first.upto, rest.upto) == ("site/0007.html", None)
    keys = [one.key for page in (first, rest) for one in page.items]
    assert keys == [f"site/{number:04}.html" for number in range(AT_A_TIME)]
    assert bucket.current_objects("nowhere/").items == []
