"""The functions' secret in AWS Secrets Manager, and clients that use its current keys."""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Literal

from aws_lambda_powertools.utilities import parameters
from aws_lambda_powertools.utilities.parameters.constants import DEFAULT_PROVIDERS
from aws_lambda_powertools.utilities.parameters.exceptions import GetParameterError

from sakuin.errors import Misconfigured, SakuinError, Unavailable
from sakuin.platform.aws import client

_MAX_AGE_SECONDS = 300
# Between two reads that ignore the maximum age.
_SECONDS_BETWEEN_READS = 30.0
# `sakuin keys` writes the next version before it moves this label to it.
_CURRENT = "AWSCURRENT"


Where = Literal["main", "search", "both", "users"]


def search_secret(name: str) -> str:
    """Returns the name of the secret of the function `mcp`, beside that of the other functions."""
    return f"{name}-search"


def _member(description: str, default: Any = MISSING, *, where: Where = "main") -> Any:
    """Describes a member of the secrets: that of all functions but `mcp`, that of `mcp`, and that of `api` alone."""
    return field(default=default, repr=False, metadata={"description": description, "where": where})


@dataclass(frozen=True, slots=True)
class Secrets:
    """The members of the secrets that a function reads."""

    supabase_service_key: str = _member("the service key of the Supabase project")
    supabase_search_key: str = _member(
        "the key of the database role `sakuin_search`, as `sakuin keys new --for database` prints it", where="search"
    )
    openai_api_key: str = _member(
        "the key for embeddings and `learns`; in the secret of `mcp` that for questions, which may be one of another "
        "project of OpenAI, so that indexing does not use up their rate limit",
        where="both",
    )
    knowledge_key_hashes: tuple[str, ...] = _member(
        "list of the SHA-256 hashes of the keys for `POST /mcp`", where="search"
    )
    admin_key_hashes: tuple[str, ...] = _member("list of the SHA-256 hashes of the keys for `/v1`")
    supabase_search_apikey: str = _member(
        "the publishable key of the Supabase project, which its gateway wants beside `supabase_search_key`",
        default="",
        where="search",
    )
    turbopuffer_api_key: str = _member("the key for turbopuffer", default="", where="both")
    supabase_publishable_key: str = _member(
        "the publishable key of the Supabase project, for signing in; without it only admin keys are accepted",
        default="",
        where="both",
    )
    supabase_jwt_secret: str = _member(
        "only for projects that sign users' tokens with a shared secret; without it Supabase's public keys verify them",
        default="",
        where="users",
    )
    previous_jwt_secrets: tuple[str, ...] = _member(
        "list of JWT secrets that are still accepted", default=(), where="users"
    )

    @property
    def confidential(self) -> tuple[str, ...]:
        """The members to redact. Hashes of keys and the publishable key are not confidential."""
        single = self.supabase_service_key, self.supabase_search_key, self.openai_api_key, self.turbopuffer_api_key
        return tuple(filter(None, (*single, *self.jwt_secrets)))

    @property
    def database_key(self) -> str:
        """The key of the database: in `mcp` of a role that may search only, elsewhere of the service."""
        return self.supabase_service_key or self.supabase_search_key

    @property
    def jwt_secrets(self) -> tuple[str, ...]:
        """The accepted secrets of users' tokens; none if Supabase signs with key pairs only."""
        return tuple(filter(None, (self.supabase_jwt_secret, *self.previous_jwt_secrets)))

    @classmethod
    def read(cls, secret: Mapping[str, object], name: str) -> "Secrets":
        """Reads the members; `Misconfigured`, without any value, if one is missing or wrong."""
        # Only `api` reads both.
        searches = "supabase_search_key" in secret
        is_main = "supabase_service_key" in secret or not searches
        needed = {"both": True, "search": searches, "main": is_main, "users": False}
        values: dict[str, Any] = {}
        for member in fields(cls):
            value, is_list = secret.get(member.name), member.type is not str
            # An empty string would match a request without a key.
            texts = value if is_list else [value]
            if isinstance(texts, list) and all(isinstance(text, str) and text for text in texts):
                values[member.name] = tuple(texts) if is_list else value
            elif (is_list and member.name in secret) or (
                member.default is MISSING and needed[member.metadata["where"]]
            ):
                kind = "a list of strings" if is_list else "a string"
                raise Misconfigured(f"The secret {name} has no member {member.name!r} that is {kind}: correct it")
            else:
                values[member.name] = () if is_list else ""
        return cls(**values)


_IN_BOTH = {each.name for each in fields(Secrets) if each.metadata["where"] == "both"}


@dataclass(slots=True)
class NamedSecret:
    """The secret by its name, with members that only `more` secrets have: not every function may read those.

    `on_read` receives the confidential members each time it is read.
    """

    name: str
    clock: Callable[[], float] = time.monotonic
    on_read: Callable[[Iterable[str]], None] = lambda _confidential: None
    more: tuple[str, ...] = ()
    _last_read: float = -_SECONDS_BETWEEN_READS

    def now(self) -> Secrets:
        """Returns its members, at most five minutes old: a rotated key needs no deployment."""
        return self._read(fresh=False)

    def newer(self) -> Secrets:
        """Returns its current members, after a key was rejected. Reads it at most every 30 seconds."""
        if self.clock() - self._last_read < _SECONDS_BETWEEN_READS:
            return self.now()
        self._last_read = self.clock()
        return self._read(fresh=True)

    def _read(self, *, fresh: bool) -> Secrets:
        members: dict[str, object] = {}
        for name in self.more:
            members |= {key: value for key, value in _members(name, fresh=fresh).items() if key not in _IN_BOTH}
        read = Secrets.read(members | _members(self.name, fresh=fresh), self.name)
        self.on_read(read.confidential)
        return read


def _members(name: str, *, fresh: bool) -> dict[str, object]:
    if "secrets" not in DEFAULT_PROVIDERS:
        # Powertools' own provider would wait for a minute, five times.
        DEFAULT_PROVIDERS["secrets"] = parameters.SecretsProvider(boto3_client=client("secretsmanager"))
    try:
        value = parameters.get_secret(name, max_age=_MAX_AGE_SECONDS, force_fetch=fresh, VersionStage=_CURRENT)
    except GetParameterError as error:
        message = f"The secret {name} cannot be read: does it exist, and may this function read it?"
        raise Unavailable(message, vendor="secrets") from error
    try:
        secret = json.loads(value)
    except ValueError:
        secret = None
    if not isinstance(secret, dict):
        raise Misconfigured(f"The secret {name} must be one JSON object")
    return secret


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The valid keys of an endpoint: members of the secret, and `stored` ones, which takes `newer`."""

    secret: NamedSecret
    hashes_of: Callable[[Secrets], Iterable[str]]
    stored: Callable[[bool], Iterable[str]] = lambda _newer: ()

    def hashes(self, *, newer: bool = False) -> Iterable[str]:
        """Returns their hashes, at most five minutes old; with `newer` it reads them again, at a limited rate."""
        return [*self.hashes_of(self.secret.newer() if newer else self.secret.now()), *self.stored(newer)]


def renewed(first: str, now: Callable[[], str]) -> Callable[[], str]:
    """Returns what gives the key that the secret has now; a client was built with the key `first`."""

    def current() -> str:
        try:
            return now() or first
        except SakuinError:
            # If Secrets Manager is unavailable, the first key may still be valid.
            return first

    return current
