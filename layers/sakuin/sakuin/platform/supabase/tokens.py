"""Access tokens of Supabase Auth, and the public keys that verify them."""

import json
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import httpx2
import jwt

from sakuin.errors import InsufficientScope, Unauthorized, Unavailable
from sakuin.platform.supabase.client import Client, call
from sakuin.platform.supabase.sign_in import issuer_of

_AUDIENCE = "authenticated"
# Fixed, so that a token cannot choose its verification, for example a public key as an HMAC secret.
_SECRET_ALGORITHMS = ["HS256"]
_PUBLIC_ALGORITHMS = ["ES256", "RS256", "EdDSA"]
_LEEWAY_SECONDS = 10
# For the whole answer, and for each of its parts.
_TIMEOUT_SECONDS = 5.0
# A set of keys has two or three kilobytes.
_LONGEST = 100_000
# A new key is known after so long.
_SECONDS_BETWEEN_READS = 30
# Forged tokens must not cause a request to Supabase each.
_SECONDS_AFTER_A_PROBLEM = 5
_REFUSED = "The key or token is not valid, or it has expired. Use another key, or sign in again"
_ONLY_SEARCHES = "This token was given to an agent, which may only search. Sign in yourself, or use an admin key"


@dataclass(frozen=True, slots=True)
class UserTokens:
    """Access tokens of users. Without `secrets`, which are read each time, only key pairs verify tokens.

    Supabase Auth gives every access token the same audience, also if a client names a resource (RFC 8707). What is
    checked instead: the signature by the project's own keys, the issuer, the audience and the role of its users.
    Anonymous users are nobody, and so is who has only the password of an account with a second factor (`aal1`), as
    `has_second_factor` tells.
    """

    keys: jwt.PyJWKClient = field(repr=False)
    issuer: str
    secrets: Callable[[], Sequence[str]] = field(repr=False, default=tuple)
    has_second_factor: Callable[[str], bool] = lambda _user: False

    def user_of(self, token: str) -> str:
        """Returns the UUID of a user who signed in himself; `InsufficientScope` for a token of an agent.

        `Unauthorized` for a token that is invalid, expired or for others.
        """
        user, is_agent = self._read(token)
        if is_agent:
            raise InsufficientScope(_ONLY_SEARCHES)
        return user

    def searcher_of(self, token: str) -> str:
        """Returns the UUID of the user for whom the token's holder may search, an agent too; else `Unauthorized`."""
        return self._read(token)[0]

    def _read(self, token: str) -> tuple[str, bool]:
        """Returns the UUID of the token's user, and whether an agent got the token through OAuth."""
        try:
            claims = self._claims(token)
            if claims["role"] != _AUDIENCE or claims.get("is_anonymous") is True:
                raise Unauthorized(_REFUSED)
            # Any value: what is not a session of the user himself must not pass as one.
            user, is_agent = str(UUID(claims["sub"])), "client_id" in claims
        except jwt.PyJWKClientConnectionError as error:
            raise Unavailable("Supabase's public keys could not be read", vendor="supabase") from error
        except (jwt.PyJWTError, ValueError, TypeError, AttributeError) as error:
            raise Unauthorized(_REFUSED) from error
        # Supabase Auth gives agents no second factor: the user gave it when he allowed the agent.
        if claims.get("aal") != "aal2" and not is_agent and self.has_second_factor(user):
            raise Unauthorized("This account has a second factor. Sign in with it")
        return user, is_agent

    def _claims(self, token: str) -> dict[str, Any]:
        if jwt.get_unverified_header(token).get("alg") not in _SECRET_ALGORITHMS:
            return self._verified(token, self.keys.get_signing_key_from_jwt(token), _PUBLIC_ALGORITHMS)
        for secret in self.secrets():
            with suppress(jwt.InvalidSignatureError):
                return self._verified(token, secret, _SECRET_ALGORITHMS)
        raise Unauthorized(_REFUSED)

    def _verified(self, token: str, key: str | jwt.PyJWK, algorithms: list[str]) -> dict[str, Any]:
        return jwt.decode(
            token,
            key,
            algorithms=algorithms,
            audience=_AUDIENCE,
            issuer=self.issuer,
            leeway=_LEEWAY_SECONDS,
            options={"require": ["exp", "iss", "aud", "sub", "role"]},
        )


def tokens_of(
    supabase_url: str, secrets: Callable[[], Sequence[str]] = tuple, client: Client | None = None
) -> UserTokens:
    """Returns the tokens of a Supabase project. The first token reads its public keys, which are cached.

    `client` reads from the database whether an account has a second factor.
    """

    def has_second_factor(user: str) -> bool:
        return client is not None and bool(call(client, "has_second_factor", {"p_user": user}))

    issuer = issuer_of(supabase_url)
    keys = PublishedKeys(f"{issuer}/.well-known/jwks.json", cache_keys=True, timeout=_TIMEOUT_SECONDS)
    return UserTokens(keys, issuer, secrets, has_second_factor)


class PublishedKeys(jwt.PyJWKClient):
    """Supabase's public keys. An unknown key id causes another read, at a limited rate.

    An answer without usable keys counts as no answer. An empty set is an answer: it is what projects publish that sign
    with their secret.
    """

    _now = staticmethod(time.monotonic)
    _read_at = -math.inf
    _problem: jwt.PyJWKClientError | None = None

    def get_jwk_set(self, refresh: bool = False) -> jwt.PyJWKSet:
        return super().get_jwk_set(refresh and self._now() - self._read_at > _SECONDS_BETWEEN_READS)

    def fetch_data(self) -> Any:
        if self._problem and self._now() - self._read_at < _SECONDS_AFTER_A_PROBLEM:
            raise self._problem.with_traceback(None)
        self._read_at, self._problem = self._now(), None
        try:
            return _keys(_answer(self.uri, self.timeout, self._now))
        except jwt.PyJWKClientError as error:
            self._problem = error
            raise


def _answer(url: str, seconds: float, now: Callable[[], float]) -> bytes:
    """Returns the body of a successful answer that is complete in time. Redirects are errors: keys of another host."""
    deadline = now() + seconds
    body = b""
    try:
        # Without compression, against decompression bombs.
        with httpx2.stream("GET", url, timeout=seconds, headers={"Accept-Encoding": "identity"}) as answer:
            if answer.status_code != httpx2.codes.OK:
                raise jwt.PyJWKClientConnectionError(f"the answer was {answer.status_code}")
            for part in answer.iter_raw():
                body += part
                if len(body) > _LONGEST or now() > deadline:
                    raise jwt.PyJWKClientConnectionError(f"incomplete after {len(body)} bytes")
    except httpx2.HTTPError as error:
        raise jwt.PyJWKClientConnectionError("no answer") from error
    return body


def _keys(body: bytes) -> jwt.PyJWKSet:
    """Returns the published keys, at least one of them usable."""
    try:
        published = json.loads(body)
        if published["keys"] == []:
            raise jwt.PyJWKClientError("no public key is published")
        keys = jwt.PyJWKSet.from_dict(published)
        if not any(map(_can_verify, keys)):
            raise ValueError("none of the keys verifies a signature")
        return keys
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, jwt.PyJWKSetError) as error:
        raise jwt.PyJWKClientConnectionError("no usable key is published") from error


def _can_verify(key: jwt.PyJWK) -> bool:
    return bool(key.key_id) and key.public_key_use in ("sig", None) and key.algorithm_name in _PUBLIC_ALGORITHMS
