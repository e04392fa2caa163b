"""`sakuin keys`."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import boto3
import pytest
from sakuin.adapters.supabase_key_use import SupabaseKeyUse
from sakuin.bootstrap.keys import lasting_pepper
from sakuin.domain.keys import hash_of_key, known_hash
from sakuin.errors import Misconfigured
from sakuin.settings import Secrets

from tests.cli.conftest import Operator, Output
from tests.cli.deployment import ADMIN_KEY, API_KEY, PEPPER

VENDORS = {"supabase_service_key": "sb_secret_x", "openai_api_key": "sk-x", "turbopuffer_api_key": "tpuf_x"}


@dataclass
class Keys:
    """An operator with a secret of a new deployment."""

    operator: Operator
    secret: str

    def sakuin(self, *arguments: object, **settings: str) -> Output:
        return self.operator.sakuin("keys", *arguments, **{"SAKUIN_SECRET": self.secret, **settings})

    @property
    def members(self) -> dict[str, object]:
        """What the functions read."""
        client = boto3.client("secretsmanager")
        current = client.get_secret_value(SecretId=self.secret, VersionStage="AWSCURRENT")["SecretString"]
        members: dict[str, object] = json.loads(current)
        return members

    @members.setter
    def members(self, members: dict[str, object]) -> None:
        client = boto3.client("secretsmanager")
        before = client.get_secret_value(SecretId=self.secret, VersionStage="AWSCURRENT")["VersionId"]
        written = client.put_secret_value(
            SecretId=self.secret, SecretString=json.dumps(members), VersionStages=["AWSPENDING"]
        )["VersionId"]
        client.update_secret_version_stage(
            SecretId=self.secret, VersionStage="AWSCURRENT", MoveToVersionId=written, RemoveFromVersionId=before
        )


@pytest.fixture
def keys(operator: Operator) -> Keys:
    """The secret has what a person has put there by hand."""
    name = f"sakuin/{uuid4()}"
    boto3.client("secretsmanager").create_secret(Name=name, SecretString=json.dumps(VENDORS))
    return Keys(operator, name)


def new(keys: Keys, purpose: str) -> Any:
    made = keys.sakuin("new", "--for", purpose, "--json")
    assert made.code == 0, made
    return made.document


def opens(made: Any, hashes: Sequence[str], secrets: Secrets) -> bool:
    return known_hash(made["key"], hashes, secrets.key_peppers) is not None


def functions_read(keys: Keys) -> Secrets:
    return Secrets.read(keys.members, "sakuin/prod")


def test_the_first_key_completes_the_secret(keys: Keys) -> None:
    made = new(keys, "knowledge")
    now = functions_read(keys)
    assert opens(made, now.knowledge_key_hashes, now)
    assert not opens(made, now.admin_key_hashes, now)
    assert (now.supabase_service_key, now.openai_api_key) == ("sb_secret_x", "sk-x")
    assert made["key"] not in str(keys.members)


def test_a_key_is_replaced_with_an_overlap(keys: Keys) -> None:
    old, fresh = new(keys, "admin"), new(keys, "admin")
    now = functions_read(keys)
    assert all(opens(each, now.admin_key_hashes, now) for each in (old, fresh))
    listed = keys.sakuin("list", "--json").document
    assert listed == {"keys": [{"hash": each["hash"], "for": "admin", "last_used_on": None} for each in (old, fresh)]}
    removed = keys.sakuin("rm", old["hash"], "--json").document
    assert removed == {"hash": old["hash"], "for": "admin", "removed": True}
    later = functions_read(keys)
    assert opens(fresh, later.admin_key_hashes, later)
    assert not opens(old, later.admin_key_hashes, later)
    assert later.key_pepper == now.key_pepper


def test_only_a_new_key_is_ever_shown(keys: Keys) -> None:
    output = keys.sakuin("new", "--for", "knowledge")
    key = output.out.split()[1]
    assert key.startswith("sk_sakuin_")
    listed = keys.sakuin("list")
    removed = keys.sakuin("rm", listed.out.splitlines()[1].split()[0])
    assert removed.code == 0, removed
    shown = "".join((output.err, listed.out, listed.err, removed.out, removed.err))
    assert not any(value in shown for value in (key, *VENDORS.values()))


def test_a_hash_that_names_no_key_or_two_is_refused(keys: Keys) -> None:
    keys.members = {**VENDORS, "knowledge_key_hashes": ["a" * 64, "a" * 63 + "b"]}
    for hash, sentence in (("a" * 12, "Give more digits"), ("b" * 12, "No key's hash"), ("a", "at least 8")):
        output = keys.sakuin("rm", hash)
        assert (output.code, sentence in output.err) == (1, True), output
    assert keys.sakuin("rm", "a" * 64).code == 0


def test_each_key_is_listed_with_the_day_on_which_it_was_last_used(operator: Operator) -> None:
    deployment = operator.deployment
    agent, admin = (hash_of_key(key, PEPPER) for key in (API_KEY, ADMIN_KEY))
    SupabaseKeyUse(deployment.client).note(admin)
    today = datetime.now(UTC).date().isoformat()
    listed = operator.sakuin("keys", "list", "--json", SAKUIN_SECRET=deployment.secret).document["keys"]
    assert [(each["for"], each["last_used_on"]) for each in listed] == [("knowledge", None), ("admin", today)]
    shown = operator.sakuin("keys", "list", SAKUIN_SECRET=deployment.secret).out
    assert [line.split() for line in shown.splitlines()] == [
        ["hash", "for", "last", "used"],
        [agent[:12], "knowledge", "—"],
        [admin[:12], "admin", today],
    ]


@pytest.mark.parametrize(
    "away", [{"SAKUIN_URL": "http://127.0.0.1:1"}, {"SAKUIN_ADMIN_KEY": "wrong"}, {"SAKUIN_URL": ""}]
)
def test_keys_are_listed_where_the_deployment_does_not_tell_when_they_were_used(
    keys: Keys, away: dict[str, str]
) -> None:
    keys.members = {"admin_key_hashes": ["b" * 64]}
    listed = keys.sakuin("list", "--json", **away)
    assert (listed.code, listed.document) == (
        0,
        {"keys": [{"hash": "b" * 12, "for": "admin", "last_used_on": None}]},
    )


def test_the_pepper_is_replaced_while_every_key_goes_on_opening(keys: Keys) -> None:
    agent, admin = new(keys, "knowledge"), new(keys, "admin")
    before = functions_read(keys)
    output = keys.sakuin("pepper", "--json").document
    assert output == {
        "forgotten": False,
        "outdated": [{"hash": agent["hash"], "for": "knowledge"}, {"hash": admin["hash"], "for": "admin"}],
    }
    now = functions_read(keys)
    assert now.key_pepper != before.key_pepper
    assert opens(agent, now.knowledge_key_hashes, now)
    assert opens(admin, now.admin_key_hashes, now)
    fresh = new(keys, "knowledge")
    assert known_hash(fresh["key"], functions_read(keys).knowledge_key_hashes, [now.key_pepper])


def test_an_old_pepper_is_forgotten_only_when_no_key_needs_it(keys: Keys) -> None:
    old = new(keys, "admin")
    keys.sakuin("pepper")
    before = keys.members
    refused = keys.sakuin("pepper", "--forget")
    assert (refused.code, old["hash"] in refused.err) == (1, True), refused
    assert keys.members == before

    fresh = new(keys, "admin")
    keys.sakuin("rm", old["hash"])
    early = keys.sakuin("pepper", "--forget")
    assert (early.code, "For 15 minutes" in " ".join(early.err.split())) == (1, True), early
    members = keys.members
    keys.members = {**members, "key_pepper_since": "2026-01-01T00:00:00+00:00"}
    assert keys.sakuin("pepper", "--forget").code == 0
    now = functions_read(keys)
    assert (now.previous_key_peppers, opens(fresh, now.admin_key_hashes, now)) == ((), True)
    assert set(keys.members) == {*before} - {
        "previous_key_peppers",
        "hashes_of_previous_peppers",
        "key_pepper_since",
    }


def test_for_a_quarter_of_an_hour_endpoints_get_keys_of_the_pepper_that_every_function_knows(keys: Keys) -> None:
    new(keys, "admin")
    before = functions_read(keys).key_pepper
    assert lasting_pepper(functions_read(keys)) == before
    keys.sakuin("pepper")
    now = functions_read(keys)
    assert (now.key_pepper != before, lasting_pepper(now)) == (True, before)
    assert now.key_pepper_since is not None
    settled = replace(now, key_pepper_since=now.key_pepper_since - timedelta(minutes=15))
    assert lasting_pepper(settled) == now.key_pepper


@pytest.mark.parametrize("value", ["yesterday", "2026-11-22T10:00:00", 5])
def test_a_time_of_the_pepper_that_is_none_is_not_guessed_at(keys: Keys, value: object) -> None:
    keys.members = {**VENDORS, "key_pepper": "p", "key_pepper_since": value}
    output = keys.sakuin("pepper", "--forget")
    assert (output.code, "key_pepper_since" in output.err) == (1, True), output
    new(keys, "knowledge"), new(keys, "admin")
    with pytest.raises(Misconfigured, match="key_pepper_since"):
        functions_read(keys)


def test_without_a_pepper_there_is_none_to_replace(keys: Keys) -> None:
    output = keys.sakuin("pepper")
    assert (output.code, "keys new" in output.err) == (1, True), output


def test_a_list_that_is_none_is_left_alone(keys: Keys) -> None:
    broken = {**VENDORS, "admin_key_hashes": "abc"}
    keys.members = broken
    output = keys.sakuin("new", "--for", "admin")
    assert output.code == 1
    assert "admin_key_hashes" in output.err
    assert keys.members == broken


def test_what_a_key_opens_must_be_given(keys: Keys) -> None:
    assert keys.sakuin("new").code == 2
    assert keys.sakuin("new", "--for", "everything").code == 2


def test_a_secret_that_is_wrong_is_not_shown(keys: Keys) -> None:
    keys.members = {**VENDORS, "key_pepper": "the-pepper", "admin_key_hashes": "the-hash the-pepper"}
    for command in (("list",), ("new", "--for", "admin"), ("pepper",)):
        output = keys.sakuin(*command)
        assert output.code == 1
        shown = output.out + output.err
        assert not any(value in shown for value in ("the-pepper", "the-hash", *VENDORS.values()))
