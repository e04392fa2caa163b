"""`Embedder` and `QuestionEmbedder`: every adapter, and OpenAI's two adapters when the service fails."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import psycopg
import pytest
from openai import OpenAI
from sakuin.errors import Invalid, Refused, SakuinError, Unavailable
from sakuin.platform.calls import Retries, background
from sakuin.platform.embedding import Embedder, EmbeddingModel, QuestionEmbedder
from sakuin.platform.openai.budget import EmbeddingLedger, TokenCounter
from sakuin.platform.openai.embeddings import OpenAIEmbedder
from sakuin.platform.openai.questions import OpenAIQuestions, connected
from sakuin.platform.supabase.client import Client

from tests.contracts.openai_server import OpenAIServer
from tests.doubles.embedder import DIMENSIONS, MODEL, MemoryEmbedder, vector_of

TEXTS = ["解の公式", "たすき掛け", "平方完成"]
ADAPTERS = ("sdk", "without sdk")
Items = list[dict[str, Any]]


@contextmanager
def adapter(server: OpenAIServer, kind: str, **parts: Any) -> Iterator[OpenAIEmbedder | OpenAIQuestions]:
    """One of OpenAI's adapters, connected to the server."""
    if kind == "sdk":
        yield OpenAIEmbedder(server.client, MODEL, **parts)
    else:
        with connected(server.url, "sk-test") as session:
            yield OpenAIQuestions(session, MODEL, **parts)


def at_once() -> Retries:
    return Retries(attempts=2, max_seconds=60, max_pause=0)


@pytest.fixture(params=["memory", "openai"])
def embedder(request: pytest.FixtureRequest, server: OpenAIServer) -> Embedder:
    return MemoryEmbedder() if request.param == "memory" else OpenAIEmbedder(server.client, MODEL)


@pytest.fixture(params=ADAPTERS)
def questions(request: pytest.FixtureRequest, server: OpenAIServer) -> Iterator[OpenAIEmbedder | OpenAIQuestions]:
    with adapter(server, request.param) as made:
        yield made


def test_vectors_come_in_the_order_of_the_texts(embedder: Embedder) -> None:
    for text, vector in zip(TEXTS, embedder.passages(TEXTS), strict=True):
        assert len(vector) == DIMENSIONS
        assert math.hypot(*vector) == pytest.approx(1, abs=1e-5)
        assert list(vector) == pytest.approx(list(vector_of(text)), abs=1e-6)


@pytest.mark.parametrize("kind", ["memory", *ADAPTERS])
def test_a_question_s_vector_has_its_dimensions_and_length_1(server: OpenAIServer, kind: str) -> None:
    with adapter(server, kind) as made:
        asked: QuestionEmbedder = MemoryEmbedder() if kind == "memory" else made
        for text in ("解の公式", "x²+5x+6=0", '"引用"\n改行', " "):
            vector = asked.query(text)
            assert len(vector) == DIMENSIONS
            assert math.hypot(*vector) == pytest.approx(1, abs=1e-5)
            assert list(vector) == pytest.approx(list(vector_of(text)), abs=1e-6), text


def test_any_number_of_texts_has_as_many_vectors(embedder: Embedder) -> None:
    assert embedder.passages([]) == []
    assert len(embedder.passages([f"例{number}" for number in range(300)])) == 300


def test_each_kind_of_text_gets_its_prefix(server: OpenAIServer) -> None:
    embedder = OpenAIEmbedder(server.client, EmbeddingModel("e5", 1536, "query: ", "passage: "))
    embedder.passages(["本文"])
    embedder.query("質問")
    assert [request["input"] for request in server.requests] == [["passage: 本文"], ["query: 質問"]]
    assert {(request["model"], request["dimensions"]) for request in server.requests} == {("e5", 1536)}


def test_a_question_is_the_same_request_with_and_without_the_sdk(server: OpenAIServer) -> None:
    model = EmbeddingModel("e5", 1536, "query: ", "passage: ")
    OpenAIEmbedder(server.client, model).query("たすき掛け")
    with connected(server.url, "sk-test") as session:
        OpenAIQuestions(session, model).query("たすき掛け")
    by_sdk, ours = ({**request, "encoding_format": "any"} for request in server.requests)
    assert ours == by_sdk


def test_no_request_exceeds_openai_s_limits(server: OpenAIServer) -> None:
    OpenAIEmbedder(server.client, MODEL).passages(["あ" * 6000] * 60 + ["い"] * 600)
    assert all(len(request["input"]) <= 2048 for request in server.requests)
    assert all(sum(map(len, request["input"])) <= 300_000 for request in server.requests)
    assert sum(len(request["input"]) for request in server.requests) == 660


@pytest.mark.parametrize("kind", ADAPTERS)
def test_tokens_are_counted_where_the_answer_has_their_number(server: OpenAIServer, kind: str) -> None:
    tokens: list[int] = []
    with adapter(server, kind, on_tokens=tokens.append) as questions:
        for server.tokens in (7, None, 5):
            questions.query("質問")
    assert tokens == [7, 5]


def test_vectors_come_back_though_the_ledger_of_tokens_is_unavailable(
    server: OpenAIServer, service: Client, sql: psycopg.Connection
) -> None:
    sql.execute("delete from embedding_day")
    ledger, server.tokens = UnavailableLedger(EmbeddingLedger(service)), 7
    embedder = OpenAIEmbedder(server.client, MODEL, TokenCounter(ledger))
    assert len(embedder.passages(TEXTS)) == 3
    ledger.down = False
    embedder.passages(TEXTS)
    assert ledger.spent() == 14


@dataclass
class UnavailableLedger:
    """A ledger that takes nothing while it is `down`."""

    real: EmbeddingLedger
    down: bool = True

    def spent(self) -> int:
        return self.real.spent()

    def add(self, tokens: int) -> None:
        if self.down:
            raise Unavailable("Supabase did not answer")
        self.real.add(tokens)


# ---------------------------------------------------------------- statuses


def test_a_busy_service_is_asked_again(server: OpenAIServer, questions: QuestionEmbedder) -> None:
    for status in (408, 429, 500, 503):
        server.requests.clear()
        server.statuses = [status]
        assert len(questions.query("質問")) == DIMENSIONS, status
        assert len(server.requests) == 2, status


def test_a_service_that_stays_busy_is_unavailable(server: OpenAIServer, questions: QuestionEmbedder) -> None:
    for status in (500, 503):
        server.requests.clear()
        server.statuses = [status] * 3
        with pytest.raises(Unavailable, match=str(status)):
            questions.query("質問")
        assert len(server.requests) == (3 if isinstance(questions, OpenAIEmbedder) else 2), status


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


def test_a_long_retry_after_is_not_waited_for(server: OpenAIServer, questions: QuestionEmbedder) -> None:
    server.statuses, server.headers = [429], {"Retry-After": "90"}
    with pytest.raises(Unavailable) as failure:
        questions.query("質問")
    assert (failure.value.vendor, failure.value.retry_after, len(server.requests)) == ("openai", 90.0, 1)


def test_a_question_waits_less_than_twenty_seconds(server: OpenAIServer) -> None:
    server.statuses, server.headers = [429], {"Retry-After": "20"}
    with adapter(server, "without sdk") as questions, pytest.raises(Unavailable) as failure:
        questions.query("質問")
    assert (failure.value.vendor, failure.value.retry_after, len(server.requests)) == ("openai", 20.0, 1)


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


@pytest.mark.parametrize("kind", ADAPTERS)
def test_an_answer_without_a_usable_vector_is_unavailable(server: OpenAIServer, kind: str) -> None:
    for name, server.bends in BENDS.items():
        with (
            adapter(server, kind, ask=at_once()) as questions,
            pytest.raises(Unavailable, match="embedding service") as failed,
        ):
            questions.query("質問")
        assert failed.value.vendor == "openai", name


WRONG: tuple[bytes | float, ...] = (
    *(b"<html><body>Bad gateway</body></html>", b"", b"null", b"[]", b'{"object": "list", "data": null}', 0.5, 0.0),
    b'{"error": {"message": "The server had an error", "type": "server_error"}}',
    b'{"object": "list", "data": [{"index": 0',
)


@pytest.mark.parametrize("kind", ADAPTERS)
def test_after_half_an_answer_or_another_page_the_service_is_asked_again(server: OpenAIServer, kind: str) -> None:
    for wrong in WRONG:
        with adapter(server, kind, ask=at_once()) as questions:
            server.wrongs = [wrong]
            questions.query("質問")
        with adapter(server, kind, ask=at_once()) as questions:
            server.wrongs = [wrong] * 3
            with pytest.raises(Unavailable, match=r"did not answer|could not be read|did not return"):
                questions.query("質問")


def passages(server: OpenAIServer, texts: Sequence[str]) -> None:
    OpenAIEmbedder(server.client, MODEL, ask=background(attempts=1)).passages(texts)


def test_vectors_of_other_texts_and_of_another_width_are_unavailable(
    server: OpenAIServer, questions: QuestionEmbedder
) -> None:
    server.bends = bent(index=0)
    with pytest.raises(Unavailable, match="did not return 2 vectors"):
        passages(server, TEXTS[:2])
    server.bends, server.dropped = list, 1
    with pytest.raises(Unavailable, match="3 vectors"):
        passages(server, TEXTS)
    with adapter(server, "without sdk") as question, pytest.raises(Unavailable, match="did not return 1 vectors"):
        question.query("質問")
    server.dropped, server.width = 0, 384
    with pytest.raises(Unavailable, match="1536"):
        questions.query("質問")


def test_half_a_surrogate_pair_is_invalid_and_not_sent(server: OpenAIServer) -> None:
    with pytest.raises(Invalid, match="not valid Unicode"):
        passages(server, ["a\ud800"])
    assert server.requests == []


# ---------------------------------------------------------------- no answer


def test_a_service_that_hangs_is_unavailable_in_the_time_of_the_caller(server: OpenAIServer) -> None:
    server.wrongs = [None, None]
    texts = OpenAIEmbedder(server.client.with_options(timeout=0.2), MODEL, ask=background(attempts=1))
    with pytest.raises(Unavailable, match="did not answer"):
        texts.passages(TEXTS)
    with adapter(server, "without sdk", seconds=1) as question, pytest.raises(Unavailable, match="took longer than"):
        question.query("質問")
    assert len(server.requests) == 2


def test_a_slow_answer_to_a_question_is_unavailable(server: OpenAIServer) -> None:
    # Each reading of the clock costs a second; the answer comes at once.
    ticks = map(float, itertools.count())
    with (
        adapter(server, "without sdk", seconds=1.5, clock=lambda: next(ticks)) as questions,
        pytest.raises(Unavailable, match="took longer"),
    ):
        questions.query("質問")


def test_a_service_that_cannot_be_reached_is_unavailable() -> None:
    url = "http://127.0.0.1:9/v1"
    with pytest.raises(Unavailable):
        OpenAIEmbedder(OpenAI(api_key="sk-test", base_url=url, max_retries=0), MODEL).query("質問")
    with httpx.Client(base_url=url) as session, pytest.raises(Unavailable, match="did not answer"):
        OpenAIQuestions(session, MODEL).query("質問")
