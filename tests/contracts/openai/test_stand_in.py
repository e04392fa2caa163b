"""The product's adapters with the local stack's stand-in of OpenAI: its limits, delays and errors are OpenAI's."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest
from openai import OpenAI, Timeout
from sakuin.errors import RateLimited, Refused, Unavailable
from sakuin.knowledge.learns.openai import LEARNS_TIMEOUT, OpenAILearnsModel
from sakuin.knowledge.page import Explanation
from sakuin.platform.calls import background, interactive
from sakuin.platform.embedding import EmbeddingModel
from sakuin.platform.openai.embeddings import OpenAIEmbedder, connected
from sakuin.platform.openai.models import models
from sakuin_local.embeddings.account import Account
from sakuin_local.embeddings.cache import VectorCache
from sakuin_local.embeddings.completions import CONTEXT_TOKENS, Completion
from sakuin_local.embeddings.endpoint import application
from sakuin_local.embeddings.model import DIMENSIONS, NAME, Text, Vector
from sakuin_local.serving import served

LUNA, MINI = "gpt-6-luna", "gpt-4.1-mini"
SIX = [Explanation(f"rule-{n}", "rule", f"公式{n}", "係数を代入する。" * 500, n) for n in range(6)]
MODEL = EmbeddingModel(NAME, 1536, "query: ", "passage: ")
Asks = dict[str, Callable[[], object]]


class OneVector:
    """An embedding model that is loaded at once: a token a character."""

    def tokens(self, text: Text) -> int:
        return len(text.text)

    def embed(self, texts: Sequence[Text]) -> list[Vector]:
        return [np.full(DIMENSIONS, DIMENSIONS**-0.5, "<f4") for _ in texts]


class Clock:
    """A clock that only tests move."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def serve(tmp_path: Path, clock: Clock) -> Callable[..., Any]:
    """Serves an account; yields the URL."""

    @contextmanager
    def serving(*, today: date = date(2026, 11, 23), tokens_per_second: float = 0, **limits: Any) -> Iterator[str]:
        account = Account(clock=clock, tokens_per_second=tokens_per_second, **limits)
        stub: Any = OneVector()
        endpoint = application(stub, VectorCache(tmp_path / "vectors.sqlite"), account, lambda: today)
        with served(endpoint) as port:
            yield f"http://127.0.0.1:{port}/v1"

    return serving


def client(url: str) -> OpenAI:
    return OpenAI(api_key="sk-test", base_url=url, max_retries=0, timeout=5)


def learns_model(url: str, model: str = LUNA, **parts: Any) -> OpenAILearnsModel:
    return OpenAILearnsModel(client(url), model, **parts)


def asks(url: str) -> Asks:
    """One call of each adapter, made once."""
    embedder = OpenAIEmbedder(connected(url, "sk-test"), MODEL, ask=background(attempts=1, max_wait=0))
    questions = OpenAIEmbedder(connected(url, "sk-test"), MODEL, ask=interactive(attempts=1))
    return {
        "texts": lambda: embedder.passages(["x" * 91]),
        "question": lambda: questions.query("x" * 93),
        "learns": lambda: learns_model(url).learns(SIX[:1]),
    }


@pytest.fixture(params=["texts", "question", "learns"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_learns_come_for_each_asked_explanation_and_tokens_are_counted(serve: Any) -> None:
    tokens: list[int] = []
    with serve() as url:
        learns = learns_model(url, on_tokens=tokens.append).learns(SIX)
    assert {anchor: len(items) for anchor, items in learns.items()} == {one.anchor: 3 for one in SIX}
    # Six texts of 1,500 characters and the instruction are read.
    assert 9_000 < sum(tokens) < 11_000


def test_a_used_up_minute_is_unavailable_for_the_time_that_the_answer_names(
    serve: Any, clock: Clock, kind: str
) -> None:
    with serve(requests_per_minute=2) as url:
        ask = asks(url)[kind]
        ask()
        ask()
        with pytest.raises(RateLimited, match=r"Waiting for .+, about 1 minute") as limited:
            ask()
        assert limited.value.retry_after == 30.0
        clock.now += 31
        ask()


def test_tokens_of_a_minute_are_limited_too(serve: Any, clock: Clock) -> None:
    with serve(tokens_per_minute=250) as url:
        ask = asks(url)["texts"]
        ask()
        ask()
        with pytest.raises(Unavailable) as limited:
            ask()
        assert 0 < (limited.value.retry_after or 0) < 30
        clock.now += 30
        ask()


def test_without_credit_every_call_says_what_to_do(serve: Any, kind: str) -> None:
    with serve(credit=0) as url, pytest.raises(Refused, match=r"429: the account has no credit.*Buy credit at") as no:
        asks(url)[kind]()
    assert no.value.retry_after is None


def test_an_answer_that_is_written_too_slowly_is_unavailable(serve: Any) -> None:
    with serve(tokens_per_second=200) as url:
        with pytest.raises(Unavailable, match="no usable answer in time") as late:
            learns_model(url, timeout=Timeout(0.2)).learns(SIX)
        assert late.value.retry_after is None
        assert learns_model(url).learns(SIX[:1])


def test_six_explanations_fit_into_the_time_and_a_page_in_one_call_did_not() -> None:
    account, chunk_tokens = Account(), 80
    assert account.seconds(6 * chunk_tokens) < LEARNS_TIMEOUT.read / 2
    assert account.seconds(14 * chunk_tokens) > 10


def test_a_model_ends_on_its_day(serve: Any) -> None:
    for today, model, works in (
        (date(2027, 1, 13), MINI, True),
        (date(2027, 1, 14), MINI, False),
        (date(2027, 1, 14), LUNA, True),
    ):
        with serve(today=today) as url:
            if works:
                assert learns_model(url, model).learns(SIX)
                continue
            with pytest.raises(Refused, match=r"404: check openai_api_key .* and LearnsModel"):
                learns_model(url, model).learns(SIX)


def test_what_models_that_reason_do_not_take_is_refused(serve: Any) -> None:
    with serve() as url:
        for wrong in ({"max_tokens": 5}, {"temperature": 0}, {"reasoning_effort": "minimal"}):
            with pytest.raises(openai.BadRequestError, match="Unsupported"):
                client(url).chat.completions.create(model=LUNA, messages=[], **wrong)


def test_a_setting_that_the_model_refuses_is_no_text_s_fault(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = type("Facts", (), {"least_reasoning": "minimal"})
    monkeypatch.setattr("sakuin.knowledge.learns.openai.model_facts", lambda _name: wrong)
    with serve() as url, pytest.raises(Refused, match="'reasoning_effort': check LearnsModel"):
        learns_model(url).learns(SIX)


def test_more_than_the_context_is_refused_and_no_group_comes_near(serve: Any) -> None:
    asked = [{"role": "user", "content": "あ" * (CONTEXT_TOKENS + 1)}]
    with serve() as url, pytest.raises(openai.BadRequestError, match="maximum context length"):
        client(url).chat.completions.create(model=LUNA, messages=asked)
    group = "\n\n".join(one.content[:1_500] for one in SIX)
    body = {"model": LUNA, "messages": [{"role": "user", "content": group}]}
    assert Completion.of(body, date(2026, 11, 23)).read < CONTEXT_TOKENS / 10


def test_an_answer_that_is_cut_off_is_paid_for_and_unavailable(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sakuin.knowledge.learns.openai._MOST_TOKENS", 20)
    tokens: list[int] = []
    with serve() as url, pytest.raises(Unavailable, match="no usable answer"):
        learns_model(url, on_tokens=tokens.append).learns(SIX)
    assert len(tokens) == 1


def test_the_deployed_models_have_prices_and_no_end() -> None:
    from sakuin_local.aws.template import read_template
    from sakuin_local.places import TEMPLATE

    parameters = read_template(TEMPLATE)["Parameters"]
    known = {each.name: each for each in models()}
    embeds, writes = (known[parameters[name]["Default"]] for name in ("EmbeddingModel", "LearnsModel"))
    assert (embeds.shutdown, writes.shutdown) == (None, None)
    assert embeds.usd_read == float(parameters["EmbeddingUsdPerMillionTokens"]["Default"])
    assert (writes.name, writes.least_reasoning, known[MINI].replacement) == (LUNA, "none", LUNA)
