"""Workers restored from a snapshot."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from aws_lambda_powertools.utilities import parameters
from sakuin.platform.secrets_manager import secrets_named
from sakuin.wiring.starting import Handler, restorable

SECRET = (
    '{"supabase_service_key": "KEY", "openai_api_key": "o", "key_pepper": "p", '
    '"knowledge_key_hashes": [], "admin_key_hashes": []}'
)


class Connection:
    """What may not be used again after a restore; it is as old as the process that made it."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.dead = False

    def handle(self, _event: dict[str, Any], _context: Any) -> dict[str, Any]:
        if self.dead:
            raise ConnectionError("the other end has forgotten this connection")
        return {"key": self.key}


class SecretsManager:
    """What AWS's answers, with one secret whose key somebody rotates."""

    def __init__(self) -> None:
        self.key = "first"
        self.asked = 0


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> Iterator[SecretsManager]:
    """On a free port, where boto3 looks for it."""
    manager = SecretsManager()

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            manager.asked += 1
            self.rfile.read(int(self.headers["Content-Length"]))
            body = json.dumps({"Name": "sakuin/test", "SecretString": SECRET.replace("KEY", manager.key)}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL_SECRETS_MANAGER", f"http://127.0.0.1:{server.server_address[1]}")
        for name in ("AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "us-east-1")
        yield manager
        server.shutdown()
    # Powertools keeps what it read for the next caller.
    parameters.clear_caches()


def test_a_restored_worker_has_a_new_connection_and_the_rotated_key(secrets: SecretsManager) -> None:
    made: list[Connection] = []
    hooks: list[Callable[[], None]] = []

    def build() -> Handler:
        made.append(Connection(secrets_named("sakuin/test").supabase_service_key))
        return made[-1].handle

    handler = restorable(build, hooks.append)
    assert handler({}, None) == {"key": "first"}
    assert secrets_named("sakuin/test").supabase_service_key == "first"
    assert secrets.asked == 1

    # The snapshot sleeps: its connections die, and the key is rotated.
    made[-1].dead = True
    secrets.key = "second"
    (restored,) = hooks
    restored()

    assert handler({}, None) == {"key": "second"}
    assert len(made) == 2


def test_a_worker_that_was_never_restored_is_built_once() -> None:
    built: list[int] = []

    def build() -> Handler:
        built.append(1)
        return lambda event, _context: event

    handler = restorable(build)
    assert handler({"a": 1}, None) == {"a": 1}
    assert built == [1]
