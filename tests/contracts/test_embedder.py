"""What every `Embedder` promises, and what OpenAI's does when the service misbehaves."""

import math
from collections.abc import Iterator

import pytest
from openai import OpenAI
from sakuin.adapters.openai_embeddings import OpenAIEmbedder
from sakuin.domain.recipe import EmbeddingModel
from sakuin.errors import Invalid, Unavailable
from sakuin.ports.embedding import Embedder

from tests.contracts.openai_server import OpenAIServer, openai_server
from tests.in_memory.embedder import DIMENSIONS, MODEL, MemoryEmbedder, vector_of

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


@pytest.mark.parametrize("status", [400, 401, 404])
def test_a_refused_request_is_invalid_and_not_sent_again(server: OpenAIServer, status: int) -> None:
    server.statuses = [status]
    with pytest.raises(Invalid, match=str(status)):
        OpenAIEmbedder(server.client, MODEL).query("質問")
    assert len(server.requests) == 1


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
