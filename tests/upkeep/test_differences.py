"""Differences between two snapshots."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sakuin.knowledge.model import RecordedObject
from sakuin.knowledge.names import authored_file
from sakuin.knowledge.reconcile import bucket_differences
from sakuin.platform.s3 import BucketObject
from sakuin.tables.nodes import RecordedRows
from sakuin.tables.reconcile import missing_and_orphaned

NOW = datetime(2026, 11, 22, tzinfo=UTC)
EARLIER = NOW - timedelta(days=1)


def owner(version: str | None = "v1", *, gone: bool = False) -> RecordedObject:
    return RecordedObject("a.html", "owner", version, gone)


def waiting(version: str | None = "v1", *, gone: bool = False, free: bool = False) -> RecordedObject:
    return RecordedObject("a.html", "waiting", version, gone, free)


@pytest.mark.parametrize(
    ("held", "recorded", "rule"),
    [
        ("v1", owner(), None),
        ("v1", None, "missing"),
        ("v1", owner(gone=True), "missing"),
        ("v2", owner(), "stale"),
        ("v2", owner(None), None),
        (None, owner(), "gone"),
        (None, owner(gone=True), None),
        (None, None, None),
        ("v1", waiting(), None),
        ("v2", waiting(), "stale"),
        (None, waiting(), "gone"),
        ("v1", waiting(free=True), "orphaned"),
        ("v1", waiting(gone=True), "missing"),
        (None, waiting(gone=True, free=True), None),
    ],
)
def test_a_page_s_key_in_bucket_and_index(held: str | None, recorded: RecordedObject | None, rule: str | None) -> None:
    there = [BucketObject("a.html", held, EARLIER)]
    known = [recorded] if recorded else []
    assert [one.rule for one in bucket_differences(there, known, prefix="", until=NOW)] == ([rule] if rule else [])
    if held is None:
        assert [one.rule for one in bucket_differences([], known, prefix="", until=NOW)] == ([rule] if rule else [])


@pytest.mark.parametrize(
    ("held", "recorded", "differs"),
    [
        ("v1", ("v1", False), False),
        ("v2", ("v1", False), True),
        ("v1", None, True),
        (None, ("v1", False), True),
        (None, (None, True), False),
        ("v1", ("v1", True), True),
    ],
)
@pytest.mark.parametrize("key", ["site/learns.yml", "site/a/learns.yml", "site/synonyms.yml", "site/a/synonyms.yml"])
def test_a_file_beside_the_pages_is_read_as_it_is_now(
    key: str, held: str | None, recorded: tuple[str | None, bool] | None, differs: bool
) -> None:
    known = [RecordedObject(key, "file", recorded[0], recorded[0] is None, recorded[1])] if recorded else []
    if recorded == (None, True):
        known = [RecordedObject(key, "file", None, gone=True)]
    found = bucket_differences([BucketObject(key, held, EARLIER)], known, prefix="site/", until=NOW)
    assert [one.rule for one in found] == (["unread"] if differs else [])


def test_recent_changes_and_own_keys_are_not_compared() -> None:
    young, own, other = "young.html", "_sakuin/canary.html", "style.css"
    held = [BucketObject(own, "v", EARLIER), BucketObject(other, "v", EARLIER), BucketObject(young, "v", NOW)]
    assert bucket_differences(held, [], prefix="", until=EARLIER, own=("_sakuin/",)) == []
    recorded = [replace(owner(), young=True)]
    assert bucket_differences([], recorded, prefix="", until=EARLIER) == []
    removed = [BucketObject("a.html", None, NOW)]
    assert bucket_differences(removed, [owner()], prefix="", until=EARLIER) == []


def test_differences_are_sorted_by_key_and_have_a_repair() -> None:
    held = [BucketObject(key, "v", EARLIER) for key in ("あ.html", "b.html", "Z.html")]
    found = bucket_differences(held, [], prefix="", until=NOW)
    assert [one.where for one in found] == ["Z.html", "b.html", "あ.html"]
    assert {one.repair for one in found} == {"the key is checked again"}


def test_only_files_in_the_library_are_files_beside_its_pages() -> None:
    assert authored_file("site/x/learns.yml", prefix="site/") == ("learns.yml", "x/")
    assert authored_file("learns.yml", prefix="site/") is None
    assert authored_file("site/x/synonyms.yml", prefix="site/") == ("synonyms.yml", "x/")
    assert authored_file("x/synonyms.yml", prefix="site/") is None
    assert authored_file("site/xsynonyms.yml", prefix="site/") is None
    assert authored_file("xlearns.yml") is None


def test_lost_and_unwanted_rows_are_told_apart_and_a_table_under_scan_has_none_unwanted() -> None:
    table = RecordedRows(generation=5, planned=True, stored={"a": "1", "b": "2"}, coming={"c"})
    rows = {"b": 1, "c": 5, "old": 4, "now": 5, "newer": 6}
    assert missing_and_orphaned(table, rows) == (["a"], ["now", "old"])
    assert missing_and_orphaned(replace(table, planned=False), rows) == (["a"], [])
