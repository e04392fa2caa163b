"""Hints for turbopuffer's cache: seldom, and nobody waits for them."""

import socket
import threading
import time
from collections.abc import Callable

import httpx2
import pytest
from sakuin.platform.turbopuffer.cache_hints import CacheHints
from sakuin.platform.turbopuffer.client import connected

from tests.contracts.scripted_server import Said, scripted_server
from tests.contracts.turbopuffer.chunk_rows import row
from tests.doubles.real_pace import PassingTime, RealPace


def at_once(work: Callable[[], None]) -> Callable[[], bool]:
    work()
    return lambda: False


def client_of(url: str, seconds: float = 30) -> Callable[[], httpx2.Client]:
    return lambda: httpx2.Client(base_url=url, headers={"Authorization": "Bearer any"}, timeout=seconds)


def test_a_name_is_due_once_in_five_minutes() -> None:
    clock = PassingTime()
    hints = CacheHints(client_of("http://127.0.0.1:9"), clock)
    assert hints.due(["a", "b", "a"]) == ["a", "b"]
    clock.now = 299
    assert hints.due(["a", "c"]) == ["c"]
    clock.now = 300
    assert hints.due(["a", "b", "c"]) == ["a", "b"]


def test_a_hint_goes_to_each_namespace_with_the_key(strict: RealPace) -> None:
    connected(strict.url, "any").namespace("n").write(upsert_rows=[{"id": row().doc_id}])
    with httpx2.Client(base_url=strict.url, headers={"Authorization": "Bearer any"}) as client:
        assert client.get("/v1/namespaces/n/hint_cache_warm").json()["status"] == "ACCEPTED"
    with scripted_server(Said(body=b'{"status": "ACCEPTED"}')) as server:
        CacheHints(client_of(server.url), start=at_once).send(["n", "other", "n"])
    assert server.asked == ["/v1/namespaces/n/hint_cache_warm", "/v1/namespaces/other/hint_cache_warm"]
    assert server.headers[0]["authorization"] == "Bearer any"


@pytest.mark.parametrize("answer", [Said(500), Said(404), None], ids=["500", "404", "closed"])
def test_a_hint_that_fails_is_neither_repeated_nor_raised(answer: Said | None) -> None:
    with scripted_server(answer) as server:
        CacheHints(client_of(server.url), start=at_once).send(["n"])
    assert len(server.asked) == 1
    CacheHints(client_of("http://127.0.0.1:9"), start=at_once).send(["n"])


def test_nobody_waits_for_a_vendor_that_hangs_and_no_second_thread_begins() -> None:
    before = threading.enumerate()
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        hints = CacheHints(client_of(f"http://127.0.0.1:{hanging.getsockname()[1]}", seconds=0.5))
        began = time.monotonic()
        hints.send(["n"])
        hints.send(["other"])
        assert time.monotonic() - began < 0.4
        [thread] = [each for each in threading.enumerate() if each not in before]
        assert thread.daemon
        thread.join(30)
    assert not thread.is_alive()
