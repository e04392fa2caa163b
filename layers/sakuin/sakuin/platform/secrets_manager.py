"""The functions' secret, in AWS Secrets Manager."""

import json
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aws_lambda_powertools.utilities import parameters
from aws_lambda_powertools.utilities.parameters.constants import DEFAULT_PROVIDERS
from aws_lambda_powertools.utilities.parameters.exceptions import GetParameterError

from sakuin.errors import Misconfigured, SakuinError, Unavailable
from sakuin.platform.aws import CONFIG
from sakuin.platform.secrets import Secrets


def bearer(key: str) -> Mapping[str, str]:
    """The headers in which most vendors want a key."""
    return {"Authorization": f"Bearer {key}"}


@dataclass(slots=True)
class RenewedKey:
    """The key of a client that was built with `first`. `now` reads the secret, which is minutes old at most."""

    first: str = field(repr=False)
    now: Callable[[], str] = field(repr=False)
    headers: Callable[[str], Mapping[str, str]] = bearer

    def set_key(self, request: Any) -> None:
        """Puts the present key into a request. A request with another key, such as a user's token, stays as it is."""
        old = self.headers(self.first)
        if all(request.headers.get(name) == value for name, value in old.items()):
            for name in old:
                del request.headers[name]
            request.headers.update(self.headers(self._present()))

    def _present(self) -> str:
        try:
            return self.now() or self.first
        except SakuinError:
            # Secrets Manager is away: the first key may well be valid still.
            return self.first


def auth_of(auth: type[Any], key: RenewedKey) -> Any:
    """The key as an `auth` of httpx or httpx2: each has a class of its own, and a client takes no other."""

    class Renewed(auth):  # type: ignore[misc]  # which one is not known before
        def auth_flow(self, request: Any) -> Generator[Any, Any, None]:
            key.set_key(request)
            yield request

    return Renewed()


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
