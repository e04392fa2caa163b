"""Who may call: the one place where a key is read and judged."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from sakuin.domain.keys import is_key, known_hash


class KeyRing(Protocol):
    """What a worker knows of keys."""

    def __call__(self, *, newer: bool = False) -> tuple[Iterable[str], Sequence[str]]:
        """The hashes of the keys that open something, and the peppers they may be made with, the present one first.

        They may be some minutes old; `newer` ones are looked up, as often as that is allowed.
        """


CHALLENGE = {"WWW-Authenticate": 'Bearer realm="sakuin"'}


def is_authorized(headers: Mapping[str, str], ring: KeyRing) -> bool:
    """Whether the `Authorization` header bears a key of the ring. Header names are lower case."""
    return opening_hash(headers, ring) is not None


def opening_hash(headers: Mapping[str, str], ring: KeyRing) -> str | None:
    """The hash of the ring's key that the `Authorization` header bears; None when it bears none."""
    key = borne_key(headers)
    if key is None:
        return None
    found = known_hash(key, *ring())
    # It may have been made after the worker last looked.
    return known_hash(key, *ring(newer=True)) if found is None and is_key(key) else found


def opening_hash_among(key: str, hashes: Sequence[str], ring: KeyRing) -> str | None:
    """The same of a key whose hash is not the ring's, but one of these."""
    found = known_hash(key, hashes, ring()[1])
    return known_hash(key, hashes, ring(newer=True)[1]) if found is None and hashes and is_key(key) else found


def borne_key(headers: Mapping[str, str]) -> str | None:
    """The key, or whatever stands in its place, of the `Authorization` header; None without one."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() or None if scheme.lower() == "bearer" else None


def challenge(headers: Mapping[str, str]) -> dict[str, str]:
    """What a 401 says: a caller that sent a key learns that this one is no good (RFC 6750, 3)."""
    if "authorization" not in headers:
        return CHALLENGE
    return {"WWW-Authenticate": f'{CHALLENGE["WWW-Authenticate"]}, error="invalid_token"'}
