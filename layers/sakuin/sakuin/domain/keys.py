"""Keys that open an endpoint: random, prefixed, kept only as keyed hashes."""

import hashlib
import hmac
import secrets
from collections.abc import Iterable

KEY_PREFIX = "sk_sakuin_"


def new_key() -> str:
    """A key of 32 random bytes in URL-safe base64, behind a prefix that secret scanners can find."""
    return KEY_PREFIX + secrets.token_urlsafe(32)


def hash_of_key(key: str, pepper: str) -> str:
    """HMAC-SHA256 of the key in hex; without the pepper a leaked hash cannot be searched for."""
    return hmac.new(pepper.encode(), key.encode(), hashlib.sha256).hexdigest()


def opens(key: str, hashes: Iterable[str], pepper: str) -> bool:
    """Whether the key is one of those hashed; takes equally long for each wrong key."""
    wanted = hash_of_key(key, pepper)
    # No early exit: the time must not tell which of several keys was nearly right.
    return sum(hmac.compare_digest(wanted, known) for known in hashes) > 0
