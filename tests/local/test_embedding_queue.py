"""The queue of the embeddings endpoint: its order, its length, and requests that their clients gave up."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from sakuin_local.embeddings.cache import VectorCache
from sakuin_local.embeddings.endpoint import application
from sakuin_local.embeddings.model import DIMENSIONS, NAME, Text, Vector
from sakuin_local.embeddings.queue import RequestQueue
from sakuin_local.serving import served

from tests.awaiting import awaited

TABLE, PAGE, QUESTION = "passage: Table", "passage: page", "query: question"


@dataclass
class GatedModel:
    """Embeds one part each time the test opens the gate."""

    embedded: list[str] = field(default_factory=list)
    started: int = 0
    gate: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def tokens(self, text: Text) -> int:
        return len(text.text)

    def embed(self, texts: Sequence[Text]) -> list[Vector]:
        self.started += 1
        self.gate.acquire()
        self.embedded += [text.text.split()[0] for text in texts]
        return [np.full(DIMENSIONS, DIMENSIONS**-0.5, "<f4") for _ in texts]


@dataclass
class Endpoint:
    """The endpoint with a gated model; `queue` is its queue."""

    url: str
    model: GatedModel
    queue: RequestQueue
    threads: ThreadPoolExecutor

    def ask(self, *texts: str, urgency: int = 3, timeout: float = 30.0) -> httpx2.Response:
        body = {"model": NAME, "input": list(texts), "encoding_format": "base64"}
        headers = {"Authorization": "Bearer any", "Priority": f"u={urgency}"}
        return httpx2.post(f"{self.url}/v1/embeddings", json=body, headers=headers, timeout=timeout)

    def begin(self, *texts: str, urgency: int = 3, timeout: float = 30.0) -> Future[httpx2.Response]:
        """Sends a request in a thread; returns once it has its place in the queue."""
        places = len(self.queue._places)
        answer = self.threads.submit(self.ask, *texts, urgency=urgency, timeout=timeout)
        awaited("its place in the queue", lambda: len(self.queue._places) > places)
        return answer

    def open_gate(self, parts: int) -> None:
        self.model.gate.release(parts)


@contextmanager
def endpoint(folder: Path, **limits: float) -> Iterator[Endpoint]:
    model, queue = GatedModel(), RequestQueue(**limits)
    stub: Any = model
    with (
        ThreadPoolExecutor() as threads,
        served(application(stub, VectorCache(folder / "v.sqlite"), queue=queue)) as port,
    ):
        try:
            yield Endpoint(f"http://127.0.0.1:{port}", model, queue, threads)
        finally:
            model.gate.release(1000)


def long(text: str, number: int = 0) -> str:
    """A text that is a part of its own."""
    return f"{text} {number}" + "あ" * 1_000


def test_a_question_comes_before_a_page_and_a_page_before_the_rest_of_a_table(tmp_path: Path) -> None:
    with endpoint(tmp_path, longest_wait=600) as running:
        table = running.begin(*(long(TABLE, number) for number in range(3)), urgency=5)
        awaited("the first part", lambda: running.model.started == 1)
        answers = [running.begin(long(PAGE)), running.begin(QUESTION), table]
        running.open_gate(5)
        assert [answer.result().status_code for answer in answers] == [200, 200, 200]
    assert running.model.embedded == ["Table", "question", "page", "Table", "Table"]


def test_a_queue_that_is_too_long_is_refused_for_as_long_as_it_is(tmp_path: Path) -> None:
    with endpoint(tmp_path, longest_wait=20, speed=100) as running:
        first = running.begin(long(TABLE), long(TABLE, 1))
        refused = running.ask(long(TABLE, 2))
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limit_exceeded")
        # 3,000 characters at 100 a second, of which it would wait for 20 seconds.
        assert 9 <= int(refused.headers["Retry-After"]) <= 12
        # It is not before a question.
        question = running.begin(QUESTION)
        running.open_gate(3)
        assert (first.result().status_code, question.result().status_code) == (200, 200)


def test_a_request_that_is_alone_is_never_too_long(tmp_path: Path) -> None:
    with endpoint(tmp_path, longest_wait=0.1, speed=1) as running:
        running.open_gate(3)
        assert running.ask(*(long(TABLE, number) for number in range(3))).status_code == 200


def test_a_request_that_more_urgent_ones_delay_too_long_is_refused(tmp_path: Path) -> None:
    with endpoint(tmp_path, longest_wait=0.3, speed=1e9) as running:
        page = running.begin(long(PAGE))
        table = running.begin(long(TABLE), urgency=5)
        assert table.result().status_code == 429
        running.open_gate(1)
        assert page.result().status_code == 200
    assert running.model.embedded == ["page"]


def test_a_text_whose_client_has_left_is_not_embedded(tmp_path: Path) -> None:
    with endpoint(tmp_path, longest_wait=600) as running:
        page = running.begin(long(PAGE))
        awaited("the first part", lambda: running.model.started == 1)
        abandoned = running.begin(long(TABLE), timeout=0.1)
        with pytest.raises(httpx2.ReadTimeout):
            abandoned.result()
        # The server has seen the end of that connection before this one.
        assert httpx2.get(f"{running.url}/healthz").status_code == 200
        running.open_gate(1)
        assert page.result().status_code == 200
        awaited("an empty queue", lambda: not running.queue._places)
    assert running.model.embedded == ["page"]


def test_a_text_that_two_requests_have_is_embedded_once(tmp_path: Path) -> None:
    with endpoint(tmp_path, longest_wait=600) as running:
        answers = [running.begin(long(PAGE)), running.begin(long(PAGE))]
        running.open_gate(1)
        assert [answer.result().status_code for answer in answers] == [200, 200]
    assert running.model.embedded == ["page"]
