"""The functions' secret in AWS Secrets Manager, and clients that use its current keys."""

import json
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from aws_lambda_powertools.utilities import parameters
from aws_lambda_powertools.utilities.parameters.constants import DEFAULT_PROVIDERS
from aws_lambda_powertools.utilities.parameters.exceptions import GetParameterError

from sakuin.errors import Misconfigured, SakuinError, Unavailable
from sakuin.platform.aws import client

if TYPE_CHECKING:
    from httpx2 import Auth

T = TypeVar("T")

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
        "the key of the database role `sakuin_search`, as `sakuin keys database` prints it", where="search"
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

        def required(member: str) -> str:
            value = secret.get(member)
            if isinstance(value, str) and value:
                return value
            raise Misconfigured(f"The secret {name} has no member {member!r}: add it to its JSON object, as a string")

        def optional(member: str) -> str:
            return str(secret.get(member) or "")

        def strings(member: str, what: str, default: object = None) -> tuple[str, ...]:
            value = secret.get(member, default)
            # An empty string would match a request without a key.
            if isinstance(value, list) and all(isinstance(item, str) and item for item in value):
                return tuple(value)
            raise Misconfigured(f"The secret {name} has no member {member!r} that is a list of {what}: correct it")

        searches = "supabase_search_key" in secret
        return cls(
            # Only `api` reads both secrets.
            supabase_service_key=optional("supabase_service_key") if searches else required("supabase_service_key"),
            supabase_search_key=required("supabase_search_key") if searches else "",
            supabase_search_apikey=optional("supabase_search_apikey"),
            openai_api_key=required("openai_api_key"),
            knowledge_key_hashes=strings("knowledge_key_hashes", "hashes", None if searches else []),
            admin_key_hashes=strings("admin_key_hashes", "hashes", None if "supabase_service_key" in secret else []),
            supabase_jwt_secret=optional("supabase_jwt_secret"),
            supabase_publishable_key=optional("supabase_publishable_key"),
            turbopuffer_api_key=optional("turbopuffer_api_key"),
            previous_jwt_secrets=strings("previous_jwt_secrets", "secrets", []),
        )


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


@dataclass(slots=True)
class RenewedKey:
    """The key of a client that was built with the key `first`. `now` returns the current key of the secret."""

    first: str = field(repr=False)
    now: Callable[[], str] = field(repr=False)
    headers: Callable[[str], Mapping[str, str]] = lambda key: {"Authorization": f"Bearer {key}"}

    def set_key(self, request: Any) -> None:
        """Replaces the first key in a request. A request with another key, such as a user's token, is not changed."""
        old = self.headers(self.first)
        if all(request.headers.get(name) == value for name, value in old.items()):
            for name in old:
                del request.headers[name]
            request.headers.update(self.headers(self._current()))

    def before(self, send: Callable[[Any], T]) -> Callable[[Any], T]:
        """Returns `send` with the current key in each request."""

        def sent(request: Any) -> T:
            self.set_key(request)
            return send(request)

        return sent

    def _current(self) -> str:
        try:
            return self.now() or self.first
        except SakuinError:
            # If Secrets Manager is unavailable, the first key may still be valid.
            return self.first


def auth_of(key: RenewedKey) -> "Auth":
    """Returns the key as an `auth` of httpx2."""
    from httpx2 import Auth

    class Renewed(Auth):
        def auth_flow(self, request: Any) -> Generator[Any, Any, None]:
            key.set_key(request)
            yield request

    return Renewed()
