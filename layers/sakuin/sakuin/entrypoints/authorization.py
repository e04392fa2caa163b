"""Who may call: the one place where a key is read and judged."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from sakuin.domain.keys import is_key, known_hash

CHALLENGE = {"WWW-Authenticate": 'Bearer realm="sakuin"'}


class KeyRing(Protocol):
    """The keys that open something, as a worker knows them."""

    def hashes(self, *, newer: bool = False) -> Iterable[str]:
        """Returns their hashes, at most some minutes old; `newer` ones are looked up, as often as that is allowed."""


def is_authorized(headers: Mapping[str, str], ring: KeyRing) -> bool:
    """Returns whether the `Authorization` header has a key of the ring. Header names are lower case."""
    return opening_hash(headers, ring) is not None


def opening_hash(headers: Mapping[str, str], ring: KeyRing) -> str | None:
    """Returns the hash of the ring's key that the `Authorization` header has; None if it has none."""
    key = key_of(headers)
    if key is None:
        return None
    found = known_hash(key, ring.hashes())
    # It may have been made after the worker last looked.
    return known_hash(key, ring.hashes(newer=True)) if found is None and is_key(key) else found


def key_of(headers: Mapping[str, str]) -> str | None:
    """Returns the key, or whatever is in its place, of the `Authorization` header; None without one."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() or None if scheme.lower() == "bearer" else None


def challenge(headers: Mapping[str, str]) -> dict[str, str]:
    """Returns the header of a 401: a caller that sent a key learns that this key is not valid (RFC 6750, 3)."""
    if "authorization" not in headers:
        return CHALLENGE
    return {"WWW-Authenticate": f'{CHALLENGE["WWW-Authenticate"]}, error="invalid_token"'}
