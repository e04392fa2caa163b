"""`sakuin keys`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from sakuin.bootstrap.keys import lasting_pepper
from sakuin.domain.keys import known_hash
from sakuin.errors import Misconfigured, SakuinError, Unavailable
from sakuin.settings import Secrets
from sakuin_cli.deployment_keys import KeepKeys

from tests.cli.conftest import Keeper
from tests.in_memory.secret import MemorySecret

VENDORS = {"supabase_service_key": "sb_secret_x", "openai_api_key": "sk-x", "turbopuffer_api_key": "tpuf_x"}


@pytest.fixture
def secret(keeper: Keeper) -> dict[str, object]:
    """What a person has put there by hand."""
    keeper.world.secret.members = dict(VENDORS)
    return dict(VENDORS)


def new(keeper: Keeper, purpose: str) -> Any:
    said = keeper.sakuin("keys", "new", "--for", purpose, "--json")
    assert said.code == 0, said
    return said.document


def opens(made: Any, hashes: Sequence[str], secrets: Secrets) -> bool:
    return known_hash(made["key"], hashes, secrets.key_peppers) is not None


def functions_read(keeper: Keeper) -> Secrets:
    return Secrets.read(keeper.world.secret.members or {}, "sakuin/prod")


def test_the_first_key_completes_the_secret(keeper: Keeper, secret: dict[str, object]) -> None:
    made = new(keeper, "knowledge")
    now = functions_read(keeper)
    assert opens(made, now.knowledge_key_hashes, now)
    assert not opens(made, now.admin_key_hashes, now)
    assert (now.supabase_service_key, now.openai_api_key) == ("sb_secret_x", "sk-x")
    assert made["key"] not in str(keeper.world.secret.members)


def test_a_key_is_replaced_with_an_overlap(keeper: Keeper, secret: dict[str, object]) -> None:
    old, fresh = new(keeper, "admin"), new(keeper, "admin")
    now = functions_read(keeper)
    assert all(opens(each, now.admin_key_hashes, now) for each in (old, fresh))
    listed = keeper.sakuin("keys", "list", "--json").document
    assert listed == {"keys": [{"hash": each["hash"], "for": "admin", "last_used_on": None} for each in (old, fresh)]}
    removed = keeper.sakuin("keys", "rm", old["hash"], "--json").document
    assert removed == {"hash": old["hash"], "for": "admin", "removed": True}
    later = functions_read(keeper)
    assert opens(fresh, later.admin_key_hashes, later)
    assert not opens(old, later.admin_key_hashes, later)
    assert later.key_pepper == now.key_pepper


def test_only_a_new_key_is_ever_shown(keeper: Keeper, secret: dict[str, object]) -> None:
    said = keeper.sakuin("keys", "new", "--for", "knowledge")
    key = said.out.split()[1]
    assert key.startswith("sk_sakuin_")
    listed = keeper.sakuin("keys", "list")
    removed = keeper.sakuin("keys", "rm", listed.out.splitlines()[1].split()[0])
    assert removed.code == 0, removed
    shown = "".join((said.err, listed.out, listed.err, removed.out, removed.err))
    assert not any(value in shown for value in (key, *VENDORS.values()))


def test_a_hash_that_names_no_key_or_two_is_refused(keeper: Keeper, secret: dict[str, object]) -> None:
    keeper.world.secret.members = {**secret, "knowledge_key_hashes": ["a" * 64, "a" * 63 + "b"]}
    for hash, sentence in (("a" * 12, "Give more digits"), ("b" * 12, "No key's hash"), ("a", "at least 8")):
        said = keeper.sakuin("keys", "rm", hash)
        assert (said.code, sentence in said.err) == (1, True), said
    assert keeper.sakuin("keys", "rm", "a" * 64).code == 0


def test_each_key_is_listed_with_the_day_on_which_it_was_last_used(keeper: Keeper) -> None:
    keeper.world.secret.members = {"knowledge_key_hashes": ["a" * 64], "admin_key_hashes": ["b" * 64]}
    keeper.world.key_days["b" * 64] = "2026-11-22"
    listed = keeper.sakuin("keys", "list", "--json").document["keys"]
    assert [(each["for"], each["last_used_on"]) for each in listed] == [("knowledge", None), ("admin", "2026-11-22")]
    assert [line.split() for line in keeper.sakuin("keys", "list").out.splitlines()] == [
        ["hash", "for", "last", "used"],
        ["a" * 12, "knowledge", "—"],
        ["b" * 12, "admin", "2026-11-22"],
    ]


@pytest.mark.parametrize("error", [Unavailable, Misconfigured, None])
def test_keys_are_listed_when_nobody_says_when_they_were_used(error: type[SakuinError] | None) -> None:
    secret = MemorySecret({"admin_key_hashes": ["b" * 64]})
    keys = KeepKeys(secret, _Refusing(error("away")) if error else None)
    assert ([each.hash for each in keys.all()], keys.days()) == (["b" * 64], {})


@dataclass(frozen=True)
class _Refusing:
    error: SakuinError

    def days(self) -> Mapping[str, str]:
        raise self.error


def test_the_pepper_is_replaced_while_every_key_goes_on_opening(keeper: Keeper, secret: dict[str, object]) -> None:
    agent, admin = new(keeper, "knowledge"), new(keeper, "admin")
    before = functions_read(keeper)
    said = keeper.sakuin("keys", "pepper", "--json").document
    assert said == {
        "forgotten": False,
        "outdated": [{"hash": agent["hash"], "for": "knowledge"}, {"hash": admin["hash"], "for": "admin"}],
    }
    now = functions_read(keeper)
    assert now.key_pepper != before.key_pepper
    assert opens(agent, now.knowledge_key_hashes, now)
    assert opens(admin, now.admin_key_hashes, now)
    fresh = new(keeper, "knowledge")
    assert known_hash(fresh["key"], functions_read(keeper).knowledge_key_hashes, [now.key_pepper])


def test_an_old_pepper_is_forgotten_only_when_no_key_needs_it(keeper: Keeper, secret: dict[str, object]) -> None:
    old = new(keeper, "admin")
    keeper.sakuin("keys", "pepper")
    before = dict(keeper.world.secret.members or {})
    refused = keeper.sakuin("keys", "pepper", "--forget")
    assert (refused.code, old["hash"] in refused.err) == (1, True), refused
    assert keeper.world.secret.members == before

    fresh = new(keeper, "admin")
    keeper.sakuin("keys", "rm", old["hash"])
    early = keeper.sakuin("keys", "pepper", "--forget")
    assert (early.code, "For 15 minutes" in " ".join(early.err.split())) == (1, True), early
    members = dict(keeper.world.secret.members or {})
    keeper.world.secret.members = {**members, "key_pepper_since": "2026-01-01T00:00:00+00:00"}
    assert keeper.sakuin("keys", "pepper", "--forget").code == 0
    now = functions_read(keeper)
    assert (now.previous_key_peppers, opens(fresh, now.admin_key_hashes, now)) == ((), True)
    assert set(keeper.world.secret.members or {}) == {*before} - {
        "previous_key_peppers",
        "hashes_of_previous_peppers",
        "key_pepper_since",
    }


def test_for_a_quarter_of_an_hour_endpoints_get_keys_of_the_pepper_that_every_function_knows(
    keeper: Keeper, secret: dict[str, object]
) -> None:
    new(keeper, "admin")
    before = functions_read(keeper).key_pepper
    assert lasting_pepper(functions_read(keeper)) == before
    keeper.sakuin("keys", "pepper")
    now = functions_read(keeper)
    assert (now.key_pepper != before, lasting_pepper(now)) == (True, before)
    assert now.key_pepper_since is not None
    settled = replace(now, key_pepper_since=now.key_pepper_since - timedelta(minutes=15))
    assert lasting_pepper(settled) == now.key_pepper


@pytest.mark.parametrize("value", ["yesterday", "2026-11-22T10:00:00", 5])
def test_a_time_of_the_pepper_that_is_none_is_not_guessed_at(keeper: Keeper, value: object) -> None:
    keeper.world.secret.members = {**VENDORS, "key_pepper": "p", "key_pepper_since": value}
    said = keeper.sakuin("keys", "pepper", "--forget")
    assert (said.code, "key_pepper_since" in said.err) == (1, True), said
    new(keeper, "knowledge"), new(keeper, "admin")
    with pytest.raises(Misconfigured, match="key_pepper_since"):
        functions_read(keeper)


def test_without_a_pepper_there_is_none_to_replace(keeper: Keeper, secret: dict[str, object]) -> None:
    said = keeper.sakuin("keys", "pepper")
    assert (said.code, "keys new" in said.err) == (1, True), said


def test_a_list_that_is_none_is_left_alone(keeper: Keeper, secret: dict[str, object]) -> None:
    broken = {**secret, "admin_key_hashes": "abc"}
    keeper.world.secret.members = broken
    said = keeper.sakuin("keys", "new", "--for", "admin")
    assert said.code == 1
    assert "admin_key_hashes" in said.err
    assert keeper.world.secret.members == broken


def test_what_a_key_opens_must_be_said(keeper: Keeper) -> None:
    assert keeper.sakuin("keys", "new").code == 2
    assert keeper.sakuin("keys", "new", "--for", "everything").code == 2


def test_a_secret_that_is_wrong_is_not_shown(keeper: Keeper, secret: dict[str, object]) -> None:
    keeper.world.secret.members = {**secret, "key_pepper": "the-pepper", "admin_key_hashes": "the-hash the-pepper"}
    for command in (("keys", "list"), ("keys", "new", "--for", "admin"), ("keys", "pepper")):
        said = keeper.sakuin(*command)
        assert said.code == 1
        shown = said.out + said.err
        assert not any(value in shown for value in ("the-pepper", "the-hash", *VENDORS.values()))
