"""Keys of the library that the console made."""

import pytest
from sakuin.errors import Unavailable
from sakuin.platform.keys import LibraryKeys, hash_of_key, matching_hash
from sakuin.platform.secrets import KeyRing
from sakuin.platform.supabase.client import connected
from sakuin_local.supabase.database import Database


class Secret:
    """A secret without keys."""

    def now(self) -> None:
        return None

    newer = now


def headers(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def test_a_key_opens_from_its_making_until_a_minute_after_its_removal(empty_database: Database) -> None:
    time = [0.0]
    made = LibraryKeys(connected(empty_database.rest_url, empty_database.service_key))
    worker = LibraryKeys(made.client, lambda: time[0])
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
    time, away = [0.0], connected("http://127.0.0.1:9", "key")
    worker = LibraryKeys(away, lambda: time[0])
    assert worker.hashes(newer=False) == ()
    with pytest.raises(Unavailable):
        worker.hashes(newer=True)
    worker.client = connected(empty_database.rest_url, empty_database.service_key)
    key = LibraryKeys(worker.client).create("first")
    assert worker.hashes(newer=True) == (hash_of_key(key),)
    worker.client, time[0] = away, 61.0
    assert worker.hashes(newer=False) == (hash_of_key(key),)
