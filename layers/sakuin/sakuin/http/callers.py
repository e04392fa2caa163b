"""Who calls about projects: an admin by key, or a person who signed in to Supabase."""

import hmac
from collections.abc import Callable, Iterable, Mapping

from sakuin.errors import Unauthorized
from sakuin.platform.keys import KEY_PREFIX, KeyRing, is_authorized
from sakuin.tables.model import User

# Gives the UUID of a token's user, or raises `Unauthorized`.
UserOf = Callable[[str], str]


_WANTED = "Send the header Authorization: Bearer <admin key, or access token of Supabase Auth>"


def caller_of(headers: Mapping[str, str], keys: KeyRing, user_of: UserOf) -> User | None:
    """The user, None for an admin; `Unauthorized` for everybody else. Header names are lower case."""
    if is_authorized(headers, keys):
        return None
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip() or token.strip().startswith(KEY_PREFIX):
        raise Unauthorized(_WANTED)
    return User(user_of(token.strip()), token.strip())


def check_hook_secret(headers: Mapping[str, str], secrets: Iterable[str]) -> None:
    """`Unauthorized` without one of the webhook's shared secrets; where none is set nobody is let in."""
    given = headers.get("x-sakuin-secret", "").encode()
    if not sum(hmac.compare_digest(given, secret.encode()) for secret in secrets if secret):
        raise Unauthorized("Send the webhook's shared secret in the header x-sakuin-secret")
