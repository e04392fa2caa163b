"""Vendors that fail, hang or are away: a circuit for each kind of work of the functions, and answers in time."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import psycopg
import pytest
from mangum import Mangum
from sakuin.errors import CircuitOpen, OutOfTime, OverBudget, RateLimited, Unavailable
from sakuin.http.app import rest_api
from sakuin.knowledge.learns.openai import LEARNS_TIMEOUT
from sakuin.platform.calls import LONGEST_CALL
from sakuin.platform.openai.budget import DailyTokens
from sakuin.platform.redaction import Failed
from sakuin.platform.turbopuffer.client import LONGEST_QUICK_CALL, connected, quick
from sakuin.platform.waiting import WorkRecords
from sakuin.tables.nodes import UnindexedTable
from sakuin.tables.reconcile import KeptIndex, ReconcileTables
from sakuin.tables.turbopuffer import ChunkStore
from sakuin.upkeep.index_versions import BuildResult
from sakuin.upkeep.maintain import Maintain
from sakuin.upkeep.reconcile import Reconcile
from sakuin.upkeep.schedule import Schedule
from sakuin.wiring import mcp
from sakuin.wiring.clients import Clients
from sakuin.wiring.embed_chunks import URGENCY
from sakuin.wiring.handlers import http_handler, instrument

from tests.builders import a_page
from tests.contracts.openai_server import OpenAIServer
from tests.contracts.scripted_server import Said, scripted_server
from tests.events import AUTHORIZATION, ENDPOINT_KEY, KEY, Context, event
from tests.platform.test_hanging_vendor import Clock
from tests.test_template import FUNCTIONS
from tests.worked_queue import Killed
from tests.worlds import TableWorld, World, Worlds, long

CIRCUIT = "openai-questions"


def test_an_open_circuit_is_logged_and_counted(
    openai: OpenAIServer, clients: Clients, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    embedder = clients.question_embedder(clients.settings.embedding_model)
    embedder.questions(["質問"])
    openai.statuses, openai.headers = [500] * 100, {}
    for _ in range(3):
        with pytest.raises(Unavailable, match="500"):
            embedder.questions(["質問"])
    asked = len(openai.requests)
    with pytest.raises(CircuitOpen) as refused:
        embedder.questions(["質問"])
    assert (refused.value.vendor, len(openai.requests)) == ("openai", asked)
    assert 20 < (refused.value.retry_after or 0) <= 30
    changes = [vars(record) for record in caplog.records if record.getMessage() == "circuit changed"]
    assert [(change["circuit"], change["change"]) for change in changes] == [(CIRCUIT, "opened")]
    clients.telemetry.metrics.flush_metrics()
    counted = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (counted["CircuitsOpened"], counted["CallsNotMade"]) == ([1], [1])


def test_a_rate_limit_opens_no_circuit_and_the_texts_of_tables_come_after_those_of_pages(
    openai: OpenAIServer, clients: Clients
) -> None:
    model = clients.settings.embedding_model
    clients.indexing_embedder(model).passages(["a page"])
    embedder = clients.indexing_embedder(model, urgency=URGENCY)
    openai.statuses, openai.headers = [429], {"Retry-After": "50"}
    for _ in range(4):
        with pytest.raises(RateLimited, match="Waiting for embeddings, about 1 minute"):
            embedder.passages(["a Table"])
    assert openai.priorities == [None, "u=5"]
    assert clients.telemetry.circuits["openai-passages"].failures == 0


def test_each_kind_of_work_has_one_circuit_for_its_clients(clients: Clients) -> None:
    for _ in range(2):
        clients.chunk_store()
        clients.question_embedder(clients.settings.embedding_model)
        clients.indexing_embedder(clients.settings.embedding_model)
    assert clients.telemetry.circuits.keys() == {
        "openai-passages",
        CIRCUIT,
        "turbopuffer-writes",
        "turbopuffer-searches",
    }


def test_the_model_of_learns_is_not_asked_beyond_its_own_tokens_of_the_day(
    openai: OpenAIServer, clients: Clients, sql: psycopg.Connection
) -> None:
    model = replace(clients, settings=replace(clients.settings, learns_model="gpt")).learns_model()
    assert model is not None
    DailyTokens(clients.supabase, "learns").add(clients.settings.limits.learns_daily_tokens)
    with pytest.raises(OverBudget, match="learns tokens are used up"):
        model.learns(())
    sql.execute("delete from daily_count")
    assert openai.requests == []


def test_a_model_of_learns_at_another_address_is_asked_there_without_the_key_of_openai(
    openai: OpenAIServer, clients: Clients
) -> None:
    here = replace(clients.settings, learns_model="own", openai_base_url="http://127.0.0.1:9/v1")
    clients = replace(clients, settings=replace(here, learns_base_url=openai.url))
    openai.said = '{"items": []}'
    model = clients.learns_model()
    assert model is not None
    assert model.learns(()) == {}
    assert clients.openai("Learns", base_url=openai.url).api_key == "none"
    assert [request["model"] for request in openai.requests] == ["own"]


def test_a_call_that_might_outlast_the_invocation_is_not_made(openai: OpenAIServer, clients: Clients) -> None:
    clients = replace(clients, settings=replace(clients.settings, learns_model="gpt"))
    work, model, embedding = clients.telemetry.work, clients.learns_model(), clients.settings.embedding_model
    work.milliseconds_left = lambda: 25_000
    assert model is not None
    calls = (
        lambda: clients.indexing_embedder(embedding).passages(["a text"]),
        lambda: model.learns(()),
        lambda: clients.chunk_store().delete_namespace("n"),
    )
    for call in calls:
        with pytest.raises(OutOfTime, match="this continues automatically"):
            call()
    assert openai.requests == []
    clients.indexing_embedder(embedding, at_once=True).passages(["a text"])
    assert len(openai.requests) == 1
    work.milliseconds_left = lambda: 9_000
    with pytest.raises(OutOfTime):
        clients.chunk_store(for_upkeep=True).delete_namespace("n")


def test_no_client_waits_longer_than_the_longest_call(clients: Clients) -> None:
    embeds: Any = clients.indexing_embedder(clients.settings.embedding_model)
    assert embeds.seconds == LONGEST_CALL
    stores = connected("https://store", "key")
    for timeout in (LEARNS_TIMEOUT, stores.timeout):
        assert timeout.connect + timeout.read == LONGEST_CALL
    timeout = quick(stores).timeout
    assert timeout.connect + timeout.read == LONGEST_QUICK_CALL


NOBODY = "00000000-0000-4000-8000-000000000000"

AWAY = "http://127.0.0.1:9"


def asked(environ: Mapping[str, str], *, times: int = 1, path: str = "/mcp", key: str = KEY) -> list[dict[str, Any]]:
    """Asks the recorded question so often; returns the answers."""
    handler = mcp.handler(Clients.of(environ, "Search"))
    request = event("mcp.search") | {"rawPath": path}
    request["requestContext"]["http"]["path"] = path
    request["headers"]["authorization"] = f"Bearer {key}"
    return [handler(request, Context()) for _ in range(times)]


def result(answer: Mapping[str, Any]) -> dict[str, Any]:
    assert answer["statusCode"] == 200
    said: dict[str, Any] = json.loads(answer["body"])["result"]
    return said


@pytest.fixture
def page(a_world: Worlds) -> str:
    """Indexes one page; returns the title of its explanation."""
    a_world().put("a.html", a_page({"rule-formula": "解の公式: 二次方程式を公式で解きたいときに使う。"}))
    return "解の公式"


def test_without_openai_words_answer_in_time(page: str, openai: OpenAIServer, environ: dict[str, str]) -> None:
    (whole,) = asked(environ)
    assert "degraded" not in result(whole)["structuredContent"]
    openai.statuses, openai.headers = [503] * 100, {}
    answers = [result(answer)["structuredContent"] for answer in asked(environ, times=5)]
    assert [answer["results"][0]["title"] for answer in answers] == [page] * 5
    assert all("only words were compared" in answer["degraded"] for answer in answers)
    # Three questions, two tries each; then nobody asks.
    assert len(openai.requests) == 1 + 3 * 2


def test_while_openai_refuses_the_key_words_answer(page: str, openai: OpenAIServer, environ: dict[str, str]) -> None:
    openai.statuses, openai.headers = [401] * 3, {}
    answers = [result(answer)["structuredContent"] for answer in asked(environ, times=3)]
    assert [answer["results"][0]["title"] for answer in answers] == [page] * 3
    assert all(
        answer["degraded"].endswith("The operator has to fix the API key or the embedding settings.")
        for answer in answers
    )
    assert all("openai" not in answer["degraded"].lower() for answer in answers)
    assert "degraded" not in result(asked(environ)[0])["structuredContent"]


def test_while_supabase_refuses_the_key_a_question_is_an_error(environ: dict[str, str]) -> None:
    refuses = Said(401, b'{"message": "Invalid API key"}')
    with scripted_server(refuses) as supabase:
        (answer,) = asked(environ | {"SUPABASE_URL": supabase.url})
        (at_endpoint,) = asked(environ | {"SUPABASE_URL": supabase.url}, path=f"/mcp/{NOBODY}", key=ENDPOINT_KEY)
    assert result(answer)["isError"]
    assert result(answer)["content"][0]["text"] == (
        "Supabase refused the key (no code): check supabase_service_key in the secret. The operator has to correct "
        "this; searches fail until then."
    )
    assert (at_endpoint["statusCode"], at_endpoint["headers"]["retry-after"]) == (503, "5")


def test_without_supabase_a_question_is_an_error_to_ask_again(environ: dict[str, str]) -> None:
    (answer,) = asked(environ | {"SUPABASE_URL": AWAY})
    assert result(answer)["isError"]
    assert result(answer)["content"][0]["text"] == "Supabase did not answer. Try again in a moment."
    assert "structuredContent" not in result(answer)


@dataclass
class Silence(httpx2.BaseTransport):
    """A connection without an answer, for as long as the client waits."""

    clock: Clock

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.clock.passes(request.extensions["timeout"]["read"])
        raise httpx2.ReadTimeout("no answer", request=request)


@dataclass
class Invocation:
    """The clients of a function whose turbopuffer hangs. Time passes only in calls of turbopuffer and pauses."""

    clients: Clients
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.clients.telemetry.work.clock = self.now

    def now(self) -> float:
        return self.clock.now

    @property
    def store(self) -> ChunkStore:
        """The store as the function has it, by this clock."""
        real = self.clients.chunk_store(for_upkeep=True)
        calls: Any = real.ask
        retries = replace(calls.retries, sleep=self.clock.passes, clock=self.now)
        calls.circuit.clock = self.now
        client = real.client.with_options(http_client=httpx2.Client(transport=Silence(self.clock)))
        return replace(real, client=client, ask=replace(calls, retries=retries))


@pytest.fixture
def invocation(clients: Clients) -> Invocation:
    return Invocation(clients)


@dataclass
class Due:
    """Records with three Tables for each part of maintenance that calls turbopuffer."""

    names: Sequence[str] = ("a", "b", "c")

    def delete_portion(self, *, limit: int) -> None:
        return None

    def unindexed_tables(self) -> Sequence[UnindexedTable]:
        return [UnindexedTable(name, "f", f"project_p_table_{name}", "2026-01-01T00:00:00Z") for name in self.names]

    def orphaned_namespaces(self) -> Collection[str]:
        return [f"project_p_table_{name}" for name in self.names]


@dataclass
class Minute:
    """A minute's schedule over a hanging store. `turns`: the parts that had theirs."""

    invocation: Invocation
    records: WorkRecords
    turns: list[str] = field(default_factory=list)
    is_killed: bool = False

    def turn(self, name: str) -> int:
        self.turns.append(name)
        return 0

    def reconcile(self) -> int:
        self.turn("reconciliation")
        return int(self.invocation.store.is_indexed("project_p_table_a"))

    def build(self) -> BuildResult:
        if self.is_killed:
            raise Killed
        return BuildResult(self.turn("index versions"), 0, None)

    def run(self) -> None:
        self.invocation.clock.ends = FUNCTIONS["SakuinMaintain"]["Timeout"]
        telemetry, records = self.invocation.clients.telemetry, Due()
        parts: Any = self
        index: Any = records
        maintain = Maintain(
            *(lambda: self.turn("events"), index, self.invocation.store, lambda: self.turn("Tables")),
            *(lambda: self.turn("uploads"), lambda: self.turn("learns")),
            write_quotas=lambda: self.turn("quotas"),
            delete_questions=lambda: self.turn("questions"),
            daily={"reconcile_tables": self.reconcile},
            clock=self.invocation.now,
            work=telemetry.work,
        )
        no_canary: Any = None
        schedule = Schedule(
            *(maintain, parts.build, no_canary, self.records, lambda: 0.0),
            *(telemetry.logger, telemetry.metrics, telemetry.work, lambda: None, self.invocation.now),
        )
        instrument(schedule.handle, telemetry)({}, self.invocation.clock)


def waiting_work(capsys: pytest.CaptureFixture[str]) -> list[float]:
    """Returns the values of the metric that were written."""
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]
    return [value for line in lines for value in line.get("WaitingWork", ())]


@pytest.fixture
def minute(invocation: Invocation, records: WorkRecords) -> Minute:
    return Minute(invocation, records)


def test_a_hanging_store_leaves_every_other_part_its_turn(minute: Minute, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Failed, match="turbopuffer did not answer"):
        minute.run()
    assert sorted(minute.turns) == sorted(
        ["quotas", "events", "Tables", "uploads", "learns", "questions", "index versions", "reconciliation"]
    )
    assert minute.turns[0] == "quotas"
    assert minute.invocation.clock.now < minute.invocation.clock.ends / 2
    assert waiting_work(capsys) == [0]


def test_counts_of_alarms_are_written_before_the_end(minute: Minute, capsys: pytest.CaptureFixture[str]) -> None:
    minute.is_killed = True
    with pytest.raises(Killed):
        minute.run()
    assert (waiting_work(capsys), minute.turns[0]) == ([0], "quotas")


def test_a_comparison_on_command_answers_in_time(invocation: Invocation, world: World, tables: TableWorld) -> None:
    for number in range(3):
        tables.indexed([long(f"説明{number}")])
    invocation.clock.ends = FUNCTIONS["SakuinApi"]["Timeout"]
    queues: Any = tables.queues
    compared = ReconcileTables(invocation.store, [KeptIndex(tables.index, queues, "")])
    materials: Any = None
    reconcile = Reconcile(materials, compared, invocation.now, lambda: True)
    api = rest_api(replace(world.services, reconcile=lambda: reconcile))
    request = event("api.status") | {"rawPath": "/v1/reconcile", "body": json.dumps({"kind": "tables"})}
    request["headers"] = {"content-type": "application/json", **AUTHORIZATION}
    request["requestContext"]["http"] |= {"method": "POST", "path": "/v1/reconcile"}
    answer = http_handler(Mangum(api, lifespan="off"), invocation.clients.telemetry)(request, invocation.clock)
    assert (answer["statusCode"], invocation.clock.now < invocation.clock.ends) == (200, True)
    assert {each["rule"] for each in json.loads(answer["body"])["differences"]} == {"failed"}
