"""Valid and invalid messages of the material queue."""

import json

import pytest
from sakuin.errors import Invalid
from sakuin.knowledge.messages import BucketEvent, ObjectRemoved, ObjectWritten, RecheckKey, ReindexMaterial, read_event
from sakuin.knowledge.model import Source, padded

from tests.events import event, s3_message

BUCKET = "sakuin-materials-123456789012-ap-northeast-1"
KEY = "junior/二次方程式の解き方_教材.html"


def sample(name: str) -> BucketEvent | None:
    """Reads the message of a sample event."""
    return read_event(json.loads(event(name)["Records"][0]["body"]))


def test_each_sample_is_read() -> None:
    version = "096fKKXTRTtl3on89fVO.nfljtsv6qko"
    source = Source(BUCKET, KEY, version, "0055AED6DCD90281E5".ljust(64, "0"), "2026-11-21T00:00:00+00:00")
    assert sample("index_material.put") == ObjectWritten(source)
    removed = sample("index_material.delete")
    assert isinstance(removed, ObjectRemoved)
    assert (removed.marker, removed.source.key) == (True, KEY)
    asked = ReindexMaterial(material="junior/二次方程式の解き方_教材", reason="the style guide changed", attempt=1)
    assert sample("index_material.reindex") == asked
    # S3's test event asks for nothing.
    assert sample("index_material.test_event") is None


def test_a_key_that_is_to_be_checked_again_is_not_decoded() -> None:
    asked = {"recheck": {"key": "a+b%20.html", "reason": "reconcile"}}
    assert read_event(asked) == RecheckKey(key="a+b%20.html", reason="reconcile")


@pytest.mark.parametrize(
    ("sent", "key"),
    [
        ("a+b%2Bc.html", "a b+c.html"),
        ("100%25.html", "100%.html"),
        ("%2520.html", "%20.html"),
        ("%E3%81%8B%E3%82%99.html", "か\u3099.html"),
        ("a%3Fb%23c%26d.html", "a?b#c&d.html"),
    ],
)
def test_a_key_is_decoded_exactly_once_and_kept_as_it_is(sent: str, key: str) -> None:
    written = read_event(s3_message(sent))
    assert isinstance(written, ObjectWritten)
    assert written.source.key == key


@pytest.mark.parametrize(
    ("event_name", "version", "marker"),
    [
        ("ObjectRemoved:DeleteMarkerCreated", "v1", True),
        ("ObjectRemoved:Delete", "v1", False),
        ("s3:ObjectRemoved:Delete", "v1", False),
        # A bucket without versions.
        ("ObjectRemoved:Delete", None, True),
    ],
)
def test_a_removal_is_of_the_object_or_of_one_version(event_name: str, version: str | None, marker: bool) -> None:
    removed = read_event(s3_message("a.html", version=version, event_name=event_name))
    assert removed == ObjectRemoved(Source("materials", "a.html", version, padded("0A")), marker)


@pytest.mark.parametrize("event_name", ["ObjectCreated:Copy", "s3:ObjectCreated:CompleteMultipartUpload"])
def test_every_way_of_creating_an_object_counts_also_with_members_that_aws_adds_later(event_name: str) -> None:
    sent = s3_message("a.html", event_name=event_name)
    sent["Records"][0]["glacierEventData"] = {}
    sent["Records"][0]["s3"]["object"]["somethingNew"] = {"a": 1}
    assert isinstance(read_event(sent), ObjectWritten)


@pytest.mark.parametrize("count", [0, 2, 10])
def test_a_message_of_any_other_number_of_records_than_one_is_refused_whole(count: int) -> None:
    sent = {"Records": s3_message("a.html")["Records"] * count}
    with pytest.raises(Invalid, match=f"has {count} records of S3 instead of one"):
        read_event(sent)
