"""Correlation ids and metrics."""

import json
from typing import Any

import pytest
from aws_lambda_powertools import Metrics
from sakuin.platform.redaction import HIDDEN, redacted
from sakuin.platform.telemetry import EmfMeter, count_search, work_id_of
from sakuin.wiring.handlers import http_handler

from tests.events import Context, a_telemetry, event

OURS, EVENT = {"correlation_id": "from-the-scan"}, {"id": "of-an-event", "detail": {"request_id": "of-a-request"}}
UPLOADED = {"Records": [{"responseElements": {"x-amz-request-id": "of-s3"}}]}


@pytest.mark.parametrize(
    ("attributes", "body", "id"),
    [
        *(({}, UPLOADED, "of-s3"), ({}, EVENT, "of-a-request"), ({}, {**EVENT, "detail": {}}, "of-an-event")),
        *((OURS, body, "from-the-scan") for body in ({}, EVENT)),
        *(({}, body, "m") for body in ({}, {"Records": []}, {"Records": 5}, {"Records": [5]}, {"detail": 5, "id": 5})),
        ({}, {"detail": {}, "id": 5}, "m"),
    ],
)
def test_work_has_the_id_of_what_asked_for_it(attributes: dict[str, str], body: dict[str, Any], id: str) -> None:
    assert work_id_of(attributes, body, "m") == id


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
