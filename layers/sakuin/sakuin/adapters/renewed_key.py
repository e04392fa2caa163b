"""A vendor's key that is exchanged while its client lives: each request bears the one that the secret has now."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sakuin.errors import SakuinError

_REFUSED = {401, 403}


def bearer(key: str) -> Mapping[str, str]:
    """How most vendors want a key."""
    return {"Authorization": f"Bearer {key}"}


@dataclass(slots=True)
class RenewedKey:
    """The key of a client that was built with `bears`.

    `now` gives the key as it was read a while ago, `newer` as the secret has it at this moment; `headers` bear it.
    """

    bears: str = field(repr=False)
    now: Callable[[], str] = field(repr=False)
    newer: Callable[[], str] = field(repr=False)
    headers: Callable[[str], Mapping[str, str]] = bearer

    def flow(self, request: Any) -> Generator[Any, Any, None]:
        """Sends the request with the present key, and once more with a newer one if that was refused."""
        key = self._asked(self.now)
        self._exchange(request, self.bears, key)
        response = yield request
        if response.status_code in _REFUSED and (newer := self._asked(self.newer)) != key:
            self._exchange(request, key, newer)
            yield request

    def _asked(self, ask: Callable[[], str]) -> str:
        try:
            key = ask()
        except SakuinError:
            # Secrets Manager is away: the key of before may well be good still.
            return self.bears
        return key or self.bears

    def _exchange(self, request: Any, old: str, new: str) -> None:
        """Puts one key in the other's place. A request that bears anything else, such as a user's token, stays."""
        borne = self.headers(old)
        if all(request.headers.get(name) == value for name, value in borne.items()):
            for name in borne:
                del request.headers[name]
            request.headers.update(self.headers(new))


def auth_of(auth: type[Any], key: RenewedKey) -> Any:
    """The key as an `auth` of httpx or httpx2: each has a class of its own, and a client takes no other."""

    class Renewed(auth):  # type: ignore[misc]  # which one is not known before
        def auth_flow(self, request: Any) -> Generator[Any, Any, None]:
            return key.flow(request)

    return Renewed()
