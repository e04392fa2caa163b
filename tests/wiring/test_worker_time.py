"""Workers make no call that might outlast their invocation."""

from typing import Any

import pytest
from sakuin.errors import OutOfTime
from sakuin.knowledge.learns.openai import LEARNS_TIMEOUT
from sakuin.platform.calls import LONGEST_CALL
from sakuin.platform.secrets import Secrets
from sakuin.platform.turbopuffer.client import LONGEST_QUICK_CALL, connected, quick
from sakuin.settings import Settings
from sakuin.wiring.clients import Clients, Telemetry, start_telemetry

from tests.contracts.openai_server import OpenAIServer


@pytest.fixture
def observed() -> Telemetry:
    """Telemetry of a worker with twenty-five seconds left."""
    observed = start_telemetry("Index")
    observed.work.milliseconds_left = lambda: 25_000
    return observed


def test_a_call_that_might_outlast_the_invocation_is_not_made(
    observed: Telemetry, openai: OpenAIServer, environ: dict[str, str], members: dict[str, object]
) -> None:
    settings, secrets = Settings.read(environ | {"LEARNS_MODEL": "gpt"}), Secrets.read(members, "sakuin")
    clients = Clients(settings, secrets, observed)
    model = clients.learns_model()
    assert model is not None
    calls = (
        lambda: clients.indexing_embedder(settings.embedding_model).passages(["a text"]),
        lambda: model.learns(()),
        lambda: clients.chunk_store().delete_namespace("n"),
    )
    for call in calls:
        with pytest.raises(OutOfTime, match="this continues automatically"):
            call()
    assert openai.requests == []
    clients.indexing_embedder(settings.embedding_model, at_once=True).passages(["a text"])
    assert len(openai.requests) == 1
    observed.work.milliseconds_left = lambda: 9_000
    with pytest.raises(OutOfTime):
        clients.chunk_store(for_upkeep=True).delete_namespace("n")


def test_no_client_of_a_worker_waits_longer_than_the_longest_call(
    environ: dict[str, str], members: dict[str, object]
) -> None:
    settings, secrets = Settings.read(environ), Secrets.read(members, "sakuin")
    embeds: Any = Clients(settings, secrets, start_telemetry("Index")).indexing_embedder(settings.embedding_model)
    assert embeds.embedder.seconds == LONGEST_CALL
    stores = connected("https://store", "key")
    for timeout in (LEARNS_TIMEOUT, stores.timeout):
        assert timeout.connect + timeout.read == LONGEST_CALL
    timeout = quick(stores).timeout
    assert timeout.connect + timeout.read == LONGEST_QUICK_CALL
