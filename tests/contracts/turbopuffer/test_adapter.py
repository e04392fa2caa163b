"""What `ChunkStore` adds: failures, the limits of turbopuffer, and its pace."""

import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sakuin.errors import Invalid, Refused, SakuinError, Unavailable
from sakuin.platform.calls import Circuit, Retries, VendorCalls
from sakuin.platform.turbopuffer.client import connected
from sakuin.tables.turbopuffer import ChunkStore
from sakuin_local.addresses import free_port
from sakuin_local.processes import Programs
from sakuin_local.vendors import start_turbopuffer

from tests.contracts.turbopuffer.chunk_rows import NAMESPACE, PREFIX, matching, nearest, node_of, place, row
from tests.doubles.real_pace import RealPace


def fail(stand_in: str, **failure: object) -> None:
    httpx2.post(f"{stand_in}/_stand_in/failures", json=failure, timeout=60).raise_for_status()


def test_a_passing_failure_is_tried_again(stand_in: str, local: ChunkStore) -> None:
    for status in (408, 409, 429, 500, 503):
        store = ChunkStore(local.client)
        fail(stand_in, status=status, times=3)
        store.upsert(NAMESPACE, [row()])
        fail(stand_in, status=status, times=2)
        assert nearest(store) == [row().doc_id], status


def test_a_write_whose_answer_was_lost_is_repeated_without_harm(stand_in: str, local: ChunkStore) -> None:
    fail(stand_in, status=503, late=True)
    local.upsert(NAMESPACE, [row()])
    assert local.ids(NAMESPACE) == {row().doc_id: 1}
    fail(stand_in, status=503, late=True)
    local.delete_namespace(NAMESPACE)
    assert local.namespaces(PREFIX) == []


def test_a_lasting_failure_has_an_error_of_the_product(stand_in: str, local: ChunkStore) -> None:
    expected: dict[type[SakuinError], tuple[int, ...]] = {
        Unavailable: (503, 429),
        Invalid: (400, 422),
        Refused: (401, 402, 403),
    }
    for ours, statuses in expected.items():
        for status in statuses:
            fail(stand_in, status=status, times=5)
            with pytest.raises(ours) as failure:
                local.upsert(NAMESPACE, [row()])
            assert failure.type is ours, status
            assert failure.value.__cause__ is not None
            fail(stand_in, status=status, times=0)


def test_a_store_that_cannot_be_reached_is_unavailable() -> None:
    at_once = Retries(attempts=2, max_seconds=60, max_pause=0)
    with pytest.raises(Unavailable):
        ChunkStore(connected("http://127.0.0.1:9", "any"), ask=at_once).upsert(NAMESPACE, [row()])


def test_an_invalid_request_has_turbopuffer_s_reason_and_stores_nothing(local: ChunkStore) -> None:
    with pytest.raises(Invalid, match="65 bytes, the maximum is 64"):
        local.upsert(NAMESPACE, [row(), replace(row(), doc_id="あ" * 21 + "ab")])
    assert local.namespaces(PREFIX) == []
    local.upsert(NAMESPACE, [replace(row(), doc_id="あ" * 21 + "a")])
    with pytest.raises(Invalid):
        local.upsert(NAMESPACE, [row(index=1, vector=(1.0, 0.0))])
    assert local.ids(NAMESPACE) == {"あ" * 21 + "a": 1}


def test_of_a_row_only_its_terms_come_back(stand_in: str, local: ChunkStore) -> None:
    local.upsert(NAMESPACE, [row()])
    seen: list[bytes] = []
    watching = httpx2.Client(base_url=stand_in, event_hooks={"response": [lambda answer: seen.append(answer.read())]})
    nearest(ChunkStore(local.client.with_options(http_client=watching)))
    legs, rows = seen
    assert b"term_counts" not in legs
    assert b"term_counts" in rows
    assert not any(name in legs + rows for name in (b"vector", b'"terms"', b"json_pointer", b'"content"'))


def test_a_batch_is_swept_in_one_write(strict: RealPace, local: ChunkStore) -> None:
    rows = [row(f"/{number}", "新しい", generation=2) for number in range(32)]
    local.upsert(NAMESPACE, rows)
    before = strict.time.now
    local.sweep(NAMESPACE, [node_of(each) for each in rows])
    # Each write waits for the next commit of its namespace.
    assert strict.time.now - before == pytest.approx(1.0)


def test_a_store_that_indexes_hides_new_rows_and_says_so(strict: RealPace, local: ChunkStore) -> None:
    local.upsert(NAMESPACE, [row()])
    strict.time.now += 30
    assert local.is_indexed(NAMESPACE)
    strict.store.add_backlog(NAMESPACE, 128 * 1024 * 1024)
    local.upsert(NAMESPACE, [row(index=1)])
    assert not local.is_indexed(NAMESPACE)
    assert local.ids(NAMESPACE).keys() == {row().doc_id}
    assert nearest(local) == matching(local, "公式") == [row().doc_id]
    strict.time.now += 30
    assert local.is_indexed(NAMESPACE)
    assert local.ids(NAMESPACE).keys() == {row().doc_id, row(index=1).doc_id}


def test_a_busy_namespace_names_itself_and_no_other_waits(strict: RealPace, local: ChunkStore) -> None:
    circuit = Circuit("turbopuffer-searches", "turbopuffer")
    busy = replace(local, ask_now=VendorCalls(Retries(attempts=1, max_seconds=9, max_pause=0), circuit))
    other = f"{PREFIX}other"
    for namespace in (NAMESPACE, other):
        local.upsert(namespace, [row()])
    with strict.store.slots.taken(NAMESPACE, 16):
        for _ in range(5):
            with pytest.raises(Unavailable, match="429") as refused:
                nearest(busy)
            assert refused.value.namespace == NAMESPACE
        asked: dict[str, Any] = {"vector": (1.0, 0.0, 0.0), "slots": (), "text": "", "scope": place(""), "depth": 5}
        assert len(busy.search(other, **asked).chunks) == 1
    assert nearest(busy) == [row().doc_id]


def test_many_rows_are_several_requests(local: ChunkStore) -> None:
    small = ChunkStore(local.client, max_request_bytes=10_000)
    small.upsert(NAMESPACE, [row(index=number, content="長い" * 500) for number in range(40)])
    assert len(local.ids(NAMESPACE)) == 40


def test_more_ids_than_one_answer_or_request_holds_are_all_listed_and_deleted(local: ChunkStore) -> None:
    rows = [row(index=number, terms=()) for number in range(41)]
    local.upsert(NAMESPACE, rows)
    for rows_an_answer in (20, 41, 100):
        found = replace(local, rows_an_answer=rows_an_answer).ids(NAMESPACE)
        assert found.keys() == {each.doc_id for each in rows}, rows_an_answer
    local.delete(NAMESPACE, [*(f"none {number}" for number in range(5_000)), *(each.doc_id for each in rows)])
    assert local.ids(NAMESPACE) == {}


def test_the_store_holds_what_it_acknowledged_after_it_was_killed(tmp_path: Path) -> None:
    port = free_port()
    store = ChunkStore(connected(f"http://127.0.0.1:{port}", "any"))
    killed = Programs(tmp_path)
    start_turbopuffer(tmp_path, killed, port=port)
    store.upsert(NAMESPACE, [row(index=number) for number in range(100)])
    store.upsert(NAMESPACE, [row(index=0, generation=2)])
    store.delete(NAMESPACE, [row(index=1).doc_id])
    [program] = json.loads((tmp_path / "processes.json").read_text())
    os.kill(program["pid"], signal.SIGKILL)
    killed.stop()

    again = Programs(tmp_path)
    start_turbopuffer(tmp_path, again, port=port)
    try:
        expected = {row(index=number).doc_id: 1 for number in range(100)} | {row(index=0).doc_id: 2}
        del expected[row(index=1).doc_id]
        assert store.ids(NAMESPACE) == expected
        assert len(matching(store, "公式", depth=200)) == len(nearest(store, depth=200)) == 99
    finally:
        again.stop()
