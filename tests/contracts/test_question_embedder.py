"""What every `QuestionEmbedder` promises, and what the one without an SDK does when the service misbehaves."""

import itertools
import math
from collections.abc import Iterator

import httpx
import pytest
from sakuin.errors import Invalid, Refused, SakuinError, Unavailable
from sakuin.platform.embedding import EmbeddingModel, QuestionEmbedder
from sakuin.platform.openai.embeddings import OpenAIEmbedder
from sakuin.platform.openai.questions import OpenAIQuestions, connected

from tests.contracts.openai_server import OpenAIServer, openai_server
from tests.doubles.embedder import DIMENSIONS, MODEL, MemoryEmbedder, vector_of


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with openai_server() as running:
        yield running


@pytest.fixture
def questions(server: OpenAIServer) -> Iterator[OpenAIQuestions]:
    with connected(server.url, "sk-test") as session:
        yield OpenAIQuestions(session, MODEL)


@pytest.fixture(params=["memory", "sdk", "without sdk"])
def embedder(request: pytest.FixtureRequest, server: OpenAIServer, questions: OpenAIQuestions) -> QuestionEmbedder:
    """Each adapter in turn."""
    sdk = OpenAIEmbedder(server.client, MODEL)
    adapters: dict[str, QuestionEmbedder] = {"memory": MemoryEmbedder(), "sdk": sdk, "without sdk": questions}
    return adapters[request.param]


@pytest.mark.parametrize("text", ["解の公式", "x²+5x+6=0", '"引用"\n改行', " "])
def test_a_question_s_vector_has_its_dimensions_and_length_1(embedder: QuestionEmbedder, text: str) -> None:
    vector = embedder.query(text)
    assert len(vector) == DIMENSIONS
    assert math.hypot(*vector) == pytest.approx(1, abs=1e-5)
    assert list(vector) == pytest.approx(list(vector_of(text)), abs=1e-6)


def test_the_question_is_sent_as_the_sdk_sends_it(server: OpenAIServer) -> None:
    model = EmbeddingModel("e5", 1536, "query: ", "passage: ")
    OpenAIEmbedder(server.client, model).query("たすき掛け")
    with connected(server.url, "sk-test") as session:
        OpenAIQuestions(session, model).query("たすき掛け")
    by_sdk, ours = ({**request, "encoding_format": "any"} for request in server.requests)
    assert ours == by_sdk


def test_tokens_are_told(server: OpenAIServer) -> None:
    server.tokens = 7
    told: list[int] = []
    with connected(server.url, "sk-test") as session:
        OpenAIQuestions(session, MODEL, told.append).query("質問")
    assert told == [7]


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_busy_service_is_asked_again(server: OpenAIServer, questions: OpenAIQuestions, status: int) -> None:
    server.statuses = [status]
    assert len(questions.query("質問")) == DIMENSIONS
    assert len(server.requests) == 2


@pytest.mark.parametrize("status", [429, 503])
def test_a_service_that_stays_busy_is_unavailable(
    server: OpenAIServer, questions: OpenAIQuestions, status: int
) -> None:
    server.statuses = [status] * 2
    with pytest.raises(Unavailable, match=str(status)):
        questions.query("質問")
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("status", "error"),
    [(400, Invalid), (413, Invalid), (401, Refused), (402, Refused), (403, Refused), (404, Refused)],
)
def test_a_refused_request_is_not_sent_again(
    server: OpenAIServer, questions: OpenAIQuestions, status: int, error: type[SakuinError]
) -> None:
    server.statuses = [status]
    with pytest.raises(error, match=str(status)):
        questions.query("質問")
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
    server: OpenAIServer, questions: OpenAIQuestions, status: int, error: dict[str, str]
) -> None:
    server.statuses, server.error = [status] * 3, error
    with pytest.raises(Refused, match="a bill is open") as refused:
        questions.query("質問")
    assert (refused.value.vendor, len(server.requests)) == ("openai", 1)


def test_a_vector_of_another_width_is_not_taken(server: OpenAIServer, questions: OpenAIQuestions) -> None:
    server.width = 384
    with pytest.raises(Unavailable, match="1536"):
        questions.query("質問")


def test_an_answer_without_a_vector_is_not_understood(server: OpenAIServer, questions: OpenAIQuestions) -> None:
    server.dropped = 1
    with pytest.raises(Unavailable, match="did not give 1 vectors"):
        questions.query("質問")


def test_a_service_that_hangs_is_given_up_in_the_time_that_a_question_has(server: OpenAIServer) -> None:
    server.wrongs = [None]
    with connected(server.url, "sk-test") as session, pytest.raises(Unavailable, match="took longer than"):
        OpenAIQuestions(session, MODEL, seconds=1).query("質問")
    assert len(server.requests) == 1


def test_an_answer_that_drips_is_given_up_too(server: OpenAIServer) -> None:
    # Every look at the clock costs a second; the answer is there at once.
    ticks = itertools.count()
    with connected(server.url, "sk-test") as session, pytest.raises(Unavailable, match="took longer"):
        OpenAIQuestions(session, MODEL, seconds=1.5, clock=lambda: float(next(ticks))).query("質問")


def test_a_service_that_says_when_it_will_be_back_is_not_asked_before(
    server: OpenAIServer, questions: OpenAIQuestions
) -> None:
    server.statuses, server.headers = [429], {"Retry-After": "20"}
    with pytest.raises(Unavailable) as failure:
        questions.query("質問")
    assert (failure.value.vendor, failure.value.retry_after, len(server.requests)) == ("openai", 20.0, 1)


def test_a_service_that_is_away_is_unavailable() -> None:
    with httpx.Client(base_url="http://127.0.0.1:9/v1") as away, pytest.raises(Unavailable, match="did not answer"):
        OpenAIQuestions(away, MODEL).query("質問")
