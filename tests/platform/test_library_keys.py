"""Keys that the console and the command made."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from sakuin.errors import Invalid, NotFound, Unavailable
from sakuin.platform.keys import LibraryKeys, StoredKeys, hash_of_key, is_key, matching_hash, new_key
from sakuin.platform.secrets import KeyRing
from sakuin.platform.supabase.client import answer, connected
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.model import User
from sakuin_local.supabase.database import Database


class Secret:
    """A secret without keys."""

    def now(self) -> None:
        return None

    newer = now


def headers(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def of(database: Database) -> LibraryKeys:
    return LibraryKeys(connected(database.rest_url, database.service_key))


def test_a_key_opens_from_its_making_until_a_minute_after_its_removal(empty_database: Database) -> None:
    time = [0.0]
    made = of(empty_database)
    worker = StoredKeys(made.for_searches, lambda: time[0])
    ring = KeyRing(Secret(), lambda _now: (), worker.hashes)
    first = made.create("first")
    assert matching_hash(headers(first), ring) == hash_of_key(first)
    second = made.create("second")
    assert matching_hash(headers(second), ring) is None  # it was looked for less than five seconds ago
    time[0] = 5
    assert matching_hash(headers(second), ring) == hash_of_key(second)
    assert [each.name for each in made.all()] == ["first", "second"]
    made.remove(hash_of_key(first))
    made.remove("what is not there")
    time[0] = 64
    assert matching_hash(headers(first), ring) == hash_of_key(first)
    time[0] = 65
    assert matching_hash(headers(first), ring) is None
    assert matching_hash(headers(second), ring) == hash_of_key(second)


def test_keys_of_the_secret_ask_nobody_and_others_only_while_the_database_answers(empty_database: Database) -> None:
    time, away = [0.0], LibraryKeys(connected("http://127.0.0.1:9", "key"))
    worker = StoredKeys(away.for_searches, lambda: time[0])
    assert worker.hashes(newer=False) == ()
    with pytest.raises(Unavailable):
        worker.hashes(newer=True)
    made = of(empty_database)
    worker.read = made.for_searches
    key = made.create("first")
    assert worker.hashes(newer=True) == (hash_of_key(key),)
    worker.read, time[0] = away.for_searches, 61.0
    assert worker.hashes(newer=False) == (hash_of_key(key),)


def test_a_removed_key_that_was_accepted_a_moment_before_keeps_its_folder(empty_database: Database) -> None:
    time, made = [0.0], of(empty_database)
    worker = StoredKeys(made.for_searches, lambda: time[0])
    key_hash = hash_of_key(made.create("class", folder="math/7"))
    assert worker.hashes(newer=True) == (key_hash,)
    made.remove(key_hash)
    time[0] = 61
    assert worker.hashes(newer=False) == ()
    assert (worker.folder(key_hash), worker.folder("of the secret")) == ("math/7", "")


def test_a_key_expires_at_its_time_also_while_the_database_is_away(empty_database: Database) -> None:
    made, now = of(empty_database), [datetime.now(UTC)]
    worker = StoredKeys(made.for_searches, now=lambda: now[0])
    until = now[0] + timedelta(days=1)
    key_hash = hash_of_key(made.create("guest", expires_at=until))
    assert worker.hashes(newer=True) == (key_hash,)
    now[0] = until - timedelta(seconds=1)
    assert worker.hashes(newer=False) == (key_hash,)
    now[0] = until
    assert worker.hashes(newer=False) == ()
    (stored,) = made.all()
    assert datetime.fromisoformat(stored.expires_at or "") == until
    empty = connected(empty_database.rest_url, empty_database.service_key)
    answer(empty.table("library_key").update({"expires_at": "2026-01-01T00:00Z"}).eq("key_hash", key_hash))
    assert made.for_searches() == []


def test_keys_of_other_forms_are_not_looked_up() -> None:
    def fails() -> list[object]:
        raise AssertionError

    worker = StoredKeys(fails)  # type: ignore[arg-type]
    for key in (new_key(), new_key("read"), "sk_sakuin_push_guessed", "", "a.b.c"):
        assert worker.matching(headers(key), "push") is None
    assert worker.matching({}, "push") is None
    assert [is_key(new_key("push"), each) for each in ("search", "push", "read")] == [False, True, False]


def test_a_key_that_reads_a_project_ends_with_its_membership(empty_database: Database) -> None:
    made = of(empty_database)
    records, owner = ProjectRecords(made.client), User(str(uuid4()))
    project = records.create_project(owner, "p").id
    for removes_key in (True, False):
        key_hash = hash_of_key(made.create("reader", "read", project_id=project))
        (stored,) = made.all()
        member = next(each for each in records.members(owner, project) if each.user_id == stored.member_id)
        assert (member.role, stored.project_id) == ("viewer", project)
        if removes_key:
            made.remove(key_hash)
        else:
            records.remove_member(owner, project, member.user_id)
        assert made.all() == []
        assert [each.user_id for each in records.members(owner, project)] == [owner.id]


def test_what_no_key_can_be_is_refused(empty_database: Database) -> None:
    made = of(empty_database)
    with pytest.raises(Invalid, match="expire in the past"):
        made.create("late", expires_at=datetime(2026, 1, 1, tzinfo=UTC))
    with pytest.raises(Invalid, match="to read it"):
        made.create("reader", "read")
    with pytest.raises(Invalid, match="to read it"):
        made.create("pusher", "push", project_id=str(uuid4()))
    with pytest.raises(NotFound, match="There is no project"):
        made.create("reader", "read", project_id=str(uuid4()))
    with pytest.raises(Invalid):
        made.create(" " * 201)
    assert made.all() == []
