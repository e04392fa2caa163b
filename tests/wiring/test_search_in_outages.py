"""The function `mcp` while one of its vendors is away."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from sakuin.wiring import mcp
from sakuin.wiring.clients import Clients

from tests.builders import a_page
from tests.contracts.openai_server import OpenAIServer
from tests.contracts.scripted_server import Said, scripted_server
from tests.events import ENDPOINT_KEY, KEY, Context, event
from tests.worlds import Worlds

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


def test_without_supabase_no_key_is_401(environ: dict[str, str]) -> None:
    (answer,) = asked(environ | {"SUPABASE_URL": AWAY}, path=f"/mcp/{NOBODY}", key=ENDPOINT_KEY)
    assert (answer["statusCode"], answer["headers"]["retry-after"]) == (503, "5")
