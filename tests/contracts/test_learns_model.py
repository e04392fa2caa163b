"""What every `LearnsModel` promises."""

import json
from collections.abc import Iterator

import pytest
from openai import OpenAI
from sakuin.errors import Refused, Unavailable
from sakuin.knowledge.learns.openai import OpenAILearnsModel
from sakuin.knowledge.learns.sources import LearnsModel
from sakuin.knowledge.page import Explanation, Page

from tests.contracts.openai_server import OpenAIServer, openai_server
from tests.doubles.learns_model import MemoryLearnsModel

ITEMS = ("公式に代入する方法", "符号を確かめる手順", "根号の計算")
PAGE = Page("二次方程式", (Explanation("rule-f", "rule", "解の公式", "係数を代入する。", 0),))


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with openai_server() as running:
        items = [{"anchor": "rule-f", "learns": ITEMS}, {"anchor": "rule-made-up", "learns": ITEMS}]
        running.said = json.dumps({"items": items})
        yield running


@pytest.fixture(params=["memory", "openai"])
def model(request: pytest.FixtureRequest, server: OpenAIServer) -> LearnsModel:
    """Each adapter in turn; both were told of an anchor that the page does not have."""
    if request.param == "memory":
        return MemoryLearnsModel({"rule-f": ITEMS, "rule-made-up": ITEMS})
    return OpenAILearnsModel(server.client, "gpt-5-mini")


def test_items_come_by_anchor_and_for_anchors_of_the_page_only(model: LearnsModel) -> None:
    assert model.learns(PAGE) == {"rule-f": ITEMS}


def test_a_model_has_a_name_for_the_cache(model: LearnsModel) -> None:
    assert model.name


def test_one_call_asks_for_the_whole_page_in_structured_output(server: OpenAIServer) -> None:
    OpenAILearnsModel(server.client, "gpt-5-mini").learns(PAGE)
    (request,) = server.requests
    assert request["model"] == "gpt-5-mini"
    assert request["response_format"]["type"] == "json_schema"
    assert "解の公式" in request["messages"][1]["content"]


@pytest.mark.parametrize("status", [400, 429, 500])
def test_an_error_is_unavailable_at_once(server: OpenAIServer, status: int) -> None:
    server.statuses = [status]
    with pytest.raises(Unavailable):
        OpenAILearnsModel(server.client, "gpt-5-mini").learns(PAGE)
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [401, 404])
def test_a_refused_key_or_model_is_said_to_be_so(server: OpenAIServer, status: int) -> None:
    server.statuses = [status]
    with pytest.raises(Refused, match=str(status)):
        OpenAILearnsModel(server.client, "gpt-5-mini").learns(PAGE)


@pytest.mark.parametrize("said", ["not JSON", "{}", '{"items": [{"anchor": 1}]}'])
def test_an_unusable_answer_is_unavailable(server: OpenAIServer, said: str) -> None:
    server.said = said
    with pytest.raises(Unavailable):
        OpenAILearnsModel(server.client, "gpt-5-mini").learns(PAGE)


def test_a_model_that_is_away_is_unavailable() -> None:
    away = OpenAI(api_key="sk-test", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(Unavailable):
        OpenAILearnsModel(away, "gpt-5-mini").learns(PAGE)
