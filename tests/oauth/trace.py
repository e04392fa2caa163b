"""What an agent, the browser of a person and the console said to whom, readable and without secrets."""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

# Never written down: a trace says which one it was.
SECRETS = {
    **{"access_token": "access token", "refresh_token": "refresh token", "client_secret": "client secret"},
    **{"code": "code", "code_verifier": "verifier", "code_challenge": "challenge", "state": "state"},
    **{"password": "password", "csrf": "csrf", "id_token": "id token", "nonce": "nonce", "key": "key"},
}
_LONGEST = 110


@dataclass
class Trace:
    """Exchanges in the order of their beginnings, one block of lines each."""

    blocks: list[str] = field(default_factory=list)
    _numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self) -> int:
        """Returns the place of a request that has started: what it causes comes after it."""
        with self._lock:
            self.blocks.append("")
            return len(self.blocks) - 1

    def note(
        self,
        at: int,
        where: str,
        line: tuple[str, str],
        asked: tuple[Mapping[str, str], bytes],
        answered: tuple[int, Mapping[str, str], bytes],
    ) -> None:
        """Notes a request: method and target, headers in lower case, and body; and its answer."""
        with self._lock:
            (method, target), (headers, body), (status, answer_headers, answer) = line, asked, answered
            said = [*self._bearer(headers), *self._body(body)]
            got = [*self._headers(answer_headers), *self._body(answer)]
            heading = f"{at + 1}. {_who(headers, target)} -> {where}: {method} {self._address(target)}"
            lines = [heading, *(f"     {each}" for each in said)]
            self.blocks[at] = "\n".join([*lines, f"   <- {status}", *(f"     {each}" for each in got)])

    def clear(self) -> None:
        """Forgets everything."""
        with self._lock:
            self.blocks.clear()
            self._numbers.clear()

    def secrets(self, *kinds: str) -> list[str]:
        """Returns the secrets of these kinds that the trace only numbers."""
        return [value for kind, value in self._numbers if kind in kinds]

    def text(self) -> str:
        """Returns all of it."""
        return "\n".join(self.blocks) + "\n"

    def _bearer(self, headers: Mapping[str, str]) -> list[str]:
        kind, _, token = headers.get("authorization", "").partition(" ")
        # The gateway's own key is in this header, too, while nobody is signed in.
        what = "access token" if kind == "Bearer" else "client id and secret"
        return [f"Authorization: {kind} {self._secret(what, token)}"] if token else []

    def _headers(self, headers: Mapping[str, str]) -> list[str]:
        shown = ("www-authenticate", "x-amzn-remapped-www-authenticate", "location", "x-sb-error-code")
        return [
            f"{name}: {self._address(headers[name]) if name == 'location' else headers[name]}"
            for name in shown
            if name in headers
        ]

    def _body(self, body: bytes) -> list[str]:
        text = body.decode(errors="replace")
        if text.startswith("{"):
            members = json.loads(text)
            if "jsonrpc" in members:
                return [_shortened(json.dumps(members, ensure_ascii=False))]
        elif "=" in text and "\n" not in text and not text.startswith("<"):
            members = dict(parse_qsl(text))
        else:
            return []
        return [f"{name}: {self._value(name, value)}" for name, value in members.items()]

    def _address(self, address: str) -> str:
        parts = urlsplit(address)
        query = "&".join(f"{name}={self._value(name, value)}" for name, value in parse_qsl(parts.query))
        return parts._replace(query="").geturl() + (f"?{query}" if query else "")

    def _value(self, name: str, value: Any) -> str:
        # An error has a code, too.
        if name in SECRETS and (name != "code" or len(str(value)) > 30):
            return self._secret(SECRETS[name], str(value))
        if name == "redirect_url":
            return self._address(value)
        return _shortened(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))

    def _secret(self, what: str, value: str) -> str:
        number = self._numbers.setdefault((what, value), sum(kind == what for kind, _ in self._numbers) + 1)
        return f"<{what} {number}>"


def _who(headers: Mapping[str, str], target: str) -> str:
    if "apikey" in headers:
        return "console"
    if target.endswith("/jwks.json"):
        return "Sakuin"
    return "person" if "mozilla" in headers.get("user-agent", "").lower() else "agent"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


@dataclass(frozen=True, slots=True)
class Traced:
    """An ASGI application whose requests are noted."""

    inner: Any
    place: str
    trace: Trace

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        at = self.trace.begin()
        body, answer, started = b"", b"", {"status": 0, "headers": []}

        async def read() -> Any:
            nonlocal body
            message = await receive()
            body += message.get("body", b"")
            return message

        async def write(message: Any) -> None:
            nonlocal answer
            if message["type"] == "http.response.start":
                started.update(message)
            answer += message.get("body", b"")
            await send(message)

        await self.inner(scope, read, write)
        target = scope["path"] + (f"?{scope['query_string'].decode()}" if scope["query_string"] else "")
        asked, answered = _texts(scope["headers"]), _texts(started["headers"])
        answer_of = int(str(started["status"])), answered, answer
        self.trace.note(at, self.place, (scope["method"], target), (asked, body), answer_of)


def _texts(headers: Any) -> dict[str, str]:
    return {name.decode().lower(): value.decode() for name, value in headers}
