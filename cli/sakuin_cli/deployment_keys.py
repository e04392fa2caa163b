"""The keys of `/mcp` and `/v1`: shown only once, stored as hashes in the functions' secrets."""

import json
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import uuid4

import jwt
from botocore.exceptions import BotoCoreError, ClientError
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm
from sakuin.errors import Conflict, Invalid, Misconfigured, NotFound, SakuinError, Unavailable
from sakuin.platform.keys import hash_of_key, new_key
from sakuin.platform.secrets import search_secret

from sakuin_cli.connections import aws_client
from sakuin_cli.settings import CommandSettings, required

Purpose = Literal["knowledge", "admin"]
_MEMBERS: Mapping[Purpose, str] = {"knowledge": "knowledge_key_hashes", "admin": "admin_key_hashes"}
SEARCH_ROLE = "sakuin_search"
# In 2100: the key is revoked by revoking its key pair.
_NEVER = 4_102_444_800
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
    """The keys of a deployment, each in the secret of the functions that check it.

    Functions read their secret every five minutes, and for an unknown key.
    """

    secrets: Mapping[Purpose, StoredSecret] = field(repr=False)

    @classmethod
    def of(cls, settings: CommandSettings) -> "DeploymentKeys":
        """Returns the keys of the settings' deployment."""
        name = required(settings.secret, "SAKUIN_SECRET", "sakuin/prod")
        client = aws_client(settings, "secretsmanager")
        names: Mapping[Purpose, str] = {"knowledge": search_secret(name), "admin": name}
        return cls({purpose: StoredSecret(client, each) for purpose, each in names.items()})

    def create(self, purpose: Purpose) -> tuple[StoredKey, str]:
        """Creates a key; returns its stored form and the key itself. Only the hash is stored."""
        members, version_id = self.secrets[purpose].read()
        key = new_key()
        created = StoredKey(purpose, hash_of_key(key))
        hashes = [*_hashes(members, purpose), created.hash]
        self.secrets[purpose].replace({**members, _MEMBERS[purpose]: hashes}, seen=version_id)
        return created, key

    def all(self) -> list[StoredKey]:
        """Returns the valid keys, oldest first."""
        return [
            StoredKey(purpose, each)
            for purpose, secret in self.secrets.items()
            for each in _hashes(secret.read()[0], purpose)
        ]

    def named(self, beginning: str) -> StoredKey:
        """Returns the key whose hash begins with `beginning`."""
        by_hash = {key.hash: key for key in self.all()}
        return by_hash[only_hash(by_hash, beginning)]

    def remove(self, key: StoredKey) -> None:
        """Removes a key."""
        members, version_id = self.secrets[key.purpose].read()
        hashes = [each for each in _hashes(members, key.purpose) if each != key.hash]
        self.secrets[key.purpose].replace({**members, _MEMBERS[key.purpose]: hashes}, seen=version_id)


def only_hash(hashes: Collection[str], beginning: str) -> str:
    """Returns the one hash that begins with `beginning`, of at least 8 digits."""
    if len(beginning) < _SHORTEST:
        raise Invalid(f"Give at least {_SHORTEST} digits of the key's hash, as `sakuin keys list` shows it")
    found = [each for each in hashes if each.startswith(beginning)]
    if not found:
        raise NotFound(f"No key's hash begins with {beginning}. `sakuin keys list` shows all keys")
    if len(found) > 1:
        raise Invalid(f"Several keys' hashes begin with {beginning}. Give more digits")
    return found[0]


def _hashes(members: Mapping[str, object], purpose: Purpose) -> list[str]:
    """Returns the hashes of the keys for a purpose; a missing list is empty."""
    value = members.get(member := _MEMBERS[purpose], [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Misconfigured(f"The secret's member {member!r} must be a list of hashes")
    return value


def new_database_key() -> tuple[dict[str, str], str]:
    """Returns a key pair as a JWK, and a token for the database role of the function `mcp` that it signed.

    Supabase accepts the token as soon as the JWK is imported as a key that only verifies.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    jwk = ECAlgorithm.to_jwk(key, as_dict=True) | {"kid": str(uuid4()), "alg": "ES256", "use": "sig"}
    claims = {"role": SEARCH_ROLE, "iss": "sakuin", "iat": int(time.time()), "exp": _NEVER}
    return jwk, jwt.encode(claims, key, "ES256", headers={"kid": jwk["kid"]})
