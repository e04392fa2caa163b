"""Keys: of whom the console and the command made them, the day of their last use, and vendors' replaced ones."""

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import uuid4

import boto3
import pytest
from aws_lambda_powertools.utilities import parameters
from moto import mock_aws
from sakuin.errors import Invalid, NotFound, Unavailable
from sakuin.platform.keys import (
    KeyUse,
    LibraryKeys,
    StoredKeys,
    hash_of_key,
    is_key,
    matching_hash,
    new_key,
    record_once_a_day,
)
from sakuin.platform.openai.client import connected as openai
from sakuin.platform.secrets import KeyRing, NamedSecret, renewed
from sakuin.platform.supabase.client import answer, call, connected
from sakuin.platform.turbopuffer.client import connected as store
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.model import User
from sakuin_local.supabase.database import Database

from tests.contracts.scripted_server import Said, ScriptedServer, scripted_server
from tests.wiring.test_settings import SECRET

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
    assert (worker.named(key_hash).folder, worker.named("of the secret")) == ("math/7", None)


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


Key = Callable[[], str]


EMBEDDING = {"object": "embedding", "index": 0, "embedding": [0.0]}
GOOD = Said(body=json.dumps({"object": "list", "data": [EMBEDDING], "model": "m", "status": "OK"}).encode())


@pytest.fixture
def vendor() -> Iterator[ScriptedServer]:
    with scripted_server(GOOD) as server:
        yield server


def shown(vendor: ScriptedServer) -> list[str]:
    """Returns the keys that a vendor was sent."""
    return [sent.get("authorization", sent.get("apikey", "")).removeprefix("Bearer ") for sent in vendor.headers]


def ask_openai(vendor: ScriptedServer, key: Key) -> Callable[[], object]:
    client = openai(vendor.url, key)
    return lambda: client.embeddings.create(model="m", input=["x"])


def ask_turbopuffer(vendor: ScriptedServer, key: Key) -> Callable[[], object]:
    client = store(vendor.url, "old", current=key).with_options(max_retries=0)
    return lambda: client.namespace("n").write(upsert_rows=[{"id": 1}])


def ask_supabase(vendor: ScriptedServer, key: Key) -> Callable[[], object]:
    client = connected(vendor.url, "old", current=key)
    return lambda: call(client, "f", {})


ASKS = [ask_openai, ask_turbopuffer, ask_supabase]


@pytest.mark.parametrize("ask", ASKS)
def test_a_client_sends_the_key_that_the_secret_has_now(vendor: ScriptedServer, ask: Any) -> None:
    present = ["old"]
    asked = ask(vendor, renewed("old", lambda: present[0]))
    asked()
    present[0] = "sb_secret_new"
    asked()
    assert shown(vendor) == ["old", "sb_secret_new"]


@pytest.mark.parametrize("ask", ASKS)
def test_a_key_that_is_refused_is_not_sent_twice(vendor: ScriptedServer, ask: Any) -> None:
    vendor.answers = [Said(401, b'{"message": "no"}')]
    with pytest.raises(Exception, match=r"401|no"):
        ask(vendor, renewed("old", lambda: "old"))()
    assert shown(vendor) == ["old"]


def away() -> str:
    raise Unavailable("The secret cannot be read")


@pytest.mark.parametrize("ask", ASKS)
def test_a_key_stays_while_the_secret_cannot_be_read(vendor: ScriptedServer, ask: Any) -> None:
    ask(vendor, renewed("old", away))()
    assert shown(vendor) == ["old"]


def test_an_unknown_key_makes_a_worker_read_the_secret_again_but_not_for_each_request() -> None:
    with mock_aws():
        parameters.clear_caches()
        client = boto3.client("secretsmanager")
        client.create_secret(Name="s", SecretString=json.dumps(SECRET))
        now = [1000.0]
        secret = NamedSecret("s", lambda: now[0])
        assert secret.now().openai_api_key == "openai-key"

        client.put_secret_value(SecretId="s", SecretString=json.dumps({**SECRET, "openai_api_key": "second"}))
        assert secret.now().openai_api_key == "openai-key"
        assert secret.newer().openai_api_key == "second"
        assert secret.now().openai_api_key == "second"

        client.put_secret_value(SecretId="s", SecretString=json.dumps({**SECRET, "openai_api_key": "third"}))
        assert secret.newer().openai_api_key == "second"
        now[0] += 31
        assert secret.newer().openai_api_key == "third"
        parameters.clear_caches()
