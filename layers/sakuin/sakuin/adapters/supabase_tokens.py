"""The tokens of Supabase Auth: signed with the project's secret, or with a key whose public half it publishes."""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import jwt

from sakuin.errors import Unauthorized, Unavailable

_AUDIENCE = "authenticated"
# Pinned: a token must not choose how it is verified, least of all a public key as an HMAC secret.
_SECRET_ALGORITHMS = ["HS256"]
_PUBLIC_ALGORITHMS = ["ES256", "RS256", "EdDSA"]
_LEEWAY_SECONDS = 10
_TIMEOUT_SECONDS = 5
# A new key is known after so long.
_SECONDS_BETWEEN_READS = 30
_REFUSED = "The token is wrong or too old. Sign in again"


@dataclass(frozen=True, slots=True)
class SupabaseTokens:
    """A `UserTokens`. Without `secrets`, asked for each time, no token that is signed with one is taken."""

    keys: jwt.PyJWKClient = field(repr=False)
    secrets: Callable[[], Sequence[str]] = field(repr=False, default=tuple)

    def user_of(self, token: str) -> str:
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


def tokens_of(supabase_url: str, secrets: Callable[[], Sequence[str]] = tuple) -> SupabaseTokens:
    """The tokens of a Supabase project; its public keys are read when the first token needs them, and kept."""
    url = f"{supabase_url.rstrip('/')}/auth/v1/.well-known/jwks.json"
    return SupabaseTokens(PublishedKeys(url, cache_keys=True, timeout=_TIMEOUT_SECONDS), secrets)


class PublishedKeys(jwt.PyJWKClient):
    """Supabase's public keys. A name that is not among them has them read again, but not each time somebody makes
    one up."""

    _read_at = -math.inf

    def get_jwk_set(self, refresh: bool = False) -> jwt.PyJWKSet:
        return super().get_jwk_set(refresh and time.monotonic() - self._read_at > _SECONDS_BETWEEN_READS)

    def fetch_data(self) -> Any:
        self._read_at = time.monotonic()
        return super().fetch_data()
