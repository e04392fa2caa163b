"""What every `Embedder` promises, and what OpenAI's does when the service misbehaves."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from openai import OpenAI
from sakuin.errors import Invalid, Refused, SakuinError, Unavailable
from sakuin.platform.calls import Retries, background
from sakuin.platform.embedding import Embedder, EmbeddingModel
from sakuin.platform.openai.embeddings import OpenAIEmbedder
from sakuin.platform.openai.questions import OpenAIQuestions, connected
from sakuin.retrieval.embedding_budget import EmbeddingLedger, TokenCounter
from supabase import Client

from tests.contracts.openai_server import OpenAIServer, openai_server
from tests.doubles.embedder import DIMENSIONS, MODEL, MemoryEmbedder, vector_of

TEXTS = ["解の公式", "たすき掛け", "平方完成"]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with openai_server() as running:
        yield running


@pytest.fixture(params=["memory", "openai"])
def embedder(request: pytest.FixtureRequest, server: OpenAIServer) -> Embedder:
    """Each adapter in turn."""
    return MemoryEmbedder() if request.param == "memory" else OpenAIEmbedder(server.client, MODEL)


def test_vectors_come_in_the_order_of_the_texts(embedder: Embedder) -> None:
    vectors = embedder.passages(TEXTS)
    for text, vector in zip(TEXTS, vectors, strict=True):
        assert list(vector) == pytest.approx(list(vector_of(text)), abs=1e-6)


def test_a_vector_has_its_dimensions_and_length_1(embedder: Embedder) -> None:
    for vector in (*embedder.passages(TEXTS), embedder.query(TEXTS[0])):
        assert len(vector) == DIMENSIONS
        assert math.hypot(*vector) == pytest.approx(1, abs=1e-5)


def test_no_text_is_no_vector(embedder: Embedder) -> None:
    assert embedder.passages([]) == []


def test_more_texts_than_one_request_takes_come_back_whole(embedder: Embedder) -> None:
    texts = [f"例{number}" for number in range(300)]
    assert len(embedder.passages(texts)) == 300


def test_each_kind_of_text_gets_its_prefix(server: OpenAIServer) -> None:
    embedder = OpenAIEmbedder(server.client, EmbeddingModel("e5", 1536, "query: ", "passage: "))
    embedder.passages(["本文"])
    embedder.query("質問")
    assert [request["input"] for request in server.requests] == [["passage: 本文"], ["query: 質問"]]
    assert {(request["model"], request["dimensions"]) for request in server.requests} == {("e5", 1536)}


def test_no_request_exceeds_what_openai_takes(server: OpenAIServer) -> None:
    OpenAIEmbedder(server.client, MODEL).passages(["あ" * 6000] * 60 + ["い"] * 600)
    assert all(len(request["input"]) <= 2048 for request in server.requests)
    assert all(sum(map(len, request["input"])) <= 300_000 for request in server.requests)
    assert sum(len(request["input"]) for request in server.requests) == 660


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_service_is_asked_again(server: OpenAIServer, status: int) -> None:
    server.statuses = [status]
    assert len(OpenAIEmbedder(server.client, MODEL).passages(TEXTS)) == 3
    assert len(server.requests) == 2


@pytest.mark.parametrize("status", [429, 503])
def test_a_service_that_stays_busy_is_unavailable(server: OpenAIServer, status: int) -> None:
    server.statuses = [status] * 3
    with pytest.raises(Unavailable, match=str(status)):
        OpenAIEmbedder(server.client, MODEL).query("質問")


@pytest.mark.parametrize(
    ("status", "error"),
    [(400, Invalid), (413, Invalid), (401, Refused), (402, Refused), (403, Refused), (404, Refused)],
)
def test_a_refused_request_is_not_sent_again(server: OpenAIServer, status: int, error: type[SakuinError]) -> None:
    server.statuses = [status]
    with pytest.raises(error, match=str(status)):
        OpenAIEmbedder(server.client, MODEL).query("質問")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (429, {"type": "insufficient_quota", "code": "insufficient_quota"}),
        (429, {"type": "billing_not_active"}),
        (400, {"code": "billing_hard_limit_reached"}),
    ],
)
def test_an_account_that_does_not_pay_is_no_haste_and_no_text_s_fault(
    server: OpenAIServer, status: int, error: dict[str, str]
) -> None:
    server.statuses, server.error = [status] * 3, error
    with pytest.raises(Refused, match="a bill is open") as refused:
        OpenAIEmbedder(server.client, MODEL).query("質問")
    assert (refused.value.vendor, len(server.requests)) == ("openai", 1)


def test_a_service_that_wants_a_long_pause_is_not_waited_for(server: OpenAIServer) -> None:
    server.statuses, server.headers = [429], {"Retry-After": "90"}
    with pytest.raises(Unavailable) as failure:
        OpenAIEmbedder(server.client, MODEL).passages(TEXTS)
    assert (failure.value.vendor, failure.value.retry_after, len(server.requests)) == ("openai", 90.0, 1)


def test_a_service_that_hangs_is_given_up(server: OpenAIServer) -> None:
    server.wrongs = [None]
    impatient = OpenAIEmbedder(server.client.with_options(timeout=0.2), MODEL, ask=background(attempts=1))
    with pytest.raises(Unavailable, match="did not answer"):
        impatient.passages(TEXTS)


def bent(**changes: object) -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    """The first item of an answer in another way."""
    return lambda items: [{**items[0], **changes}, *items[1:]]


@pytest.mark.parametrize(
    "bends",
    [
        bent(index=7),
        bent(index=-1),
        bent(embedding=[math.nan] * DIMENSIONS),
        bent(embedding=[math.inf] + [0.0] * (DIMENSIONS - 1)),
        bent(embedding=[0.0] * DIMENSIONS),
        bent(embedding=[]),
        bent(embedding=None),
        bent(embedding="not base64"),
        lambda items: items[1:],
        lambda items: [*items, items[0]],
        lambda items: [None, *items[1:]],
    ],
    ids=[
        "too high",
        "negative",
        "nan",
        "infinite",
        "zeros",
        "empty",
        "null",
        "text",
        "few",
        "many",
        "nothing",
    ],
)
@pytest.mark.parametrize("client", ["sdk", "without sdk"])
def test_an_answer_with_a_vector_that_is_none_is_not_taken(
    server: OpenAIServer, bends: Callable[[list[dict[str, Any]]], list[dict[str, Any]]], client: str
) -> None:
    server.bends = bends
    with pytest.raises(Unavailable, match="embedding service") as failure:
        asked(server, client)
    assert failure.value.vendor == "openai"


@pytest.mark.parametrize(
    "wrong",
    [
        b"<html><body>Bad gateway</body></html>",
        b"",
        b"null",
        b"[]",
        b'{"error": {"message": "The server had an error", "type": "server_error"}}',
        b'{"object": "list", "data": null}',
        b'{"object": "list", "data": [{"index": 0',
        0.5,
        0.0,
    ],
)
@pytest.mark.parametrize("client", ["sdk", "without sdk"])
def test_half_an_answer_or_another_s_page_is_asked_for_again(
    server: OpenAIServer, wrong: bytes | float, client: str
) -> None:
    server.wrongs = [wrong]
    asked(server, client)
    server.wrongs = [wrong] * 3
    with pytest.raises(Unavailable, match=r"did not answer|not understood|did not give"):
        asked(server, client)


def asked(server: OpenAIServer, client: str) -> None:
    at_once = Retries(attempts=2, max_seconds=60, max_pause=0)
    if client == "sdk":
        OpenAIEmbedder(server.client, MODEL, ask=at_once).passages(["質問"])
    else:
        with connected(server.url, "sk-test") as session:
            OpenAIQuestions(session, MODEL, ask=at_once).query("質問")


def test_two_vectors_for_one_text_and_none_for_another_are_not_taken(server: OpenAIServer) -> None:
    server.bends = bent(index=0)
    with pytest.raises(Unavailable, match="did not give 2 vectors"):
        OpenAIEmbedder(server.client, MODEL, ask=background(attempts=1)).passages(TEXTS[:2])


def test_half_a_character_is_the_text_s_own_fault(server: OpenAIServer) -> None:
    with pytest.raises(Invalid, match="no Unicode"):
        OpenAIEmbedder(server.client, MODEL).passages(["a\ud800"])
    assert server.requests == []


@dataclass
class Away:
    """A ledger that cannot be reached as long as it is `down`."""

    real: EmbeddingLedger
    down: bool = True

    def spent(self) -> int:
        return self.real.spent()

    def add(self, tokens: int) -> None:
        if self.down:
            raise Unavailable("Supabase did not answer")
        self.real.add(tokens)


def test_vectors_that_are_paid_for_come_back_though_nobody_can_count_them(
    server: OpenAIServer, service: Client, sql: psycopg.Connection
) -> None:
    sql.execute("delete from embedding_day")
    ledger, server.tokens = Away(EmbeddingLedger(service)), 7
    embedder = OpenAIEmbedder(server.client, MODEL, TokenCounter(ledger))
    assert len(embedder.passages(TEXTS)) == 3
    ledger.down = False
    embedder.passages(TEXTS)
    assert ledger.spent() == 14


def test_vectors_of_another_width_are_not_taken(server: OpenAIServer) -> None:
    server.width = 384
    with pytest.raises(Unavailable, match="1536"):
        OpenAIEmbedder(server.client, MODEL).passages(TEXTS)


def test_fewer_vectors_than_texts_are_not_taken(server: OpenAIServer) -> None:
    server.dropped = 1
    with pytest.raises(Unavailable, match="3 vectors"):
        OpenAIEmbedder(server.client, MODEL).passages(TEXTS)


def test_a_service_that_is_away_is_unavailable() -> None:
    away = OpenAI(api_key="sk-test", base_url="http://127.0.0.1:9/v1", max_retries=0)
    with pytest.raises(Unavailable):
        OpenAIEmbedder(away, MODEL).query("質問")
