"""`Embedder` and `QuestionEmbedder`: every adapter, and OpenAI's two adapters when the service fails."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import httpx2
import pytest
from sakuin.errors import Invalid, OverBudget, RateLimited, Refused, SakuinError, Unavailable
from sakuin.platform.calls import Retries, background, interactive
from sakuin.platform.embedding import DIMENSIONS, Embedder, EmbeddingModel, QuestionEmbedder
from sakuin.platform.openai.embeddings import OpenAIEmbedder

from tests.contracts.openai_server import OpenAIServer
from tests.doubles.embedder import MODEL, MemoryEmbedder, vector_of

TEXTS = ["解の公式", "たすき掛け", "平方完成"]
Items = list[dict[str, Any]]


def questions_of(server: OpenAIServer, **parts: Any) -> OpenAIEmbedder:
    """The embedder of questions: two attempts, within five seconds."""
    return OpenAIEmbedder(server.session, MODEL, **{"ask": interactive(attempts=2), "all_seconds": 5.0, **parts})


def at_once() -> Retries:
    return Retries(attempts=2, max_seconds=60, max_pause=0)


@pytest.fixture(params=["memory", "openai"])
def embedder(request: pytest.FixtureRequest, server: OpenAIServer) -> Embedder:
    return MemoryEmbedder() if request.param == "memory" else OpenAIEmbedder(server.session, MODEL)


@pytest.fixture(params=["texts", "questions"])
def questions(request: pytest.FixtureRequest, server: OpenAIServer) -> OpenAIEmbedder:
    return questions_of(server) if request.param == "questions" else OpenAIEmbedder(server.session, MODEL)


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
        assert is_vector_of(text, embedder.query(text)), text


def test_vectors_may_come_as_lists_too(server: OpenAIServer) -> None:
    server.bends = lambda items: [{**item, "embedding": list(vector_of("解"))} for item in items]
    assert list(OpenAIEmbedder(server.session, MODEL).query("解")) == pytest.approx(list(vector_of("解")))


def test_each_kind_of_text_gets_its_prefix(server: OpenAIServer) -> None:
    embedder = OpenAIEmbedder(server.session, EmbeddingModel("e5", 1536, "query: ", "passage: "))
    embedder.passages(["本文"])
    embedder.query("質問")
    assert [request["input"] for request in server.requests] == [["passage: 本文"], ["query: 質問"]]
    assert {(request["model"], request["dimensions"]) for request in server.requests} == {("e5", 1536)}


def test_a_request_is_that_of_openai_s_sdk(server: OpenAIServer) -> None:
    server.client.embeddings.create(model=MODEL.name, input=["たすき掛け"], dimensions=MODEL.dimensions)
    OpenAIEmbedder(server.session, MODEL).query("たすき掛け")
    by_sdk, ours = server.requests
    assert ours == by_sdk


def test_no_request_exceeds_openai_s_limits(server: OpenAIServer) -> None:
    OpenAIEmbedder(server.session, MODEL).passages(["あ" * 6000] * 60 + ["い"] * 600)
    assert all(len(request["input"]) <= 2048 for request in server.requests)
    assert all(sum(map(len, request["input"])) <= 300_000 for request in server.requests)
    assert sum(len(request["input"]) for request in server.requests) == 660


def test_tokens_are_counted_where_the_answer_has_their_number(server: OpenAIServer) -> None:
    tokens: list[int] = []
    for server.tokens in (7, None, 5):
        OpenAIEmbedder(server.session, MODEL, tokens.append).query("質問")
    assert tokens == [7, 5]


def test_no_text_is_embedded_once_the_budget_is_spent(server: OpenAIServer) -> None:
    spent: list[int] = []

    def require_budget() -> None:
        if sum(spent) > 10:
            raise OverBudget("used up")

    server.tokens = 7
    embedder = OpenAIEmbedder(server.session, MODEL, spent.append, require_budget=require_budget)
    embedder.passages(TEXTS)
    embedder.passages(TEXTS)
    with pytest.raises(OverBudget):
        embedder.passages(TEXTS)
    # A question is embedded whatever was spent, and nothing to embed needs no budget.
    assert embedder.query("質問")
    assert embedder.passages([]) == []


# ---------------------------------------------------------------- statuses


def test_a_busy_service_is_asked_again(server: OpenAIServer, questions: QuestionEmbedder) -> None:
    for status in (408, 429, 500, 503):
        server.requests.clear()
        server.statuses = [status]
        assert len(questions.query("質問")) == DIMENSIONS, status
        assert len(server.requests) == 2, status


def test_a_service_that_stays_busy_is_unavailable(server: OpenAIServer, questions: OpenAIEmbedder) -> None:
    for status in (500, 503):
        server.requests.clear()
        server.statuses = [status] * 3
        with pytest.raises(Unavailable, match=str(status)):
            questions.query("質問")
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
                questions.query("質問")
            assert len(server.requests) == 1, status
    for status, server.error in UNPAID:
        server.requests.clear()
        server.statuses = [status] * 3
        with pytest.raises(Refused, match="Buy credit at") as refused:
            questions.query("質問")
        assert (refused.value.vendor, len(server.requests)) == ("openai", 1), server.error


def test_a_long_retry_after_is_not_waited_for(server: OpenAIServer, questions: OpenAIEmbedder) -> None:
    # A question waits less than twenty seconds.
    for seconds, asked in ((90, questions), (20, questions_of(server))):
        server.statuses, server.headers = [429], {"Retry-After": str(seconds)}
        server.requests.clear()
        with pytest.raises(RateLimited, match="Waiting for embeddings, about") as failure:
            asked.query("質問")
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
            questions_of(server, ask=at_once()).query("質問")
        assert failed.value.vendor == "openai", name


WRONG: tuple[bytes | float, ...] = (
    *(b"<html><body>Bad gateway</body></html>", b"", b"null", b"[]", b'{"object": "list", "data": null}', 0.5, 0.0),
    b'{"error": {"message": "The server had an error", "type": "server_error"}}',
    b'{"object": "list", "data": [{"index": 0',
)


def test_after_half_an_answer_or_another_page_the_service_is_asked_again(server: OpenAIServer) -> None:
    for wrong in WRONG:
        server.wrongs = [wrong]
        questions_of(server, ask=at_once()).query("質問")
        server.wrongs = [wrong] * 3
        with pytest.raises(Unavailable, match=r"did not answer|could not be read|did not return"):
            questions_of(server, ask=at_once()).query("質問")


def passages(server: OpenAIServer, texts: Sequence[str]) -> None:
    OpenAIEmbedder(server.session, MODEL, ask=background(attempts=1)).passages(texts)


def test_vectors_of_other_texts_or_width_are_unavailable(server: OpenAIServer, questions: QuestionEmbedder) -> None:
    server.bends = bent(index=0)
    with pytest.raises(Unavailable, match="did not return a vector for each text"):
        passages(server, TEXTS[:2])
    server.bends, server.dropped = list, 1
    with pytest.raises(Unavailable, match="a vector for each text"):
        passages(server, TEXTS)
    with pytest.raises(Unavailable, match="did not return a vector for each text"):
        questions_of(server).query("質問")
    server.dropped, server.width = 0, 384
    with pytest.raises(Unavailable, match="384 numbers instead of 1,536"):
        questions.query("質問")


def test_half_a_surrogate_pair_is_invalid_and_not_sent(server: OpenAIServer) -> None:
    with pytest.raises(Invalid, match="not valid Unicode"):
        passages(server, ["a\ud800"])
    assert server.requests == []


# ---------------------------------------------------------------- no answer


def test_a_service_that_hangs_is_unavailable_in_the_time_of_the_caller(server: OpenAIServer) -> None:
    server.wrongs = [None, None]
    texts = OpenAIEmbedder(server.session, MODEL, ask=background(attempts=1), seconds=0.2)
    with pytest.raises(Unavailable, match="did not answer"):
        texts.passages(TEXTS)
    with pytest.raises(Unavailable, match="took longer than 1 seconds"):
        questions_of(server, all_seconds=1.0).query("質問")
    assert len(server.requests) == 2


def test_a_slow_answer_to_a_question_is_unavailable(server: OpenAIServer) -> None:
    # Each reading of the clock costs a second; the answer comes at once.
    ticks = map(float, itertools.count())
    with pytest.raises(Unavailable, match="took longer"):
        questions_of(server, all_seconds=2.5, clock=lambda: next(ticks)).query("質問")


def test_a_service_that_cannot_be_reached_is_unavailable() -> None:
    with httpx2.Client(base_url="http://127.0.0.1:9/v1") as session, pytest.raises(Unavailable, match="did not answer"):
        OpenAIEmbedder(session, MODEL).query("質問")
