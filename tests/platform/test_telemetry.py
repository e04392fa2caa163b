"""Correlation ids and metrics."""

import json
from typing import Any

import pytest
from aws_lambda_powertools import Metrics
from sakuin.platform.redaction import HIDDEN, redacted
from sakuin.platform.telemetry import EmfMeter, count_search, work_id_of
from sakuin.wiring.handlers import http_handler

from tests.events import Context, a_telemetry, event


def record(name: str) -> Any:
    return event(name)["Records"][0]


def test_the_correlation_id_of_an_upload_is_its_s3_request() -> None:
    put = record("index_material.put")
    asked = json.loads(put["body"])["Records"][0]["responseElements"]["x-amz-request-id"]
    assert work_id_of({}, json.loads(put["body"]), put["messageId"]) == asked


def test_the_correlation_id_of_an_event_is_its_request_or_its_id() -> None:
    told = record("index_tool.event")
    body = json.loads(told["body"])
    assert work_id_of({}, body, "m") == body["id"]
    body["detail"]["request_id"] = "JKJaXmPLvHcESHA="
    assert work_id_of({}, body, "m") == "JKJaXmPLvHcESHA="


def test_a_message_of_ours_has_the_correlation_id() -> None:
    attributes = {"correlation_id": "from-the-scan"}
    body = json.loads(record("embed_chunks.batch")["body"])
    assert work_id_of(attributes, body, "m") == "from-the-scan"
    assert work_id_of(attributes, {"id": "of-an-event", "detail": {}}, "m") == "from-the-scan"
    assert work_id_of({}, body, "m") == "m"


@pytest.mark.parametrize(
    "body", [{}, {"Records": []}, {"Records": 5}, {"Records": [5]}, {"detail": 5, "id": 5}, {"detail": {}, "id": 5}]
)
def test_the_correlation_id_of_an_unknown_message_is_its_own_id(body: dict[str, Any]) -> None:
    assert work_id_of({}, body, "m") == "m"


def test_the_correlation_id_of_a_request_is_that_of_the_gateway() -> None:
    watch, seen = a_telemetry(), list[str]()

    def handler(_event: dict[str, Any], _context: Any) -> dict[str, Any]:
        seen.append(watch.work())
        return {"statusCode": 200}

    handle = http_handler(handler, watch)
    handle(event("mcp.search"), Context())
    handle({}, Context())
    assert seen == ["JKJaXmPLvHcESHA=", Context.aws_request_id]


def test_a_search_is_counted_with_and_without_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    metrics = Metrics(namespace="Sakuin", service="test")

    meter = EmfMeter(metrics, "Search")
    for is_empty, degraded in ((False, None), (True, None), (False, "by words alone")):
        count_search(meter, "Searches", is_empty=is_empty, degraded=degraded)
    metrics.flush_metrics()
    said = json.loads(capsys.readouterr().out)
    assert (said["Searches"], said["SearchesWithoutAnswer"], said["service"]) == ([1, 1, 1], [0, 1, 0], "test")
    assert said["SearchesByWordsAlone"] == [0, 0, 1]


def test_a_duration_is_named_after_the_kind_of_function(capsys: pytest.CaptureFixture[str]) -> None:
    metrics = Metrics(namespace="Sakuin", service="test")
    EmfMeter(metrics, "Search").record_duration("Embedding", 12.5)
    EmfMeter(metrics, "Index").record_duration("Embedding", 80)
    metrics.flush_metrics()
    said = json.loads(capsys.readouterr().out)
    assert (said["SearchEmbeddingMilliseconds"], said["IndexEmbeddingMilliseconds"]) == ([12.5], [80])
    units = {one["Name"]: one["Unit"] for one in said["_aws"]["CloudWatchMetrics"][0]["Metrics"]}
    assert units["SearchEmbeddingMilliseconds"] == "Milliseconds"


TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl-_x"
KEYS = ("sk_sakuin_" + "k" * 43, "sb_secret_" + "x" * 20, "sk-proj-" + "y" * 40, "tpuf_" + "z" * 20, TOKEN)


@pytest.mark.parametrize("secret", [*KEYS, "AKIA" + "A" * 16])
@pytest.mark.parametrize("before", ["", "=", "a ", '"', "the-", "x.", "a\n", "a\t", "a\r\n", "日本"])
def test_what_looks_like_a_secret_is_hidden_wherever_it_begins(secret: str, before: str) -> None:
    said = f"{before}{secret} and more"
    assert redacted(said) == f"{before}{HIDDEN} and more"
    for ascii in (True, False):
        line = redacted(json.dumps({"message": said}, ensure_ascii=ascii))
        assert json.loads(line)["message"] == f"{before}{HIDDEN} and more"


@pytest.mark.parametrize(
    "plain",
    [
        *("greyjoy123.example.com", "a.bcdef.ghijk", "eyJ.eyJ.eyJ", "eyJabcdef.abcdef", "task-force-of-sixteen", ""),
        *(
            "二次方程式の解の公式は sk-1 の節にあります",
            "ask-me-anything-about-equations",
            "https://example.org/a:b?x=1",
        ),
        '{"url": "http://127.0.0.1:8787/mcp", "at": "2026-11-22T05:30:00Z"}',
    ],
)
def test_a_word_that_only_resembles_one_stays(plain: str) -> None:
    assert redacted(plain, ["local", ""]) == plain


def test_each_of_several_tokens_is_hidden() -> None:
    assert redacted(f"{TOKEN} {TOKEN}, the-{TOKEN}") == f"{HIDDEN} {HIDDEN}, the-{HIDDEN}"
