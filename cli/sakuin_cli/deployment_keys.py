"""The keys that open `/mcp` and `/v1`: given once, kept as hashes in the functions' secret."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from sakuin.domain.keys import PEPPER_SETTLES, hash_of_key, is_settled, new_key
from sakuin.errors import Invalid, Misconfigured, NotFound, SakuinError

from sakuin_cli.ports import DeployedKeyUse, StoredSecret

Purpose = Literal["knowledge", "admin"]
_MEMBERS: Mapping[Purpose, str] = {"knowledge": "knowledge_key_hashes", "admin": "admin_key_hashes"}
_PEPPER, _PREVIOUS_PEPPERS, _SINCE = "key_pepper", "previous_key_peppers", "key_pepper_since"
# Which keys there were when the pepper was replaced: a hash does not tell what it was made with.
_OUTDATED = "hashes_of_previous_peppers"
_SHORTEST = 8


@dataclass(frozen=True, slots=True)
class KeptKey:
    """A key as the secret knows it: the hash names it, and opens nothing."""

    purpose: Purpose
    hash: str


@dataclass(frozen=True, slots=True)
class KeepKeys:
    """What a keeper does with keys. Functions read the secret after five minutes, or for a key that is new to them."""

    secret: StoredSecret = field(repr=False)
    use: DeployedKeyUse | None = None
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    def new(self, purpose: Purpose) -> tuple[KeptKey, str]:
        """One key more beside those that are there, and the key itself: only its hash is kept.

        A secret without a pepper gets one, a secret without lists gets them.
        """
        version = self.secret.read()
        hashes = _hashes(version.members)
        pepper = version.members.get(_PEPPER) or secrets.token_urlsafe(32)
        key = new_key()
        made = KeptKey(purpose, hash_of_key(key, str(pepper)))
        hashes[purpose].append(made.hash)
        self.secret.replace(_with(version.members, hashes, key_pepper=pepper), seen=version.id)
        return made, key

    def all(self) -> Sequence[KeptKey]:
        """The keys that open something, oldest first."""
        hashes = _hashes(self.secret.read().members)
        return [KeptKey(purpose, each) for purpose in _MEMBERS for each in hashes[purpose]]

    def days(self) -> Mapping[str, str]:
        """Hash to day of the last use, as far as the deployment says: one that does not answer is not an error."""
        try:
            return self.use.days() if self.use else {}
        except SakuinError:
            return {}

    def remove(self, beginning: str) -> KeptKey:
        """Takes the key whose hash begins so; what it opened is closed to it."""
        if len(beginning) < _SHORTEST:
            raise Invalid(f"Give at least {_SHORTEST} digits of the key's hash, as `sakuin keys list` shows it")
        version = self.secret.read()
        hashes = _hashes(version.members)
        found = [
            KeptKey(purpose, each) for purpose in _MEMBERS for each in hashes[purpose] if each.startswith(beginning)
        ]
        if not found:
            raise NotFound(f"No key's hash begins with {beginning}. `sakuin keys list` shows those that there are")
        if len(found) > 1:
            raise Invalid(f"Several keys' hashes begin with {beginning}. Give more digits")
        hashes[found[0].purpose].remove(found[0].hash)
        self.secret.replace(_with(version.members, hashes), seen=version.id)
        return found[0]

    def new_pepper(self) -> Sequence[KeptKey]:
        """Another pepper for all keys to come; those that there are go on opening, and are the answer."""
        version = self.secret.read()
        hashes = _hashes(version.members)
        old = version.members.get(_PEPPER)
        if not isinstance(old, str) or not old:
            raise Misconfigured(f"The secret has no {_PEPPER} yet: the first `sakuin keys new` makes one")
        changed: dict[str, object] = {
            _PEPPER: secrets.token_urlsafe(32),
            _PREVIOUS_PEPPERS: [old, *_list(version.members.get(_PREVIOUS_PEPPERS, []), _PREVIOUS_PEPPERS)],
            _SINCE: self.clock().isoformat(timespec="seconds"),
            _OUTDATED: [each for purpose in _MEMBERS for each in hashes[purpose]],
        }
        self.secret.replace({**version.members, **changed}, seen=version.id)
        return self.all()

    def forget_peppers(self) -> None:
        """Takes away the peppers of before; `Invalid` names the keys that would be locked out."""
        version = self.secret.read()
        hashes = _hashes(version.members)
        outdated = set(_list(version.members.get(_OUTDATED, []), _OUTDATED))
        left = [each[:12] for purpose in _MEMBERS for each in hashes[purpose] if each in outdated]
        if left:
            raise Invalid(
                f"Keys of the old pepper still open something: {', '.join(left)}. Replace each: "
                "`sakuin keys new`, hand it out, `sakuin keys rm`"
            )
        since = _since(version.members)
        if not is_settled(since, self.clock()):
            raise Invalid(
                f"The pepper was replaced at {since}. For {PEPPER_SETTLES.seconds // 60} minutes keys of endpoints are "
                "still made with the old one, since every function knows it. Wait until each was used after that"
            )
        gone = {_PREVIOUS_PEPPERS, _OUTDATED, _SINCE}
        members = {name: value for name, value in version.members.items() if name not in gone}
        self.secret.replace(members, seen=version.id)


def _hashes(members: Mapping[str, object]) -> dict[Purpose, list[str]]:
    """The lists as they are; one that is not there is empty."""
    return {purpose: _list(members.get(member, []), member) for purpose, member in _MEMBERS.items()}


def _since(members: Mapping[str, object]) -> datetime | None:
    value = members.get(_SINCE)
    if value is None:
        return None
    try:
        since = datetime.fromisoformat(str(value))
    except ValueError:
        since = datetime.min
    if since.tzinfo is None:
        raise Misconfigured(f"The secret's member {_SINCE!r} must be a time with its zone")
    return since


def _list(value: object, member: str) -> list[str]:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return list(value)
    raise Misconfigured(f"The secret's member {member!r} must be a list of hashes")


def _with(members: Mapping[str, object], hashes: Mapping[Purpose, list[str]], **more: object) -> dict[str, object]:
    return {**members, **more, **{_MEMBERS[purpose]: each for purpose, each in hashes.items()}}
