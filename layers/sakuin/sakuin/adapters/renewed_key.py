"""A vendor's key that is replaced while its client lives: each request carries the key that the secret has now."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sakuin.errors import SakuinError


def bearer(key: str) -> Mapping[str, str]:
    """The headers in which most vendors want a key."""
    return {"Authorization": f"Bearer {key}"}


@dataclass(slots=True)
class RenewedKey:
    """The key of a client that was built with `first`. `now` reads the secret, which is minutes old at most."""

    first: str = field(repr=False)
    now: Callable[[], str] = field(repr=False)
    headers: Callable[[str], Mapping[str, str]] = bearer

    def set_key(self, request: Any) -> None:
        """Puts the present key into a request. A request with another key, such as a user's token, stays as it is."""
        old = self.headers(self.first)
        if all(request.headers.get(name) == value for name, value in old.items()):
            for name in old:
                del request.headers[name]
            request.headers.update(self.headers(self._present()))

    def _present(self) -> str:
        try:
            return self.now() or self.first
        except SakuinError:
            # Secrets Manager is away: the first key may well be valid still.
            return self.first


def auth_of(auth: type[Any], key: RenewedKey) -> Any:
    """The key as an `auth` of httpx or httpx2: each has a class of its own, and a client takes no other."""

    class Renewed(auth):  # type: ignore[misc]  # which one is not known before
        def auth_flow(self, request: Any) -> Generator[Any, Any, None]:
            key.set_key(request)
            yield request

    return Renewed()
