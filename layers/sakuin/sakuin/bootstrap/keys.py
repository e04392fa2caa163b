"""The keys that open a function, as the secret has them now."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sakuin.adapters.secrets_manager import NamedSecret
from sakuin.settings import Secrets


@dataclass(frozen=True, slots=True)
class SecretKeys:
    """A `KeyRing`: the secret is read again from time to time, and for `newer` keys at once."""

    secret: NamedSecret
    hashes_of: Callable[[Secrets], Iterable[str]]

    def hashes(self, *, newer: bool = False) -> Iterable[str]:
        return self.hashes_of(self.secret.newer() if newer else self.secret.now())
