"""The tokens of Supabase Auth: signed with the project's secret, or with a key whose public half it publishes."""

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
_REFUSED = "The token is wrong or too old. Sign in again"


@dataclass(frozen=True, slots=True)
class SupabaseTokens:
    """A `UserTokens`. Without `secret` no token that is signed with one is taken."""

    keys: jwt.PyJWKClient = field(repr=False)
    secret: str = field(repr=False, default="")

    def user_of(self, token: str) -> str:
        try:
            claims = self._claims(token)
            if claims.get("role", _AUDIENCE) != _AUDIENCE:
                raise Unauthorized(_REFUSED)
            return str(UUID(claims["sub"]))
        except jwt.PyJWKClientConnectionError as error:
            raise Unavailable("Supabase's public keys could not be read") from error
        except (jwt.PyJWTError, ValueError, TypeError, AttributeError) as error:
            raise Unauthorized(_REFUSED) from error

    def _claims(self, token: str) -> dict[str, Any]:
        by_secret = jwt.get_unverified_header(token).get("alg") in _SECRET_ALGORITHMS
        if by_secret and not self.secret:
            raise Unauthorized(_REFUSED)
        return jwt.decode(
            token,
            self.secret if by_secret else self.keys.get_signing_key_from_jwt(token),
            algorithms=_SECRET_ALGORITHMS if by_secret else _PUBLIC_ALGORITHMS,
            audience=_AUDIENCE,
            leeway=_LEEWAY_SECONDS,
            options={"require": ["exp", "aud", "sub"]},
        )


def tokens_of(supabase_url: str, secret: str = "") -> SupabaseTokens:
    """The tokens of a Supabase project; its public keys are read when the first token needs them, and kept."""
    url = f"{supabase_url.rstrip('/')}/auth/v1/.well-known/jwks.json"
    return SupabaseTokens(jwt.PyJWKClient(url, cache_keys=True, timeout=_TIMEOUT_SECONDS), secret)
