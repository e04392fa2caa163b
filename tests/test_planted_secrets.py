"""Planted secrets: no log, answer, status or error has one."""

import io
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import pytest
from aws_lambda_powertools import Logger
from mangum import Mangum
from sakuin.errors import SakuinError, Unavailable
from sakuin.http.app import rest_api
from sakuin.knowledge.messages import RecheckKey
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.platform.calls import background
from sakuin.platform.openai.client import connected as openai
from sakuin.platform.openai.embeddings import OpenAIEmbedder
from sakuin.platform.queue_handler import QueueHandler
from sakuin.platform.redaction import HIDDEN, Failed, RedactingFilter, RedactingFormatter, Redaction
from sakuin.platform.secrets import Secrets
from sakuin.platform.supabase.client import call, connected
from sakuin.platform.telemetry import CurrentWork
from sakuin.platform.turbopuffer.client import connected as store
from sakuin.platform.waiting import WorkRow
from sakuin.tables.turbopuffer import ChunkStore
from sakuin.upkeep.schedule import Schedule
from sakuin.wiring.handlers import http_handler, instrument
from sakuin_local.serving import served
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tests.doubles.embedder import MODEL
from tests.doubles.sqs import ModelledSqs, worked_on
from tests.events import KEY, Context, a_telemetry, event, ring
from tests.mcp.wire import app_of
from tests.worlds import Worlds

TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI1YzQzIn0.c2lnbmF0dXJlLW9mLWEtdXNlcg"
PRESIGNED = (
    "https://b.s3.amazonaws.com/k?X-Amz-Credential=ASIAABCDEFGHIJKLMNOP%2F20261122&X-Amz-Signature=0f1e2d3c4b5a69788796"
)
SECRET = {
    "supabase_service_key": "eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoic2VydmljZV9yb2xlIn0.planted-service",
    "openai_api_key": "sk-proj-planted-openai-0123456789",
    "turbopuffer_api_key": "tpuf_plantedstore0123456789",
    "supabase_jwt_secret": "planted jwt secret\\of thirty-two bytes and more",
    "knowledge_key_hashes": [],
    "admin_key_hashes": [],
}
SECRETS = Secrets.read(SECRET, "sakuin/prod")
# What a log or an answer may never hold, and what of it is enough to be caught.
PLANTED = {
    **{value: value for value in SECRETS.confidential},
    KEY: KEY,
    TOKEN: "c2lnbmF0dXJlLW9mLWEtdXNlcg",
    PRESIGNED: "0f1e2d3c4b5a69788796",
    "ASIAABCDEFGHIJKLMNOP": "ASIAABCDEFGHIJKLMNOP",
    "postgresql://sakuin:planted-password@db/x": "planted-password",
}
EVERYTHING = " and ".join(PLANTED)


def leaked(text: str) -> list[str]:
    """Returns the planted secrets in a text, plain or as JSON spells them."""
    spelled = {part: {part, json.dumps(part)[1:-1]} for part in PLANTED.values()}
    return [part for part, forms in spelled.items() if any(form in text for form in forms)]


@dataclass
class Lambda:
    """A worker whose log lines are kept: Powertools' and those of the root logger."""

    lines: io.StringIO = field(default_factory=io.StringIO)
    redaction: Redaction = field(default_factory=Redaction)

    def __post_init__(self) -> None:
        self.redaction.add(SECRETS.confidential)
        formatter = RedactingFormatter(self.redaction)
        self.logger: Logger = Logger(service="planted", logger_formatter=formatter, stream=self.lines)
        self.logger.registered_handler.setFormatter(formatter)
        self.watch = a_telemetry(self.logger, self.redaction)
        self.parts = self.logger, self.watch.metrics, self.watch.tracer

    def said(self, capsys: pytest.CaptureFixture[str]) -> str:
        captured = capsys.readouterr()
        return self.lines.getvalue() + captured.out + captured.err


@pytest.fixture
def worker() -> Iterator[Lambda]:
    worker = Lambda()
    handler = logging.StreamHandler(worker.lines)
    handler.addFilter(RedactingFilter(worker.redaction))
    handlers, worker.logger.registered_handler.stream = worker.logger.handlers, worker.lines
    logging.getLogger().addHandler(handler)
    yield worker
    logging.getLogger().removeHandler(handler)
    assert handlers


def fails(*_: Any, **__: Any) -> Any:
    """Fails as libraries do: with secrets in the message and in its cause."""
    try:
        raise httpx.ConnectError(f"cannot reach {EVERYTHING}")
    except httpx.ConnectError as error:
        raise RuntimeError(EVERYTHING) from error


def fails_as_ours(*_: Any, **__: Any) -> Any:
    try:
        fails()
    except RuntimeError as error:
        raise Unavailable("The vendor did not answer", vendor="openai") from error


@dataclass
class Failing:
    """A part of a function that fails."""

    hashes: Callable[..., Any]

    def __call__(self, *asked: Any, **how: Any) -> Any:
        return self.hashes(*asked, **how)

    run = counts = __call__

    def knowledge_search(self, version: str | None = None) -> Any:
        return self.hashes(version)


FAILURES = [fails, fails_as_ours]
# Powertools says so of a worker that failed before it had counted anything.
NOTHING_COUNTED = pytest.mark.filterwarnings("ignore:No application metrics to publish")


def test_the_planted_secrets_would_be_found() -> None:
    assert len(leaked(EVERYTHING)) == len(PLANTED) == 9
    assert len(leaked(json.dumps({"m": EVERYTHING}))) == 9


@dataclass
class FailingWork:
    """The work of a queue, which fails."""

    process: Callable[..., Any]
    gave_up: list[str] = field(default_factory=list)

    def read(self, _message: Mapping[str, Any]) -> RecheckKey:
        return RecheckKey(key="a.html")

    def row_of(self, _request: RecheckKey) -> WorkRow:
        return WorkRow("page", "a", source={"bucket": "b", "key": "a.html"})

    def give_up(self, _request: RecheckKey, reason: str) -> None:
        self.gave_up.append(reason)


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("failures", ["0", "4"])
def test_a_queue_s_worker_logs_and_records_the_failure_without_a_secret(
    worker: Lambda, a_world: Worlds, failure: Callable[..., Any], failures: str, capsys: pytest.CaptureFixture[str]
) -> None:
    work, sqs = FailingWork(failure), worked_on(ModelledSqs(), "queue")
    records = a_world().work_records
    handler = QueueHandler(sqs, work, records, worker.logger, worker.watch.metrics, CurrentWork())
    record = event("index_material.put")["Records"][0]
    record["messageAttributes"] = {"failures": {"stringValue": failures}}
    answer = handler.handle({"Records": [record]}, Context())
    worker.watch.metrics.flush_metrics()
    said = worker.said(capsys)
    assert "RuntimeError" in said or failure is fails_as_ours
    shown = [records.waiting(limit=1), *sqs.client.messages, *sqs.client.dead]
    assert bool(work.gave_up) is (failures == "4")
    assert leaked(said + json.dumps(answer) + str(work.gave_up) + str(shown)) == []


@pytest.mark.parametrize("failure", FAILURES)
def test_a_queue_s_worker_that_fails_as_a_whole_shows_the_runtime_no_secret(
    worker: Lambda, failure: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Failed) as raised:
        instrument(failure, worker.watch)(event("index_material.put"), Context())
    assert raised.value.__suppress_context__
    assert leaked(str(raised.value) + worker.said(capsys)) == []


@NOTHING_COUNTED
@pytest.mark.parametrize("failure", FAILURES)
def test_the_schedule_s_worker_fails_without_a_secret(
    worker: Lambda, failure: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    parts: Any = (Failing(failure) for _ in range(6))
    schedule = Schedule(*parts, worker.logger, worker.watch.metrics, CurrentWork(), Failing(failure))
    handler = instrument(schedule.handle, worker.watch)
    for asked in ({}, {"canary": True}):
        with pytest.raises(Failed) as raised:
            handler(asked, Context())
        assert leaked(str(raised.value)) == []
        # What the runtime and a trace would print: no cause comes along.
        assert raised.value.__cause__ is None
        assert raised.value.__suppress_context__
    assert leaked(worker.said(capsys)) == []


@pytest.mark.parametrize("failure", FAILURES)
def test_the_rest_api_answers_and_logs_without_a_secret(
    a_world: Worlds, worker: Lambda, failure: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    world = a_world()
    api = rest_api(replace(world.services, deployment_keys=failure))
    handler = http_handler(Mangum(api, lifespan="off"), worker.watch)
    asked = event("api.status")
    asked["rawPath"] = asked["requestContext"]["http"]["path"] = "/v1/keys"
    answer = handler(asked, Context())
    assert answer["statusCode"] in (500, 503)
    assert leaked(worker.said(capsys) + json.dumps(answer)) == []


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("where", ["search", "keys"])
def test_an_agent_and_the_log_see_no_secret(
    a_world: Worlds, worker: Lambda, failure: Callable[..., Any], where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    world = a_world()
    tools = KnowledgeTools(Failing(failure) if where == "search" else world, world.read)
    app = app_of(tools, keys=Failing(failure) if where == "keys" else ring)
    handler = http_handler(Mangum(app, lifespan="off"), worker.watch)
    answer = handler(event("mcp.search"), Context())
    assert leaked(worker.said(capsys) + json.dumps(answer)) == []


def test_an_answer_that_holds_a_secret_after_all_is_cleaned_and_reported(worker: Lambda) -> None:
    handler = http_handler(lambda _event, _context: {"statusCode": 200, "body": EVERYTHING}, worker.watch)
    body = handler({"rawPath": "/mcp"}, Context())["body"]
    # A key that was just made is in its own answer, a token may be in a Table: only what the worker knows is hidden.
    assert set(leaked(body)) == set(leaked(EVERYTHING)) - set(SECRETS.confidential)
    assert "a secret in an answer is redacted" in worker.lines.getvalue()


def test_fields_and_arguments_of_a_log_line_hold_no_secret(worker: Lambda, capsys: pytest.CaptureFixture[str]) -> None:
    worker.logger.info("said %s", EVERYTHING, extra={"url": PRESIGNED})
    worker.logger.warning({"nested": [EVERYTHING]}, token=TOKEN)
    logging.getLogger("a.library").warning("asked with %s", EVERYTHING)
    said = worker.said(capsys)
    assert said.count(HIDDEN) > 10
    assert leaked(said) == []
    assert all(json.loads(line) for line in said.splitlines() if line.startswith('{"'))


@pytest.fixture(scope="module")
def parrot() -> Iterator[str]:
    """A vendor that refuses each request and echoes it."""

    async def repeat(request: Request) -> JSONResponse:
        said = " ".join(request.headers.values()) + (await request.body()).decode() + EVERYTHING
        status = int(request.query_params.get("status", request.url.path.strip("/").split("/")[0]))
        body = {"error": said, "message": said, "code": "XX000", "details": said, "hint": said}
        return JSONResponse(body, status)

    with served(Starlette(routes=[Route("/{path:path}", repeat, methods=["GET", "POST", "DELETE"])])) as port:
        yield f"http://127.0.0.1:{port}"


def _embeds(url: str) -> Any:
    embeddings = openai(url, SECRETS.openai_api_key).embeddings
    return OpenAIEmbedder(embeddings, MODEL, ask=background(attempts=1, max_wait=0)).passages(["x"])


def _asks(url: str) -> Any:
    embeddings = openai(url, SECRETS.openai_api_key).embeddings
    return OpenAIEmbedder(embeddings, MODEL, ask=background(attempts=1, max_wait=0)).questions(["x"])


def _stores(url: str) -> Any:
    client = store(url, SECRETS.turbopuffer_api_key).with_options(max_retries=0)
    return ChunkStore(client, ask=background(attempts=1)).ids("project_a_table_b")


def _calls(url: str) -> Any:
    return call(connected(url, SECRETS.supabase_service_key), "f", {})


@pytest.mark.parametrize("status", [400, 401, 403, 409, 422, 500])
@pytest.mark.parametrize("ask", [_embeds, _asks, _stores, _calls])
def test_an_echo_of_a_vendor_puts_no_secret_into_our_error(parrot: str, ask: Callable[[str], Any], status: int) -> None:
    with pytest.raises(SakuinError) as raised:
        ask(f"{parrot}/{status}")
    # These sentences become last_error, the reason of an upload result, and the answer to a caller.
    assert leaked(str(raised.value)) == []


def test_a_key_in_a_header_that_opens_nothing_is_not_repeated(a_world: Worlds, worker: Lambda) -> None:
    handler = http_handler(Mangum(rest_api(a_world().services), lifespan="off"), worker.watch)
    asked = event("api.status")
    asked["headers"]["authorization"] = f"Bearer {SECRETS.openai_api_key}"
    answer = handler(asked, Context())
    assert answer["statusCode"] == 401
    assert leaked(worker.lines.getvalue() + json.dumps(answer)) == []
