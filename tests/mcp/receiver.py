"""A receiver of webhooks: it proves that it wants them, checks their signatures, and answers as a test says."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from standardwebhooks import Webhook, WebhookVerificationError

from tests.contracts.scripted_server import serving


@dataclass
class Receiver:
    """`answers` are the statuses of the next events (0: none at all), then 204. `echo` changes the challenge."""

    secrets: list[str]
    answers: list[int] = field(default_factory=list)
    received: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    challenges: int = 0
    times: dict[str, float] = field(default_factory=dict)
    url: str = ""

    def echo(self, challenge: str) -> object:
        return challenge

    @property
    def events(self) -> list[tuple[str, str]]:
        """The name and the subject of each event that came."""
        return [(each["name"], each["data"]["id"]) for each in self.received if "data" in each]

    def verified(self, body: bytes, headers: dict[str, str]) -> int:
        """Returns how many of the known secrets signed a message."""
        return sum(self._signed_by(secret, body, headers) for secret in self.secrets)

    @staticmethod
    def _signed_by(secret: str, body: bytes, headers: dict[str, str]) -> bool:
        try:
            Webhook(secret).verify(body, headers)
        except WebhookVerificationError:
            return False
        return True


@contextmanager
def receiver(*secrets: str) -> Iterator[Receiver]:
    """Serves a receiver that knows these secrets while the block runs."""
    this = Receiver(list(secrets))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(headers["content-length"]))
            message = json.loads(body)
            self.close_connection = True
            if not this.verified(body, headers):
                self._answer(401)
            elif message.get("type") == "verification":
                this.challenges += 1
                self._answer(200, json.dumps({"challenge": this.echo(message["challenge"])}).encode())
            elif status := this.answers.pop(0) if this.answers else 204:
                this.headers.append(headers)
                if status < 300:
                    this.received.append(message)
                    this.times[message.get("data", {}).get("id", "")] = time.time()
                self._answer(status)

        def _answer(self, status: int, body: bytes = b"") -> None:
            self.send_response(status)
            self.send_header("Location", "http://127.0.0.1:9/")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Logs nothing."""

    with serving(Handler) as url:
        this.url = f"{url}/hook?a=1"
        yield this
