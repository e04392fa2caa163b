"""`Embedder`, `QuestionEmbedder` and `LearnsModel`: every adapter, and OpenAI's when the service fails."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from openai import OpenAI, Timeout
from sakuin.errors import Invalid, OverBudget, RateLimited, Refused, SakuinError, Unavailable
from sakuin.knowledge.learns.instructions import INSTRUCTIONS, Section
from sakuin.knowledge.learns.openai import OpenAILearnsModel
from sakuin.knowledge.learns.sources import LearnsModel
from sakuin.platform.calls import Retries, background, interactive
from sakuin.platform.embedding import DIMENSIONS, Embedder, EmbeddingModel, QuestionEmbedder
from sakuin.platform.openai.client import PunctualTransport, connected
from sakuin.platform.openai.embeddings import OpenAIEmbedder
from sakuin.platform.openai.models import models
from sakuin_local.aws.template import read_template
from sakuin_local.places import TEMPLATE

from tests.contracts.openai_server import OpenAIServer
from tests.doubles.embedder import MODEL, MemoryEmbedder, vector_of
from tests.doubles.learns_model import MemoryLearnsModel

TEXTS = ["解の公式", "たすき掛け", "平方完成"]

Items = list[dict[str, Any]]


def questions_of(server: OpenAIServer, **parts: Any) -> OpenAIEmbedder:
    """The embedder of questions: two attempts, within five seconds."""
    return OpenAIEmbedder(server.embeddings, MODEL, **{"ask": interactive(attempts=2), "all_seconds": 5.0, **parts})


def at_once() -> Retries:
    return Retries(attempts=2, max_seconds=60, max_pause=0)


@pytest.fixture(params=["memory", "openai"])
def embedder(request: pytest.FixtureRequest, server: OpenAIServer) -> Embedder:
    return MemoryEmbedder() if request.param == "memory" else OpenAIEmbedder(server.embeddings, MODEL)


@pytest.fixture(params=["texts", "questions"])
def questions(request: pytest.FixtureRequest, server: OpenAIServer) -> OpenAIEmbedder:
    return questions_of(server) if request.param == "questions" else OpenAIEmbedder(server.embeddings, MODEL)


def is_vector_of(text: str, vector: Sequence[float]) -> bool:
    """Whether a vector has its dimensions, the length 1, and the numbers of the double."""
    has_form = len(vector) == DIMENSIONS and math.hypot(*vector) == pytest.approx(1, abs=1e-5)
    return has_form and list(vector) == pytest.approx(list(vector_of(text)), abs=1e-6)


def test_vectors_of_any_number_of_texts_come_in_their_order(embedder: Embedder) -> None:
    for texts in ([], TEXTS, [f"例{number}" for number in range(300)]):
        vectors = embedder.passages(texts)
        assert [is_vector_of(text, vector) for text, vector in zip(texts, vectors, strict=True)] == [True] * len(texts)


def test_a_question_s_vector_has_its_dimensions_and_length_1(embedder: Embedder) -> None:
    for text in ("解の公式", "x²+5x+6=0", '"引用"\n改行', " "):
        assert is_vector_of(text, embedder.questions([text])[0]), text


def test_vectors_may_come_as_lists_too(server: OpenAIServer) -> None:
    server.bends = lambda items: [{**item, "embedding": list(vector_of("解"))} for item in items]
    assert list(OpenAIEmbedder(server.embeddings, MODEL).questions(["解"])[0]) == pytest.approx(list(vector_of("解")))


def test_each_kind_of_text_gets_its_prefix(server: OpenAIServer) -> None:
    embedder = OpenAIEmbedder(server.embeddings, EmbeddingModel("e5", 1536, "query: ", "passage: "))
    embedder.passages(["本文"])
    embedder.questions(["質問"])
    assert [request["input"] for request in server.requests] == [["passage: 本文"], ["query: 質問"]]
    assert {(request["model"], request["dimensions"]) for request in server.requests} == {("e5", 1536)}


def test_no_request_exceeds_openai_s_limits(server: OpenAIServer) -> None:
    OpenAIEmbedder(server.embeddings, MODEL).passages(["あ" * 6000] * 60 + ["い"] * 600)
    assert all(len(request["input"]) <= 2048 for request in server.requests)
    assert all(sum(map(len, request["input"])) <= 300_000 for request in server.requests)
    assert sum(len(request["input"]) for request in server.requests) == 660


def test_tokens_are_counted_where_the_answer_has_their_number(server: OpenAIServer) -> None:
    tokens: list[int] = []
    for server.tokens in (7, None, 5):
        OpenAIEmbedder(server.embeddings, MODEL, tokens.append).questions(["質問"])
    assert tokens == [7, 5]


def test_no_text_is_embedded_once_the_budget_is_spent(server: OpenAIServer) -> None:
    spent: list[int] = []

    def require_budget() -> None:
        if sum(spent) > 10:
            raise OverBudget("used up")

    server.tokens = 7
    embedder = OpenAIEmbedder(server.embeddings, MODEL, spent.append, require_budget=require_budget)
    embedder.passages(TEXTS)
    embedder.passages(TEXTS)
    for embed in (lambda: embedder.passages(TEXTS), lambda: embedder.questions(["質問"])):
        with pytest.raises(OverBudget):
            embed()
    # Nothing to embed needs no budget.
    assert embedder.passages([]) == []


# ---------------------------------------------------------------- statuses


def test_a_busy_service_is_asked_again(server: OpenAIServer, questions: QuestionEmbedder) -> None:
    for status in (408, 429, 500, 503):
        server.requests.clear()
        server.statuses = [status]
        assert len(questions.questions(["質問"])[0]) == DIMENSIONS, status
        assert len(server.requests) == 2, status


def test_a_service_that_stays_busy_is_unavailable(server: OpenAIServer, questions: OpenAIEmbedder) -> None:
    for status in (500, 503):
        server.requests.clear()
        server.statuses = [status] * 3
        with pytest.raises(Unavailable, match=str(status)):
            questions.questions(["質問"])
        assert len(server.requests) == (2 if questions.all_seconds == 5 else 3), status


UNPAID = (
    (429, {"type": "insufficient_quota", "code": "insufficient_quota"}),
    (429, {"type": "billing_not_active"}),
    (400, {"code": "billing_hard_limit_reached"}),
)


def test_a_refused_request_is_not_sent_again(server: OpenAIServer, questions: QuestionEmbedder) -> None:
    expected: dict[type[SakuinError], tuple[int, ...]] = {Invalid: (400, 413), Refused: (401, 402, 403, 404)}
    for error, statuses in expected.items():
        for status in statuses:
            server.requests.clear()
            server.statuses = [status] * 3
            with pytest.raises(error, match=str(status)):
                questions.questions(["質問"])
            assert len(server.requests) == 1, status
    for status, server.error in UNPAID:
        server.requests.clear()
        server.statuses = [status] * 3
        with pytest.raises(Refused, match="Buy credit at") as refused:
            questions.questions(["質問"])
        assert (refused.value.vendor, len(server.requests)) == ("openai", 1), server.error


def test_a_long_retry_after_is_not_waited_for(server: OpenAIServer, questions: OpenAIEmbedder) -> None:
    # A question waits less than twenty seconds.
    for seconds, asked in ((90, questions), (20, questions_of(server))):
        server.statuses, server.headers = [429], {"Retry-After": str(seconds)}
        server.requests.clear()
        with pytest.raises(RateLimited, match="Waiting for embeddings, about") as failure:
            asked.questions(["質問"])
        assert (failure.value.vendor, failure.value.retry_after, len(server.requests)) == ("openai", seconds, 1)


# ---------------------------------------------------------------- wrong answers


def bent(**changes: object) -> Callable[[Items], Items]:
    """The first item of an answer in another way."""
    return lambda items: [{**items[0], **changes}, *items[1:]]


BENDS: dict[str, Callable[[Items], Items]] = {
    "too high": bent(index=7),
    "negative": bent(index=-1),
    "nan": bent(embedding=[math.nan] * DIMENSIONS),
    "infinite": bent(embedding=[math.inf] + [0.0] * (DIMENSIONS - 1)),
    "zeros": bent(embedding=[0.0] * DIMENSIONS),
    "empty": bent(embedding=[]),
    "null": bent(embedding=None),
    "text": bent(embedding="not base64"),
    "few": lambda items: items[1:],
    "many": lambda items: [*items, items[0]],
    "nothing": lambda items: [None, *items[1:]],
}


def test_an_answer_without_a_usable_vector_is_unavailable(server: OpenAIServer) -> None:
    for name, server.bends in BENDS.items():
        with pytest.raises(Unavailable, match="embedding service") as failed:
            questions_of(server, ask=at_once()).questions(["質問"])
        assert failed.value.vendor == "openai", name


WRONG: tuple[bytes | float, ...] = (
    *(b"<html><body>Bad gateway</body></html>", b"", b"null", b"[]", b'{"object": "list", "data": null}', 0.5, 0.0),
    b'{"error": {"message": "The server had an error", "type": "server_error"}}',
    b'{"object": "list", "data": [{"index": 0',
)


def test_after_half_an_answer_or_another_page_the_service_is_asked_again(server: OpenAIServer) -> None:
    for wrong in WRONG:
        server.wrongs = [wrong]
        questions_of(server, ask=at_once()).questions(["質問"])
        server.wrongs = [wrong] * 3
        with pytest.raises(Unavailable, match=r"did not answer|could not be read|did not return"):
            questions_of(server, ask=at_once()).questions(["質問"])


def passages(server: OpenAIServer, texts: Sequence[str]) -> None:
    OpenAIEmbedder(server.embeddings, MODEL, ask=background(attempts=1)).passages(texts)


def test_vectors_of_other_texts_or_width_are_unavailable(server: OpenAIServer, questions: QuestionEmbedder) -> None:
    server.bends = bent(index=0)
    with pytest.raises(Unavailable, match="did not return a vector for each text"):
        passages(server, TEXTS[:2])
    server.bends, server.dropped = list, 1
    with pytest.raises(Unavailable, match="a vector for each text"):
        passages(server, TEXTS)
    with pytest.raises(Unavailable, match="could not be read"):
        questions_of(server).questions(["質問"])
    server.dropped, server.width = 0, 384
    with pytest.raises(Unavailable, match="384 numbers instead of 1,536"):
        questions.questions(["質問"])


def test_half_a_surrogate_pair_is_invalid_and_not_sent(server: OpenAIServer) -> None:
    with pytest.raises(Invalid, match="not valid Unicode"):
        passages(server, ["a\ud800"])
    assert server.requests == []


# ---------------------------------------------------------------- no answer


def test_a_service_that_hangs_is_unavailable_in_the_time_of_the_caller(server: OpenAIServer) -> None:
    server.wrongs = [None, None]
    texts = OpenAIEmbedder(server.embeddings, MODEL, ask=background(attempts=1), seconds=0.2)
    with pytest.raises(Unavailable, match="did not answer"):
        texts.passages(TEXTS)
    with pytest.raises(Unavailable, match="took longer than 1 seconds"):
        questions_of(server, all_seconds=1.0).questions(["質問"])
    assert len(server.requests) == 2


def test_a_slow_answer_is_unavailable_whose_every_byte_comes_in_time() -> None:
    now = [0.0]

    def bytes_of_an_answer() -> Iterator[bytes]:
        for byte in b'{"data": []}':
            now[0] += 1.0
            yield bytes([byte])

    def answer(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=bytes_of_an_answer())

    session = httpx2.Client(transport=PunctualTransport(httpx2.MockTransport(answer), lambda: now[0]))
    embeddings = connected("http://openai", "sk-test", session).embeddings
    with pytest.raises(Unavailable, match="did not answer"):
        OpenAIEmbedder(embeddings, MODEL, ask=background(attempts=1), seconds=5.0, clock=lambda: now[0]).questions(
            ["質問"]
        )
    assert now == [6.0]


def test_a_service_that_cannot_be_reached_is_unavailable() -> None:
    embeddings = connected("http://127.0.0.1:9/v1", "sk-test").embeddings
    with pytest.raises(Unavailable, match="did not answer"):
        OpenAIEmbedder(embeddings, MODEL).questions(["質問"])


ITEMS = ("公式に代入する方法", "符号を確かめる手順", "根号の計算")

SAYINGS = (
    Section("junior/x", "rule-f", "解の公式", "係数を代入する。", ("二次方程式", "解き方"), "平方完成", "判別式", "ja"),
)


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
    assert model.learns(SAYINGS) == {"rule-f": ITEMS}
    assert model.name


def test_one_call_asks_for_structure_with_the_least_reasoning(server: OpenAIServer, openai: OpenAILearnsModel) -> None:
    openai.learns(SAYINGS)
    (request,) = server.requests
    assert request["model"] == "gpt-6-luna"
    assert request["response_format"]["type"] == "json_schema"
    assert (request["reasoning_effort"], request["max_completion_tokens"]) == ("none", 3_000)
    # Models that reason take no `max_tokens`, and those that do not reason no effort.
    assert "max_tokens" not in request
    OpenAILearnsModel(server.client, "gpt-4.1-mini").learns(SAYINGS)
    assert "reasoning_effort" not in server.requests[1]


def test_the_model_reads_the_instructions_and_the_section_with_its_place(
    server: OpenAIServer, openai: OpenAILearnsModel
) -> None:
    openai.learns(SAYINGS)
    instructions, section = (message["content"] for message in server.requests[0]["messages"])
    assert INSTRUCTIONS in instructions
    shown = (
        "title: 解の公式",
        "path: 二次方程式 › 解き方",
        "neighbours: 平方完成 / 判別式",
        "language: ja",
        "係数を代入する。",
    )
    assert all(line in section for line in shown)


def test_a_long_section_is_read_whole_in_parts_whose_items_take_turns(server: OpenAIServer) -> None:
    parts = [{"anchor": f"rule-f ({part} of 2)", "learns": [f"{part}の方法", f"{part}の計算"]} for part in (1, 2)]
    server.said = json.dumps({"items": parts})
    model = OpenAILearnsModel(server.client, "gpt-6-luna")
    answer = model.learns((replace(SAYINGS[0], text="あ" * 12_000),))
    assert answer == {"rule-f": ("1の方法", "2の方法", "1の計算", "2の計算")}
    assert server.requests[0]["messages"][1]["content"].count("あ") == 12_000


def test_sections_too_long_for_one_call_take_several_and_keep_the_answers_before_a_failure(
    server: OpenAIServer, openai: OpenAILearnsModel
) -> None:
    long = [replace(SAYINGS[0], anchor=f"rule-{number}", text="あ" * 11_000) for number in range(3)]
    assert set(openai.learns(long)) == {"rule-0", "rule-1", "rule-2"}
    assert len(server.requests) == 2
    server.statuses = [200, 500]
    assert set(openai.learns(long)) == {"rule-0", "rule-1"}


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
            openai.learns(SAYINGS)
        assert len(server.requests) == 1, status


def test_an_answer_is_paid_for_even_if_it_is_cut_off(server: OpenAIServer) -> None:
    tokens: list[int] = []
    server.tokens, server.finish = 7, "length"
    model = OpenAILearnsModel(server.client, "gpt-6-luna", tokens.append)
    with pytest.raises(Unavailable, match="no usable answer"):
        model.learns(SAYINGS)
    server.tokens, server.finish, server.said = 5, "stop", '{"items": []}'
    assert (model.learns(SAYINGS), tokens) == ({"rule-f": ()}, [7, 5])


def test_an_answer_that_is_written_too_slowly_is_unavailable(server: OpenAIServer) -> None:
    server.wrongs = [None]
    with pytest.raises(Unavailable, match="no usable answer in time") as late:
        OpenAILearnsModel(server.client, "gpt-6-luna", timeout=Timeout(0.2)).learns(SAYINGS)
    assert late.value.retry_after is None


@pytest.mark.parametrize("said", ["not JSON", "{}", '{"items": [{"anchor": 1}]}'])
def test_an_unusable_answer_is_unavailable(server: OpenAIServer, openai: OpenAILearnsModel, said: str) -> None:
    server.said = said
    with pytest.raises(Unavailable):
        openai.learns(SAYINGS)


def test_a_model_that_cannot_be_reached_is_unavailable() -> None:
    unreachable = OpenAI(api_key="sk-test", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(Unavailable):
        OpenAILearnsModel(unreachable, "gpt-6-luna").learns(SAYINGS)


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
