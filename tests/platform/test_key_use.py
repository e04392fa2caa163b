"""The day of the last use of a key."""

import threading
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

import pytest
from sakuin.errors import Unavailable
from sakuin.platform.keys import KeyUse, hash_of_key, record_once_a_day
from sakuin.platform.supabase.client import answer, connected
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin_local.supabase.database import Database

MONDAY, TUESDAY = date(2026, 11, 23), date(2026, 11, 24)


def at_once(work: Callable[[], None]) -> None:
    work()


def test_a_request_does_not_wait_for_the_record() -> None:
    may_go, done = threading.Event(), threading.Event()

    def slow(_key_hash: str) -> None:
        may_go.wait(10)
        done.set()

    record_once_a_day(slow)("a")
    assert not done.is_set()
    may_go.set()
    assert done.wait(10)


def test_a_key_is_recorded_once_a_day() -> None:
    written: list[str] = []
    days = iter([MONDAY, MONDAY, MONDAY, TUESDAY])
    noted = record_once_a_day(written.append, lambda: next(days), start=at_once)
    for key in ("a", "a", "b", "a"):
        noted(key)
    assert written == ["a", "b", "a"]


def test_a_record_that_fails_is_logged_and_not_retried_that_day(caplog: pytest.LogCaptureFixture) -> None:
    tried: list[str] = []

    def down(key_hash: str) -> None:
        tried.append(key_hash)
        raise Unavailable("Supabase did not answer")

    noted = record_once_a_day(down, lambda: MONDAY, start=at_once)
    noted("a")
    noted("a")
    assert tried == ["a"]
    assert "is not recorded" in caplog.text


def day() -> str:
    return datetime.now(UTC).date().isoformat()


def test_used_keys_have_a_day(empty_database: Database) -> None:
    use, before = KeyUse(connected(empty_database.rest_url, empty_database.service_key)), day()
    use.record("a key of the deployment")
    use.record("a key of somebody else")
    days = use.days(["a key of the deployment", "a key that was never used"])
    assert days.keys() == {"a key of the deployment"}
    assert before <= days["a key of the deployment"] <= day()
    assert use.days([]) == {}


def test_a_day_is_forgotten_after_a_year(empty_database: Database) -> None:
    client = connected(empty_database.rest_url, empty_database.service_key)
    use, today = KeyUse(client), datetime.now(UTC).date()
    # A day less than a year: midnight may come in between.
    ages = {"used a year ago": 364, "used before that": 366}
    for key_hash, age in ages.items():
        row = {"key_hash": key_hash, "last_used_on": (today - timedelta(days=age)).isoformat()}
        answer(client.table("key_use").insert(row))
    use.record("used now")
    assert set(use.days([*ages, "used now"])) == {"used a year ago", "used now"}


def test_an_endpoint_shows_on_which_day_its_keys_were_used(empty_database: Database) -> None:
    client = connected(empty_database.rest_url, empty_database.service_key)
    records, use, before = ProjectRecords(client), KeyUse(client), day()
    project = records.create_project(None, "p")
    made, key = records.create_endpoint(None, project.id, name="e", tools=())
    assert made.key_last_used_on is None
    use.record(hash_of_key(key))
    use.record(hash_of_key(key))
    _, next_key = records.rotate(None, made.id, overlap_seconds=60)
    rotated = records.endpoint(None, made.id)
    assert rotated.key_last_used_on is None
    assert before <= (rotated.previous_key_last_used_on or "") <= day()
    use.record(hash_of_key(next_key))
    assert before <= (records.endpoint(None, made.id).key_last_used_on or "") <= day()
