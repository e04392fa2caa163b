"""The keys of `/mcp` and `/v1`: shown only once, stored as hashes in the functions' secret."""

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
    """The hash of a key, as the secret stores it."""

    purpose: Purpose
    hash: str


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """The functions' secret in AWS Secrets Manager. `client` is boto3's."""

    client: Any
    name: str

    @classmethod
    def of(cls, settings: CommandSettings) -> "StoredSecret":
        """Returns the secret of the settings."""
        name = required(settings.secret, "SAKUIN_SECRET", "sakuin/prod")
        return cls(aws_client(settings, "secretsmanager"), name)

    def read(self) -> tuple[Mapping[str, object], str]:
        """Returns the JSON object and the id of the current version; raises `NotFound` and `Misconfigured`."""
        found = self._call("get_secret_value", VersionStage=_CURRENT)
        try:
            members = json.loads(found.get("SecretString", ""))
        except ValueError:
            members = None
        if not isinstance(members, dict):
            raise Misconfigured(f"The secret {self.name} must hold one JSON object")
        return members, found["VersionId"]

    def replace(self, members: Mapping[str, object], *, seen: str) -> None:
        """Stores a new current version; raises `Conflict`, without a change, if the current one is not `seen`."""
        written = self._call(
            "put_secret_value", SecretString=json.dumps(members, ensure_ascii=False), VersionStages=[_PENDING]
        )
        # Moving the label fails if it has moved: a plain write could undo the write of another operator.
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
                f"Secrets Manager did not answer: {error}. Check the AWS_ variables", vendor="secrets"
            ) from error

    def _error_of(self, error: ClientError) -> SakuinError:
        code = error.response["Error"]["Code"]
        if code == "ResourceNotFoundException":
            return NotFound(f"There is no secret {self.name} in this account and region. See docs/how-to/deploy.md")
        moved = error.operation_name == "UpdateSecretVersionStage"
        if moved and code in ("InvalidParameterException", "InvalidRequestException"):
            return Conflict(f"The secret {self.name} was changed at the same time. Run the command again")
        # The message has the action and the caller, never a value.
        return Unavailable(f"Secrets Manager rejected the request: {error}", vendor="secrets")


@dataclass(frozen=True, slots=True)
class DeploymentKeys:
    """The keys of a deployment. Functions read the secret every five minutes, and for an unknown key."""

    secret: StoredSecret = field(repr=False)

    def create(self, purpose: Purpose) -> tuple[StoredKey, str]:
        """Creates a key; returns its stored form and the key itself. Only the hash is stored."""
        members, version_id = self.secret.read()
        hashes = _hashes(members)
        key = new_key()
        created = StoredKey(purpose, hash_of_key(key))
        hashes[purpose].append(created.hash)
        self.secret.replace(_with(members, hashes), seen=version_id)
        return created, key

    def are_outdated(self) -> bool:
        """Returns whether the secret is from an older version, whose keys are not valid any more."""
        return _PEPPER in self.secret.read()[0]

    def all(self) -> list[StoredKey]:
        """Returns the valid keys, oldest first."""
        return _keys(_hashes(self.secret.read()[0]))

    def remove(self, beginning: str) -> StoredKey:
        """Removes the key whose hash begins with `beginning`."""
        if len(beginning) < _SHORTEST:
            raise Invalid(f"Give at least {_SHORTEST} digits of the key's hash, as `sakuin keys list` shows it")
        members, version_id = self.secret.read()
        hashes = _hashes(members)
        found = [key for key in _keys(hashes) if key.hash.startswith(beginning)]
        if not found:
            raise NotFound(f"No key's hash begins with {beginning}. `sakuin keys list` shows all keys")
        if len(found) > 1:
            raise Invalid(f"Several keys' hashes begin with {beginning}. Give more digits")
        hashes[found[0].purpose].remove(found[0].hash)
        self.secret.replace(_with(members, hashes), seen=version_id)
        return found[0]


def _hashes(members: Mapping[str, object]) -> dict[Purpose, list[str]]:
    """Returns the hashes by purpose; a missing list is empty."""
    hashes: dict[Purpose, list[str]] = {}
    for purpose, member in _MEMBERS.items():
        value = members.get(member, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise Misconfigured(f"The secret's member {member!r} must be a list of hashes")
        hashes[purpose] = list(value)
    return hashes


def _keys(hashes: Mapping[Purpose, list[str]]) -> list[StoredKey]:
    return [StoredKey(purpose, each) for purpose in _MEMBERS for each in hashes[purpose]]


def _with(members: Mapping[str, object], hashes: Mapping[Purpose, list[str]]) -> dict[str, object]:
    return {**members, **{_MEMBERS[purpose]: each for purpose, each in hashes.items()}}
