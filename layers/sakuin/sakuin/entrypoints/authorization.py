"""Who may call: the one place where a key is read and judged."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from sakuin.domain.keys import known_hash

# Gives the hashes of the keys that open an endpoint, and the peppers they may be made with.
KeyRing = Callable[[], tuple[Iterable[str], Sequence[str]]]

CHALLENGE = {"WWW-Authenticate": 'Bearer realm="sakuin"'}


def is_authorized(headers: Mapping[str, str], ring: KeyRing) -> bool:
    """Whether the `Authorization` header bears a key of the ring. Header names are lower case."""
    return opening_hash(headers, ring) is not None


def opening_hash(headers: Mapping[str, str], ring: KeyRing) -> str | None:
    """The hash of the ring's key that the `Authorization` header bears; None when it bears none."""
    key = borne_key(headers)
    if key is None:
        return None
    hashes, peppers = ring()
    return known_hash(key, hashes, peppers)


def borne_key(headers: Mapping[str, str]) -> str | None:
    """The key, or whatever stands in its place, of the `Authorization` header; None without one."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() or None if scheme.lower() == "bearer" else None


def challenge(headers: Mapping[str, str]) -> dict[str, str]:
    """What a 401 says: a caller that sent a key learns that this one is no good (RFC 6750, 3)."""
    if "authorization" not in headers:
        return CHALLENGE
    return {"WWW-Authenticate": f'{CHALLENGE["WWW-Authenticate"]}, error="invalid_token"'}
