"""`sakuin keys`."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import boto3
import pytest
from sakuin.platform.keys import KeyUse, hash_of_key, known_hash
from sakuin.platform.secrets import Secrets

from tests.cli.conftest import Operator, Output
from tests.cli.deployment import ADMIN_KEY, API_KEY

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


def opens(made: Any, hashes: Sequence[str]) -> bool:
    return known_hash(made["key"], hashes) is not None


def functions_read(keys: Keys) -> Secrets:
    return Secrets.read(keys.members, "sakuin/prod")


def test_the_first_key_completes_the_secret(keys: Keys) -> None:
    made = new(keys, "knowledge")
    now = functions_read(keys)
    assert opens(made, now.knowledge_key_hashes)
    assert not opens(made, now.admin_key_hashes)
    assert (now.supabase_service_key, now.openai_api_key) == ("sb_secret_x", "sk-x")
    assert made["key"] not in str(keys.members)


def test_a_key_is_replaced_with_an_overlap(keys: Keys) -> None:
    old, fresh = new(keys, "admin"), new(keys, "admin")
    now = functions_read(keys)
    assert all(opens(each, now.admin_key_hashes) for each in (old, fresh))
    listed = keys.sakuin("list", "--json").document
    assert listed == {"keys": [{"hash": each["hash"], "for": "admin", "last_used_on": None} for each in (old, fresh)]}
    removed = keys.sakuin("rm", old["hash"], "--json").document
    assert removed == {"hash": old["hash"], "for": "admin", "removed": True}
    later = functions_read(keys)
    assert opens(fresh, later.admin_key_hashes)
    assert not opens(old, later.admin_key_hashes)


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
    agent, admin = (hash_of_key(key) for key in (API_KEY, ADMIN_KEY))
    KeyUse(deployment.client).record(admin)
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


def test_a_secret_of_an_older_version_says_that_its_keys_open_nothing(keys: Keys) -> None:
    keys.members = {**VENDORS, "key_pepper": "p", "knowledge_key_hashes": ["a" * 64]}
    made = keys.sakuin("new", "--for", "knowledge")
    assert made.code == 0
    listed = keys.sakuin("list")
    for output in (made, listed):
        (line,) = [line for line in output.out.splitlines() if "key_pepper" in line]
        assert "keys made before the upgrade are not valid any more" in line
        assert "`sakuin keys new`" in line
    key = made.out.split()[1]
    assert hash_of_key(key) in str(keys.members["knowledge_key_hashes"])
    # One document, and nothing else.
    assert set(keys.sakuin("list", "--json").document) == {"keys"}
    assert set(new(keys, "admin")) == {"key", "hash", "for"}


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
    for command in (("list",), ("new", "--for", "admin"), ("rm", "the-hash")):
        output = keys.sakuin(*command)
        assert output.code == 1
        shown = output.out + output.err
        assert not any(value in shown for value in ("the-pepper", "the-hash", *VENDORS.values()))
