"""`LearnsModel`: every adapter, and OpenAI's when the service fails."""

import json
from dataclasses import replace

import pytest
from openai import OpenAI, Timeout
from sakuin.errors import RateLimited, Refused, SakuinError, Unavailable
from sakuin.knowledge.learns.openai import OpenAILearnsModel
from sakuin.knowledge.learns.sources import LearnsModel
from sakuin.knowledge.page import Explanation
from sakuin.platform.openai.models import models
from sakuin_local.aws.template import read_template
from sakuin_local.places import TEMPLATE

from tests.contracts.openai_server import OpenAIServer
from tests.doubles.learns_model import MemoryLearnsModel

ITEMS = ("公式に代入する方法", "符号を確かめる手順", "根号の計算")
TEXTS = (Explanation("rule-f", "rule", "解の公式", "係数を代入する。", 0),)


@pytest.fixture
def openai(server: OpenAIServer) -> OpenAILearnsModel:
    items = [{"anchor": "rule-f", "learns": ITEMS}, {"anchor": "rule-made-up", "learns": ITEMS}]
    server.said = json.dumps({"items": items})
    return OpenAILearnsModel(server.client, "gpt-6-luna")


@pytest.fixture(params=["memory", "openai"])
def model(request: pytest.FixtureRequest, openai: OpenAILearnsModel) -> LearnsModel:
    """Each adapter in turn; both answer for an anchor that the page does not have."""
    memory = MemoryLearnsModel({"rule-f": ITEMS, "rule-made-up": ITEMS})
    return memory if request.param == "memory" else openai


def test_items_come_by_anchor_and_for_asked_anchors_only(model: LearnsModel) -> None:
    assert model.learns(TEXTS) == {"rule-f": ITEMS}
    assert model.name


def test_one_call_asks_for_structure_with_the_least_reasoning(server: OpenAIServer, openai: OpenAILearnsModel) -> None:
    openai.learns(TEXTS)
    (request,) = server.requests
    assert request["model"] == "gpt-6-luna"
    assert request["response_format"]["type"] == "json_schema"
    assert (request["reasoning_effort"], request["max_completion_tokens"]) == ("none", 2_000)
    # Models that reason take no `max_tokens`, and those that do not reason no effort.
    assert "max_tokens" not in request
    OpenAILearnsModel(server.client, "gpt-4.1-mini").learns(TEXTS)
    assert "reasoning_effort" not in server.requests[1]
    assert "解の公式" in request["messages"][1]["content"]
    openai.learns((replace(TEXTS[0], content="あ" * 4_000),))
    assert server.requests[2]["messages"][1]["content"].count("あ") == 1_500


def test_an_error_ends_the_call_at_once(server: OpenAIServer, openai: OpenAILearnsModel) -> None:
    setting = {"param": "reasoning_effort"}
    expected: tuple[tuple[int, dict[str, str], type[SakuinError], str | None], ...] = (
        (400, {}, Unavailable, None),
        (400, setting, Refused, "'reasoning_effort': check LearnsModel"),
        (401, {}, Refused, "401: check openai_api_key .* and LearnsModel"),
        (404, {}, Refused, "404: check openai_api_key .* and LearnsModel"),
        (429, {}, RateLimited, "Waiting for the language model, about"),
        (429, {"code": "insufficient_quota"}, Refused, "429: the account has no credit.*Buy credit at"),
        (500, {}, Unavailable, None),
        (500, setting, Unavailable, None),
    )
    for status, server.error, error, message in expected:
        server.requests.clear()
        server.statuses = [status] * 3
        with pytest.raises(error, match=message):
            openai.learns(TEXTS)
        assert len(server.requests) == 1, status


def test_an_answer_is_paid_for_even_if_it_is_cut_off(server: OpenAIServer) -> None:
    tokens: list[int] = []
    server.tokens, server.finish = 7, "length"
    model = OpenAILearnsModel(server.client, "gpt-6-luna", tokens.append)
    with pytest.raises(Unavailable, match="no usable answer"):
        model.learns(TEXTS)
    server.tokens, server.finish, server.said = 5, "stop", '{"items": []}'
    assert (model.learns(TEXTS), tokens) == ({}, [7, 5])


def test_an_answer_that_is_written_too_slowly_is_unavailable(server: OpenAIServer) -> None:
    server.wrongs = [None]
    with pytest.raises(Unavailable, match="no usable answer in time") as late:
        OpenAILearnsModel(server.client, "gpt-6-luna", timeout=Timeout(0.2)).learns(TEXTS)
    assert late.value.retry_after is None


@pytest.mark.parametrize("said", ["not JSON", "{}", '{"items": [{"anchor": 1}]}'])
def test_an_unusable_answer_is_unavailable(server: OpenAIServer, openai: OpenAILearnsModel, said: str) -> None:
    server.said = said
    with pytest.raises(Unavailable):
        openai.learns(TEXTS)


def test_a_model_that_cannot_be_reached_is_unavailable() -> None:
    unreachable = OpenAI(api_key="sk-test", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(Unavailable):
        OpenAILearnsModel(unreachable, "gpt-6-luna").learns(TEXTS)


def test_the_deployed_models_have_prices_and_no_end() -> None:
    parameters = read_template(TEMPLATE)["Parameters"]
    known = {each.name: each for each in models()}
    embeds, writes = (known[parameters[name]["Default"]] for name in ("EmbeddingModel", "LearnsModel"))
    assert (embeds.shutdown, writes.shutdown) == (None, None)
    assert embeds.usd_read
    assert (writes.name, writes.least_reasoning, known["gpt-4.1-mini"].replacement) == (
        "gpt-6-luna",
        "none",
        writes.name,
    )
