"""The functions' secret, from AWS Secrets Manager, by name."""

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from aws_lambda_powertools.utilities import parameters
from aws_lambda_powertools.utilities.parameters.constants import DEFAULT_PROVIDERS
from aws_lambda_powertools.utilities.parameters.exceptions import GetParameterError

from sakuin.adapters.aws import CONFIG
from sakuin.errors import Misconfigured, Unavailable
from sakuin.settings import Secrets

_MAX_AGE_SECONDS = 300
_LOOK_SECONDS = 30.0
# A keeper's next version is there before it counts.
_CURRENT = "AWSCURRENT"


@dataclass(slots=True)
class NamedSecret:
    """The secret, as one that holds a client asks for it; `told` hears of each reading what must not be shown."""

    name: str
    clock: Callable[[], float] = time.monotonic
    told: Callable[[Iterable[str]], None] = lambda _confidential: None
    _looked: float = -_LOOK_SECONDS

    def now(self) -> Secrets:
        """Its members, at most five minutes old."""
        return self._read()

    def newer(self) -> Secrets:
        """Its members at this moment: a key was refused. A key that is simply wrong costs a look now and then only."""
        if self.clock() - self._looked < _LOOK_SECONDS:
            return self.now()
        self._looked = self.clock()
        return self._read(fresh=True)

    def _read(self, *, fresh: bool = False) -> Secrets:
        members = secrets_named(self.name, fresh=fresh)
        self.told(members.confidential)
        return members


def secrets_named(name: str, *, fresh: bool = False) -> Secrets:
    """The secret's members; read again after five minutes, so that a rotated key arrives without a deployment."""
    if "secrets" not in DEFAULT_PROVIDERS:
        # Powertools' own would wait for a minute, five times.
        DEFAULT_PROVIDERS["secrets"] = parameters.SecretsProvider(boto_config=CONFIG)
    try:
        value = parameters.get_secret(name, max_age=_MAX_AGE_SECONDS, force_fetch=fresh, VersionStage=_CURRENT)
    except GetParameterError as error:
        raise Unavailable(
            f"The secret {name} cannot be read: does it exist, and may this function read it?", vendor="secrets"
        ) from error
    try:
        members = json.loads(value)
    except ValueError:
        raise Misconfigured(f"The secret {name} must hold one JSON object") from None
    if not isinstance(members, dict):
        raise Misconfigured(f"The secret {name} must hold one JSON object")
    return Secrets.read(members, name)
