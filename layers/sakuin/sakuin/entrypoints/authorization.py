"""Who may call: the one place where a key is read and judged."""

from collections.abc import Callable, Iterable, Mapping

from sakuin.domain.keys import hash_of_key, opens

# Gives the hashes of the keys that open an endpoint, and the pepper they were made with.
KeyRing = Callable[[], tuple[Iterable[str], str]]

CHALLENGE = {"WWW-Authenticate": 'Bearer realm="sakuin"'}


def is_authorized(headers: Mapping[str, str], ring: KeyRing) -> bool:
    """Whether the `Authorization` header bears a key of the ring. Header names are lower case."""
    return opening_hash(headers, ring) is not None


def opening_hash(headers: Mapping[str, str], ring: KeyRing) -> str | None:
    """The hash of the ring's key that the `Authorization` header bears; None when it bears none."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    hashes, pepper = ring()
    if scheme.lower() != "bearer" or not opens(key.strip(), hashes, pepper):
        return None
    return hash_of_key(key.strip(), pepper)


def challenge(headers: Mapping[str, str]) -> dict[str, str]:
    """What a 401 says: a caller that sent a key learns that this one is no good (RFC 6750, 3)."""
    if "authorization" not in headers:
        return CHALLENGE
    return {"WWW-Authenticate": f'{CHALLENGE["WWW-Authenticate"]}, error="invalid_token"'}
