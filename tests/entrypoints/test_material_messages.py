"""What may stand in the material queue, and what it means."""

import json
from typing import Any

import pytest
from sakuin.domain.material_version import Source, padded
from sakuin.entrypoints.material_messages import changes
from sakuin.errors import Invalid
from sakuin.services.follow_bucket import AskedAgain, LookedAt, Removed, Written

from tests.entrypoints.events import event

BUCKET = "sakuin-materials-123456789012-ap-northeast-1"
KEY = "junior/二次方程式の解き方_教材.html"


def body(name: str) -> str:
    return str(event(name)["Records"][0]["body"])


def notification(event_name: str = "ObjectCreated:Put", **stored: Any) -> str:
    stored = {"key": "a.html", "sequencer": "0A", "versionId": "v1"} | stored
    record = {"eventName": event_name, "s3": {"bucket": {"name": "b"}, "object": stored}}
    return json.dumps({"Records": [record]})


def test_an_uploaded_page_with_a_japanese_key() -> None:
    version = "096fKKXTRTtl3on89fVO.nfljtsv6qko"
    source = Source(BUCKET, KEY, version, "0055AED6DCD90281E5".ljust(64, "0"))
    assert changes(body("index_material.put")) == [Written(source)]


def test_a_delete_marker() -> None:
    (change,) = changes(body("index_material.delete"))
    assert isinstance(change, Removed)
    assert (change.marker, change.source.key) == (True, KEY)


def test_s3_s_test_event_is_no_change() -> None:
    assert changes(body("index_material.test_event")) == []


def test_a_material_that_is_asked_for_again() -> None:
    asked = AskedAgain("junior/二次方程式の解き方_教材", "the style guide changed", 1)
    assert changes(body("index_material.reapply")) == [asked]


def test_a_key_that_is_to_be_looked_at_is_not_decoded() -> None:
    assert changes('{"look": {"key": "a+b%20.html", "reason": "reconcile"}}') == [LookedAt("a+b%20.html", "reconcile")]


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
    (change,) = changes(notification(key=sent))
    assert isinstance(change, Written)
    assert change.source.key == key


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
    (change,) = changes(notification(event_name, versionId=version))
    assert change == Removed(Source("b", "a.html", version, padded("0A")), marker)


@pytest.mark.parametrize("event_name", ["ObjectCreated:Copy", "s3:ObjectCreated:CompleteMultipartUpload"])
def test_every_way_of_creating_an_object_counts(event_name: str) -> None:
    assert isinstance(changes(notification(event_name))[0], Written)


def test_members_that_aws_adds_later_are_not_looked_at() -> None:
    sent = json.loads(notification(size=1, eTag="e", somethingNew={"a": 1}))
    sent["Records"][0]["glacierEventData"] = {}
    assert len(changes(json.dumps(sent))) == 1


@pytest.mark.parametrize(
    "sent",
    [
        "",
        "not JSON",
        "[]",
        "null",
        "5",
        '"text"',
        "{}",
        '{"Records": [{}]}',
        '{"Records": {}}',
        '{"Event": "s3:OtherEvent"}',
        '{"reapply": {}}',
        '{"reapply": {"material": ""}}',
        '{"reapply": {"material": 5}}',
        '{"reapply": {"material": "a", "attempt": 0}}',
        '{"look": {}}',
        '{"look": {"key": ""}}',
        "[" * 100_000,
        notification("ObjectRestore:Completed"),
        notification(sequencer="xyz"),
        notification(sequencer=""),
        notification(key=None),
    ],
)
def test_anything_else_is_refused_in_a_sentence(sent: str) -> None:
    with pytest.raises(Invalid, match="The message is not"):
        changes(sent)


def test_the_refusal_names_the_field() -> None:
    with pytest.raises(Invalid, match=r"Records\.0\.s3\.object\.sequencer"):
        changes(notification(sequencer="xyz"))
