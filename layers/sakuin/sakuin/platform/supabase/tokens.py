"""Projects and what they hold, and how their changes travel."""

import json
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import httpx
import jwt

from sakuin.errors import Unauthorized, Unavailable

_AUDIENCE = "authenticated"

# Pinned: a token must not choose how it is verified, least of all a public key as an HMAC secret.
_SECRET_ALGORITHMS = ["HS256"]

_PUBLIC_ALGORITHMS = ["ES256", "RS256", "EdDSA"]

_LEEWAY_SECONDS = 10

# A person waits: so long for all of it, and as long again for its last byte at most.
_TIMEOUT_SECONDS = 5.0

# A handful of keys has two or three kilobytes.
_LONGEST = 100_000

# A new key is known after so long.
_SECONDS_BETWEEN_READS = 30

# Nobody who sends tokens of his own making has Supabase asked each time.
_SECONDS_AFTER_A_PROBLEM = 5

_REFUSED = "The token is wrong or too old. Sign in again"


@dataclass(frozen=True, slots=True)
class UserTokens:
    """The tokens of people who signed in.

    Without `secrets`, asked for each time, no token that is signed with one is taken.
    """

    keys: jwt.PyJWKClient = field(repr=False)
    secrets: Callable[[], Sequence[str]] = field(repr=False, default=tuple)

    def user_of(self, token: str) -> str:
        """The UUID of the user; a token that is wrong, too old or made for others is `Unauthorized`."""
        try:
            claims = self._claims(token)
            if claims["role"] != _AUDIENCE:
                raise Unauthorized(_REFUSED)
            return str(UUID(claims["sub"]))
        except jwt.PyJWKClientConnectionError as error:
            raise Unavailable("Supabase's public keys could not be read", vendor="supabase") from error
        except (jwt.PyJWTError, ValueError, TypeError, AttributeError) as error:
            raise Unauthorized(_REFUSED) from error

    def _claims(self, token: str) -> dict[str, Any]:
        if jwt.get_unverified_header(token).get("alg") not in _SECRET_ALGORITHMS:
            return _verified(token, self.keys.get_signing_key_from_jwt(token), _PUBLIC_ALGORITHMS)
        for secret in self.secrets():
            with suppress(jwt.InvalidSignatureError):
                return _verified(token, secret, _SECRET_ALGORITHMS)
        raise Unauthorized(_REFUSED)


def _verified(token: str, key: str | jwt.PyJWK, algorithms: list[str]) -> dict[str, Any]:
    return jwt.decode(
        token,
        key,
        algorithms=algorithms,
        audience=_AUDIENCE,
        leeway=_LEEWAY_SECONDS,
        options={"require": ["exp", "aud", "sub", "role"]},
    )


def tokens_of(supabase_url: str, secrets: Callable[[], Sequence[str]] = tuple) -> UserTokens:
    """The tokens of a Supabase project; its public keys are read when the first token needs them, and kept."""
    url = f"{supabase_url.rstrip('/')}/auth/v1/.well-known/jwks.json"
    return UserTokens(PublishedKeys(url, cache_keys=True, timeout=_TIMEOUT_SECONDS), secrets)


class PublishedKeys(jwt.PyJWKClient):
    """Supabase's public keys. A name that is not among them has them read again, but not each time somebody makes
    one up. What is no set of keys, or one without a key that can be used, counts as no answer; an empty one is an
    answer: projects that sign with their secret publish that."""

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
    """The body of a good answer that is whole in time. No redirect is followed: keys from elsewhere are another's."""
    deadline = now() + seconds
    body = b""
    try:
        # As it was sent: nobody unpacks a bomb.
        with httpx.stream("GET", url, timeout=seconds, headers={"Accept-Encoding": "identity"}) as answer:
            if answer.status_code != httpx.codes.OK:
                raise jwt.PyJWKClientConnectionError(f"the answer was {answer.status_code}")
            for part in answer.iter_raw():
                body += part
                if len(body) > _LONGEST or now() > deadline:
                    raise jwt.PyJWKClientConnectionError(f"no end after {len(body)} bytes")
    except httpx.HTTPError as error:
        raise jwt.PyJWKClientConnectionError("no answer") from error
    return body


def _keys(body: bytes) -> jwt.PyJWKSet:
    """What is published, of which one key at least can be used."""
    try:
        said = json.loads(body)
        published = said["keys"]
        if published == []:
            raise jwt.PyJWKClientError("no public key is published")
        keys = jwt.PyJWKSet.from_dict(said)
        if not any(map(_can_verify, keys)):
            raise ValueError("none of the keys verifies a signature")
        return keys
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, jwt.PyJWKSetError) as error:
        raise jwt.PyJWKClientConnectionError("what was published are no keys that can be used") from error


def _can_verify(key: jwt.PyJWK) -> bool:
    return bool(key.key_id) and key.public_key_use in ("sig", None) and key.algorithm_name in _PUBLIC_ALGORITHMS
