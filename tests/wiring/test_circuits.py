"""The circuits of the functions: one for each kind of work, logged and counted."""

import json

import pytest
from sakuin.errors import CircuitOpen, RateLimited, Refused, Unavailable
from sakuin.platform.secrets import Secrets
from sakuin.settings import Settings
from sakuin.wiring.clients import Clients, start_telemetry
from sakuin.wiring.embed_chunks import URGENCY

from tests.contracts.openai_server import OpenAIServer

CIRCUIT = "openai-questions"


def test_an_open_circuit_is_logged_and_counted(
    openai: OpenAIServer,
    environ: dict[str, str],
    members: dict[str, object],
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings, watched = Settings.read(environ), start_telemetry("Search")
    clients = Clients(settings, Secrets.read(members, "sakuin"), watched)
    embedder = clients.question_embedder(settings.embedding_model)
    embedder.query("質問")
    openai.statuses, openai.headers = [500] * 100, {}
    for _ in range(3):
        with pytest.raises(Unavailable, match="500"):
            embedder.query("質問")
    asked = len(openai.requests)
    with pytest.raises(CircuitOpen) as refused:
        embedder.query("質問")
    assert (refused.value.vendor, len(openai.requests)) == ("openai", asked)
    assert 20 < (refused.value.retry_after or 0) <= 30
    changes = [vars(record) for record in caplog.records if record.getMessage() == "circuit changed"]
    assert [(change["circuit"], change["change"]) for change in changes] == [(CIRCUIT, "opened")]
    watched.metrics.flush_metrics()
    counted = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (counted["CircuitsOpened"], counted["CallsNotMade"]) == ([1], [1])


def test_a_refused_key_opens_no_circuit_and_is_counted(
    openai: OpenAIServer, environ: dict[str, str], members: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    settings, watched = Settings.read(environ), start_telemetry("Search")
    clients = Clients(settings, Secrets.read(members, "sakuin"), watched)
    embedder = clients.question_embedder(settings.embedding_model)
    openai.statuses = [401] * 4
    for _ in range(4):
        with pytest.raises(Refused, match="check openai_api_key"):
            embedder.query("質問")
    assert (watched.circuits[CIRCUIT].failures, len(openai.requests)) == (0, 4)
    watched.metrics.flush_metrics()
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["CallsDenied"] == [1, 1, 1, 1]


def test_a_rate_limit_opens_no_circuit_and_the_texts_of_tables_come_after_those_of_pages(
    openai: OpenAIServer, environ: dict[str, str], members: dict[str, object]
) -> None:
    settings, secrets, watched = Settings.read(environ), Secrets.read(members, "sakuin"), start_telemetry("Index")
    clients = Clients(settings, secrets, watched)
    clients.indexing_embedder(settings.embedding_model).passages(["a page"])
    embedder = clients.indexing_embedder(settings.embedding_model, urgency=URGENCY)
    openai.statuses, openai.headers = [429], {"Retry-After": "100"}
    for _ in range(4):
        with pytest.raises(RateLimited, match="Waiting for embeddings, about 2 minutes"):
            embedder.passages(["a Table"])
    assert openai.priorities == [None, "u=5"]
    assert watched.circuits["openai-passages"].failures == 0


def test_each_kind_of_work_has_one_circuit_for_its_clients(environ: dict[str, str], members: dict[str, object]) -> None:
    settings, secrets, watched = Settings.read(environ), Secrets.read(members, "sakuin"), start_telemetry("Index")
    clients = Clients(settings, secrets, watched)
    for _ in range(2):
        clients.chunk_store()
        clients.question_embedder(settings.embedding_model)
        clients.indexing_embedder(settings.embedding_model)
    assert watched.circuits.keys() == {"openai-passages", CIRCUIT, "turbopuffer-writes", "turbopuffer-searches"}
