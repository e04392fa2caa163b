"""The circuits as the functions have them: in Postgres, counted, and nothing that a healthy start loads."""

import json
import subprocess
import sys

import psycopg
import pytest
from sakuin.bootstrap.watching import question_embedder, watch
from sakuin.errors import CircuitOpen, Refused, Unavailable
from sakuin.settings import Secrets, Settings

from tests.contracts.openai_server import OpenAIServer

CIRCUIT = "openai-questions"


def state(sql: psycopg.Connection) -> str | None:
    row = sql.execute("select state from circuit where name = %s", [CIRCUIT]).fetchone()
    return row[0] if row else None


def test_a_failing_vendor_is_left_alone_and_that_is_logged_and_counted(
    sql: psycopg.Connection,
    openai: OpenAIServer,
    environ: dict[str, str],
    members: dict[str, object],
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    watched = watch("Search")
    embedder = question_embedder(Settings.read(environ), Secrets.read(members, "sakuin"), watched)
    embedder.query("質問")
    assert state(sql) is None
    openai.statuses, openai.headers = [500] * 100, {}
    for _ in range(3):
        with pytest.raises(Unavailable, match="500"):
            embedder.query("質問")
    assert state(sql) == "OPEN"
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
    sql: psycopg.Connection,
    openai: OpenAIServer,
    environ: dict[str, str],
    members: dict[str, object],
    capsys: pytest.CaptureFixture[str],
) -> None:
    watched = watch("Search")
    embedder = question_embedder(Settings.read(environ), Secrets.read(members, "sakuin"), watched)
    openai.statuses = [401] * 4
    for _ in range(4):
        with pytest.raises(Refused, match="check openai_api_key"):
            embedder.query("質問")
    assert (state(sql), len(openai.requests)) == (None, 4)
    watched.metrics.flush_metrics()
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["CallsDenied"] == [1, 1, 1, 1]


LOADED = """
import sys
from sakuin.bootstrap import answering, chunk_embedding, maintaining, material_indexing, rest, table_indexing
print('sakuin.adapters.circuit_breaker' in sys.modules)
"""


def test_a_start_does_not_load_what_breaks_circuits() -> None:
    said = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)  # noqa: S603
    assert said.stdout.strip() == "False"
