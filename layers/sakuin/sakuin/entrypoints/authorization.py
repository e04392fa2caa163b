"""Who may call: the one place where a key is read and judged."""

from collections.abc import Callable, Iterable, Mapping

from sakuin.domain.keys import opens

# Gives the hashes of the keys that open an endpoint, and the pepper they were made with.
KeyRing = Callable[[], tuple[Iterable[str], str]]

CHALLENGE = {"WWW-Authenticate": 'Bearer realm="sakuin"'}


def is_authorized(headers: Mapping[str, str], ring: KeyRing) -> bool:
    """Whether the `Authorization` header bears a key of the ring. Header names are lower case."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    hashes, pepper = ring()
    return scheme.lower() == "bearer" and opens(key.strip(), hashes, pepper)
