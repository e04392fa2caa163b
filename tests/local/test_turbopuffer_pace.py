"""The stand-in for turbopuffer is as slow, as late and as narrow as turbopuffer."""

import threading
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from sakuin_local.turbopuffer import limits
from sakuin_local.turbopuffer.pace import Pace, QuerySlots, WriteAheadLog
from turbopuffer import RateLimitError, Turbopuffer
from turbopuffer.lib.namespace import Namespace

from tests.doubles.real_pace import RealPace, real_pace

Json = dict[str, Any]

TEXT: Json = {"rank_by": ["id", "asc"], "limit": 100}
VECTOR: Json = {"rank_by": ["vector", "ANN", [1.0]], "limit": 100}
EXACT: Json = {"rank_by": ["vector", "kNN", [1.0]], "limit": 100, "filters": ["id", "Gt", "0"]}
SCHEMA: Any = {"vector": {"type": "[1]f16", "ann": True}, "n": "int"}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealPace]:
    with real_pace(tmp_path_factory.mktemp("turbopuffer")) as running:
        yield running


@pytest.fixture
def client(running: RealPace) -> Turbopuffer:
    return Turbopuffer(base_url=running.url, api_key="any", max_retries=0)


@pytest.fixture
def namespace(client: Turbopuffer) -> Iterator[Namespace]:
    """Empty, and gone afterwards."""
    yield client.namespace("test")
    for each in client.namespaces():
        client.namespace(each.id).delete_all()


def put(namespace: Namespace, *rows: Json, **more: Any) -> Any:
    complete = [{"vector": [1.0], "n": 1, **row} for row in rows]
    return namespace.write(upsert_rows=complete, distance_metric="cosine_distance", schema=SCHEMA, **more)


def ids(namespace: Namespace, *filter: Any) -> list[Any]:
    asked: Any = {"filters": filter} if filter else {}
    return [row.id for row in namespace.query(rank_by=("id", "asc"), limit=100, **asked).rows or ()]


def test_a_namespace_has_one_commit_a_second(running: RealPace, namespace: Namespace, client: Turbopuffer) -> None:
    started = running.time.now
    for id in "1234":
        put(namespace, {"id": id})
    assert running.time.now - started == pytest.approx(0.165 + 3)
    put(client.namespace("other"), {"id": "1"})
    assert running.time.now - started == pytest.approx(0.165 + 3 + 0.165)


def test_concurrent_writes_share_a_commit_until_its_upload_begins() -> None:
    now, naps = [0.0], list[float]()
    log = WriteAheadLog(Pace(clock=lambda: now[0], sleep=naps.append))
    for at in (0.0, 0.5, 0.8, 0.9):
        now[0] = at
        log.wait_for_commit()
    # At 0.165, and at 1.165 those which came before 1.0; each waits for its own.
    assert naps == pytest.approx([0.165, 0.665, 0.365, 0.265])
    now[0] = 1.1
    log.wait_for_commit()
    assert naps[-1] == pytest.approx(2.165 - 1.1)


def test_rows_beyond_128_mib_of_unindexed_writes_are_hidden_until_they_are_indexed(
    running: RealPace, namespace: Namespace
) -> None:
    put(namespace, {"id": "1"})
    running.store.add_backlog("test", limits.UNINDEXED_SEARCHED_BYTES - 1_000)
    put(namespace, {"id": "2"})
    running.store.add_backlog("test", 1_000)
    put(namespace, {"id": "3"})
    assert ids(namespace) == ids(namespace, "id", "In", ["1", "2", "3"]) == ["1", "2"]
    assert [row.id for row in namespace.query(rank_by=("vector", "ANN", [1.0]), limit=5).rows or ()] == ["1", "2"]
    # A filter does not find them, an id does.
    assert namespace.write(delete_by_filter=("n", "Eq", 1)).rows_deleted == 2
    assert put(namespace, {"id": "3", "n": 2}, upsert_condition=("n", "Eq", 2)).rows_affected == 0
    index = namespace.metadata().index
    assert index.status == "updating"
    assert index.unindexed_bytes > limits.UNINDEXED_SEARCHED_BYTES
    running.time.now += 30
    assert namespace.metadata().index.status == "up-to-date"
    assert ids(namespace) == ["3"]


def test_beyond_2_gb_of_unindexed_writes_a_write_is_429(running: RealPace, namespace: Namespace) -> None:
    put(namespace, {"id": "1"})
    running.store.add_backlog("test", limits.UNINDEXED_BYTES)
    with pytest.raises(RateLimitError) as refused:
        put(namespace, {"id": "2"})
    assert set(refused.value.body or ()) == {"status", "error"}
    running.time.now += 30
    put(namespace, {"id": "2"})
    assert ids(namespace) == ["1", "2"]


@pytest.mark.parametrize(
    ("free", "query"),
    [
        (1, TEXT),
        (2, VECTOR),
        (2, EXACT),
        (3, {"queries": [TEXT, VECTOR]}),
        (7, {"queries": [EXACT, VECTOR, VECTOR, TEXT]}),
    ],
)
def test_a_namespace_has_16_queries_in_flight_of_which_vectors_count_twice(
    running: RealPace, namespace: Namespace, free: int, query: Json
) -> None:
    put(namespace, {"id": "1"})

    def asked(name: str = "test") -> httpx2.Response:
        url, headers = f"{running.url}/v2/namespaces/{name}/query", {"Authorization": "Bearer any"}
        return httpx2.post(url, headers=headers, json=query, timeout=60)

    with running.store.slots.taken("test", limits.QUERIES_IN_FLIGHT - free):
        assert asked().status_code == 200
    with running.store.slots.taken("test", limits.QUERIES_IN_FLIGHT - free + 1):
        refused = asked()
        assert asked("nowhere").status_code == 404
    assert refused.status_code == 429
    assert refused.json().keys() == {"status", "error"}
    assert refused.json()["status"] == "error"
    assert asked().status_code == 200


def test_a_query_beyond_the_limit_waits_for_a_moment() -> None:
    slots, answered = QuerySlots(patience=30), threading.Event()

    def ask() -> None:
        with slots.taken("n", 1):
            answered.set()

    with slots.taken("n", limits.QUERIES_IN_FLIGHT):
        waiting = threading.Thread(target=ask)
        waiting.start()
        assert not answered.is_set()
    waiting.join(30)
    assert answered.is_set()
