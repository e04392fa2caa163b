"""The start of a function: garbage collection, modules loaded ahead, and snapshots."""

import gc
import json
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aws_lambda_powertools.utilities import parameters
from sakuin.platform.aws import Handler
from sakuin.platform.secrets import NamedSecret
from sakuin.wiring.clients import starts_ahead
from sakuin.wiring.handlers import restorable, without_gc

from tests.contracts.scripted_server import Said, ScriptedServer, scripted_server


class Node:
    def __init__(self) -> None:
        self.itself = self


def test_the_collector_is_off_during_a_start_only_also_one_that_fails() -> None:
    @without_gc
    def fails() -> None:
        raise RuntimeError("no secret")

    assert without_gc(gc.isenabled)() is False
    with pytest.raises(RuntimeError, match="no secret"):
        fails()
    assert gc.isenabled()


def test_what_is_made_after_a_start_is_collected() -> None:
    without_gc(Node)()
    later = weakref.ref(Node())
    gc.collect()
    assert later() is None


@pytest.mark.parametrize(
    ("kind", "ahead"), [("on-demand", False), ("provisioned-concurrency", True), ("snap-start", True)]
)
def test_snapshots_and_provisioned_workers_start_ahead(kind: str, ahead: bool) -> None:
    assert starts_ahead({"AWS_LAMBDA_INITIALIZATION_TYPE": kind}) is ahead
    assert starts_ahead({}) is False


SECRET = (
    '{"supabase_service_key": "KEY", "openai_api_key": "o", "key_pepper": "p", '
    '"knowledge_key_hashes": [], "admin_key_hashes": []}'
)


class Connection:
    """A connection that must not be used after a restore."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.dead = False

    def handle(self, _event: dict[str, Any], _context: Any) -> dict[str, Any]:
        if self.dead:
            raise ConnectionError("the other end has forgotten this connection")
        return {"key": self.key}


def answer(key: str) -> Said:
    """Returns the answer of Secrets Manager with this key in the secret."""
    return Said(body=json.dumps({"Name": "sakuin/test", "SecretString": SECRET.replace("KEY", key)}).encode())


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """A Secrets Manager on a free port, where boto3 looks for it."""
    with scripted_server(answer("first")) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SECRETS_MANAGER", server.url)
        for name in ("AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "us-east-1")
        yield server
    # Powertools keeps what it read for the next caller.
    parameters.clear_caches()


def test_a_restored_worker_has_a_new_connection_and_the_rotated_key(secrets: ScriptedServer) -> None:
    made: list[Connection] = []
    hooks: list[Callable[[], None]] = []

    def build() -> Handler:
        made.append(Connection(NamedSecret("sakuin/test").now().supabase_service_key))
        return made[-1].handle

    handler = restorable(build, hooks.append)
    assert handler({}, None) == {"key": "first"}
    assert NamedSecret("sakuin/test").now().supabase_service_key == "first"
    assert len(secrets.asked) == 1

    # The snapshot sleeps: its connections die, and the key is rotated.
    made[-1].dead = True
    secrets.answers = [answer("second")]
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
