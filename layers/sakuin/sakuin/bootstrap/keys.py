"""The keys that open a function, as the secret has them now."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime

from sakuin.adapters.secrets_manager import NamedSecret
from sakuin.domain.keys import is_settled
from sakuin.entrypoints.authorization import KeyRing
from sakuin.settings import Secrets


def key_ring(secret: NamedSecret, hashes: Callable[[Secrets], Iterable[str]]) -> KeyRing:
    """The keys as the secret has them: it is asked again from time to time, and for `newer` ones at once."""

    def ring(*, newer: bool = False) -> tuple[Iterable[str], Sequence[str]]:
        now = secret.newer() if newer else secret.now()
        return hashes(now), now.key_peppers

    return ring


def has_settled(secrets: Secrets) -> bool:
    """Whether no worker can be left that does not know the present pepper."""
    return is_settled(secrets.key_pepper_since, datetime.now(UTC))


def lasting_pepper(secrets: Secrets) -> str:
    """What a new key is hashed with: a pepper that every worker knows already."""
    present, *previous = secrets.key_peppers
    return previous[0] if previous and not has_settled(secrets) else present
