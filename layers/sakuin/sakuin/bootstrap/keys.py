"""The keys that open a function, as the secret has them now."""

from collections.abc import Callable, Iterable
from functools import partial

from sakuin.adapters.secrets_manager import secrets_named
from sakuin.entrypoints.authorization import KeyRing
from sakuin.settings import Secrets


def key_ring(secret_name: str, hashes: Callable[[Secrets], Iterable[str]]) -> KeyRing:
    """The keys as the secret has them now: it is asked again from time to time."""
    now = partial(secrets_named, secret_name)
    return lambda: (hashes(now()), now().key_peppers)
