"""The functions' secret in AWS Secrets Manager, as its keepers write it."""

import json
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from sakuin.errors import Conflict, Misconfigured, NotFound, SakuinError, Unavailable

from sakuin_cli.ports import SecretVersion

_CURRENT = "AWSCURRENT"
_PENDING = "AWSPENDING"


class SecretsManagerSecret:
    """A `StoredSecret`, by its name."""

    def __init__(self, client: Any, name: str) -> None:
        self._client = client
        self._name = name

    def read(self) -> SecretVersion:
        found = self._ask("get_secret_value", VersionStage=_CURRENT)
        try:
            members = json.loads(found.get("SecretString", ""))
        except ValueError:
            members = None
        if not isinstance(members, dict):
            raise Misconfigured(f"The secret {self._name} must hold one JSON object")
        return SecretVersion(members, found["VersionId"])

    def replace(self, members: Mapping[str, object], *, seen: str) -> None:
        written = self._ask(
            "put_secret_value", SecretString=json.dumps(members, ensure_ascii=False), VersionStages=[_PENDING]
        )
        # Moving the label fails unless it is where it was: a plain write would undo what another keeper just wrote.
        self._ask(
            "update_secret_version_stage",
            VersionStage=_CURRENT,
            MoveToVersionId=written["VersionId"],
            RemoveFromVersionId=seen,
        )

    def _ask(self, operation: str, **arguments: Any) -> Any:
        try:
            return getattr(self._client, operation)(SecretId=self._name, **arguments)
        except ClientError as error:
            raise self._ours(error) from error
        except BotoCoreError as error:
            raise Unavailable(
                f"Secrets Manager cannot be asked: {error}. Are the AWS_ variables right?", vendor="secrets"
            ) from error

    def _ours(self, error: ClientError) -> SakuinError:
        code = error.response["Error"]["Code"]
        if code == "ResourceNotFoundException":
            return NotFound(f"There is no secret {self._name} in this account and region. docs/deploy.md makes one")
        if (
            code in ("InvalidParameterException", "InvalidRequestException")
            and error.operation_name == "UpdateSecretVersionStage"
        ):
            return Conflict(f"Somebody else changed the secret {self._name} just now. Run the command again")
        # Its message names the action and who asked, never a value.
        return Unavailable(f"Secrets Manager refused: {error}", vendor="secrets")
