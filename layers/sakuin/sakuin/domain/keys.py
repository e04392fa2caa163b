"""Keys that open an endpoint: random, prefixed, kept only as keyed hashes."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

KEY_PREFIX = "sk_sakuin_"
_KEY = re.compile(rf"{KEY_PREFIX}[A-Za-z0-9_-]{{43}}")
# Workers read the secret every five minutes, AWS lets a keeper's clock differ by five, and as much again to spare.
PEPPER_SETTLES = timedelta(minutes=15)


def new_key() -> str:
    """A key of 32 random bytes in URL-safe base64, behind a prefix that secret scanners can find."""
    return KEY_PREFIX + secrets.token_urlsafe(32)


def is_key(text: str) -> bool:
    """Whether it has the shape of a key that `new_key` makes."""
    return _KEY.fullmatch(text) is not None


def hash_of_key(key: str, pepper: str) -> str:
    """HMAC-SHA256 of the key in hex; without the pepper a leaked hash cannot be searched for."""
    return hmac.new(pepper.encode(), key.encode(), hashlib.sha256).hexdigest()


def known_hash(key: str, hashes: Iterable[str], peppers: Sequence[str]) -> str | None:
    """Which of the hashes is the key's, made with one of the peppers; None for a wrong key.

    It takes equally long for each wrong key.
    """
    made = [hash_of_key(key, pepper) for pepper in peppers]
    # No early exit: the time must not tell which of several keys was nearly right.
    found = [known for known in hashes for one in made if hmac.compare_digest(one, known)]
    return found[0] if found else None


def is_settled(since: datetime | None, now: datetime) -> bool:
    """Whether every worker knows the pepper that is there `since` then; None: since ever."""
    return since is None or now - since >= PEPPER_SETTLES
