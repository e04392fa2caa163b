"""The keys that open `/mcp` and `/v1`: shown only once, stored as hashes in the functions' secret."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from botocore.exceptions import BotoCoreError, ClientError
from sakuin.errors import Conflict, Invalid, Misconfigured, NotFound, SakuinError, Unavailable
from sakuin.platform.keys import hash_of_key, new_key

from sakuin_cli.connections import aws_client
from sakuin_cli.settings import CommandSettings, required

Purpose = Literal["knowledge", "admin"]
_MEMBERS: Mapping[Purpose, str] = {"knowledge": "knowledge_key_hashes", "admin": "admin_key_hashes"}
# Older versions hashed keys together with this member of the secret.
_PEPPER = "key_pepper"
_SHORTEST = 8
_CURRENT, _PENDING = "AWSCURRENT", "AWSPENDING"


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A key as the secret knows it: the hash names it, and opens nothing."""

    purpose: Purpose
    hash: str


@dataclass(frozen=True, slots=True)
class SecretVersion:
    """A secret's JSON object, and the id of the version that holds it."""

    members: Mapping[str, object] = field(repr=False)
    id: str


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """The functions' secret in AWS Secrets Manager, by its name. `client` is boto3's."""

    client: Any
    name: str

    @classmethod
    def of(cls, settings: CommandSettings) -> "StoredSecret":
        """The secret that a command's settings name."""
        name = required(settings.secret, "SAKUIN_SECRET", "sakuin/prod")
        return cls(aws_client(settings, "secretsmanager"), name)

    def read(self) -> SecretVersion:
        """The current version. No such secret is `NotFound`, one that holds no JSON object `Misconfigured`."""
        found = self._call("get_secret_value", VersionStage=_CURRENT)
        try:
            members = json.loads(found.get("SecretString", ""))
        except ValueError:
            members = None
        if not isinstance(members, dict):
            raise Misconfigured(f"The secret {self.name} must hold one JSON object")
        return SecretVersion(members, found["VersionId"])

    def replace(self, members: Mapping[str, object], *, seen: str) -> None:
        """Makes this the current version; `Conflict`, and no change, if that is no longer the one `seen`."""
        written = self._call(
            "put_secret_value", SecretString=json.dumps(members, ensure_ascii=False), VersionStages=[_PENDING]
        )
        # Moving the label fails unless it is where it was: a plain write would undo what another operator just wrote.
        self._call(
            "update_secret_version_stage",
            VersionStage=_CURRENT,
            MoveToVersionId=written["VersionId"],
            RemoveFromVersionId=seen,
        )

    def _call(self, operation: str, **arguments: Any) -> Any:
        try:
            return getattr(self.client, operation)(SecretId=self.name, **arguments)
        except ClientError as error:
            raise self._error_of(error) from error
        except BotoCoreError as error:
            raise Unavailable(
                f"Secrets Manager cannot be asked: {error}. Are the AWS_ variables right?", vendor="secrets"
            ) from error

    def _error_of(self, error: ClientError) -> SakuinError:
        code = error.response["Error"]["Code"]
        if code == "ResourceNotFoundException":
            return NotFound(
                f"There is no secret {self.name} in this account and region. docs/how-to/deploy.md makes one"
            )
        moved = error.operation_name == "UpdateSecretVersionStage"
        if moved and code in ("InvalidParameterException", "InvalidRequestException"):
            return Conflict(f"Somebody else changed the secret {self.name} just now. Run the command again")
        # Its message names the action and who asked, never a value.
        return Unavailable(f"Secrets Manager refused: {error}", vendor="secrets")


@dataclass(frozen=True, slots=True)
class DeploymentKeys:
    """The keys of a deployment. Functions read the secret after five minutes, or for a key that is new to them."""

    secret: StoredSecret = field(repr=False)

    def create(self, purpose: Purpose) -> tuple[StoredKey, str]:
        """Adds a key to those that are there and returns it with the key itself, of which only the hash is stored.

        A secret without lists gets them.
        """
        version = self.secret.read()
        hashes = _hashes(version.members)
        key = new_key()
        created = StoredKey(purpose, hash_of_key(key))
        hashes[purpose].append(created.hash)
        self.secret.replace(_with(version.members, hashes), seen=version.id)
        return created, key

    def are_outdated(self) -> bool:
        """Returns whether the secret is from an older version, whose keys open nothing any more."""
        return _PEPPER in self.secret.read().members

    def all(self) -> list[StoredKey]:
        """The keys that open something, oldest first."""
        return _keys(_hashes(self.secret.read().members))

    def remove(self, beginning: str) -> StoredKey:
        """Removes the key whose hash begins so; what it opened is closed to it."""
        if len(beginning) < _SHORTEST:
            raise Invalid(f"Give at least {_SHORTEST} digits of the key's hash, as `sakuin keys list` shows it")
        version = self.secret.read()
        hashes = _hashes(version.members)
        found = [key for key in _keys(hashes) if key.hash.startswith(beginning)]
        if not found:
            raise NotFound(f"No key's hash begins with {beginning}. `sakuin keys list` shows those that there are")
        if len(found) > 1:
            raise Invalid(f"Several keys' hashes begin with {beginning}. Give more digits")
        hashes[found[0].purpose].remove(found[0].hash)
        self.secret.replace(_with(version.members, hashes), seen=version.id)
        return found[0]


def _hashes(members: Mapping[str, object]) -> dict[Purpose, list[str]]:
    """The lists as they are; one that is not there is empty."""
    return {purpose: _list(members.get(member, []), member) for purpose, member in _MEMBERS.items()}


def _keys(hashes: Mapping[Purpose, list[str]]) -> list[StoredKey]:
    return [StoredKey(purpose, each) for purpose in _MEMBERS for each in hashes[purpose]]


def _list(value: object, member: str) -> list[str]:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return list(value)
    raise Misconfigured(f"The secret's member {member!r} must be a list of hashes")


def _with(members: Mapping[str, object], hashes: Mapping[Purpose, list[str]]) -> dict[str, object]:
    return {**members, **{_MEMBERS[purpose]: each for purpose, each in hashes.items()}}
