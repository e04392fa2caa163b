"""`LearnsModel`: every adapter, and OpenAI's when the service fails."""

import json

import pytest
from openai import OpenAI
from sakuin.errors import Refused, SakuinError, Unavailable
from sakuin.knowledge.learns.openai import OpenAILearnsModel
from sakuin.knowledge.learns.sources import LearnsModel
from sakuin.knowledge.page import Explanation

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


def test_one_call_asks_for_structured_output_with_the_least_reasoning(
    server: OpenAIServer, openai: OpenAILearnsModel
) -> None:
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


def test_an_error_ends_the_call_at_once(server: OpenAIServer, openai: OpenAILearnsModel) -> None:
    expected: tuple[tuple[int, type[SakuinError], str | None], ...] = (
        *((status, Unavailable, None) for status in (400, 429, 500)),
        *((status, Refused, str(status)) for status in (401, 404)),
    )
    for status, error, message in expected:
        server.requests.clear()
        server.statuses = [status] * 3
        with pytest.raises(error, match=message):
            openai.learns(TEXTS)
        assert len(server.requests) == 1, status


@pytest.mark.parametrize("said", ["not JSON", "{}", '{"items": [{"anchor": 1}]}'])
def test_an_unusable_answer_is_unavailable(server: OpenAIServer, openai: OpenAILearnsModel, said: str) -> None:
    server.said = said
    with pytest.raises(Unavailable):
        openai.learns(TEXTS)


def test_a_model_that_cannot_be_reached_is_unavailable() -> None:
    unreachable = OpenAI(api_key="sk-test", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(Unavailable):
        OpenAILearnsModel(unreachable, "gpt-6-luna").learns(TEXTS)
