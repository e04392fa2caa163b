"""Keys that open an endpoint: random, prefixed, kept only as hashes."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable

KEY_PREFIX = "sk_sakuin_"
_KEY = re.compile(rf"{KEY_PREFIX}[A-Za-z0-9_-]{{43}}")


def new_key() -> str:
    """Returns a key of 32 random bytes in URL-safe base64, behind a prefix that secret scanners can find."""
    return KEY_PREFIX + secrets.token_urlsafe(32)


def is_key(text: str) -> bool:
    """Returns whether it has the shape of a key that `new_key` makes."""
    return _KEY.fullmatch(text) is not None


def hash_of_key(key: str) -> str:
    """Returns the SHA-256 of the key in hex. A key has 256 random bits, so its hash cannot be searched for."""
    return hashlib.sha256(key.encode()).hexdigest()


def known_hash(key: str, hashes: Iterable[str]) -> str | None:
    """Returns which of the hashes is the key's, None for a wrong key. Every wrong key takes equally long."""
    made = hash_of_key(key)
    # No early exit: the time must not tell which of several keys was nearly right.
    found = [known for known in hashes if hmac.compare_digest(made, known)]
    return found[0] if found else None
