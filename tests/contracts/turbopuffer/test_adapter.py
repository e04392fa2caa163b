"""What `ChunkStore` adds: failures, the limits of turbopuffer, and wrong answers, which are never a success."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from sakuin.errors import Invalid, Refused, SakuinError, Unavailable
from sakuin.platform.calls import Circuit, Retries, VendorCalls
from sakuin.platform.supabase.client import answer, call
from sakuin.platform.supabase.client import connected as supabase
from sakuin.platform.turbopuffer.client import connected
from sakuin.platform.turbopuffer.client import connected as turbopuffer
from sakuin.tables.nodes import PublishedNode
from sakuin.tables.turbopuffer import ChunkStore

from tests.contracts.scripted_server import Said, ScriptedServer, scripted_server
from tests.contracts.turbopuffer.chunk_rows import NAMESPACE, PREFIX, nearest, node_of, place, row


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


def test_a_batch_is_swept_in_one_write(stand_in: str, local: ChunkStore) -> None:
    rows = [row(f"/{number}", "新しい", generation=2) for number in range(32)]
    local.upsert(NAMESPACE, rows)
    asked: list[httpx2.Request] = []
    watching = httpx2.Client(base_url=stand_in, event_hooks={"request": [asked.append]})
    # Each write waits for the next commit of its namespace.
    ChunkStore(local.client.with_options(http_client=watching)).sweep(NAMESPACE, [node_of(each) for each in rows])
    assert len(asked) == 1


def test_a_busy_namespace_names_itself_and_no_other_waits(stand_in: str, local: ChunkStore) -> None:
    circuit = Circuit("turbopuffer-searches", "turbopuffer")
    busy = replace(local, ask_now=VendorCalls(Retries(attempts=1, max_seconds=9, max_pause=0), circuit))
    other = f"{PREFIX}other"
    for namespace in (NAMESPACE, other):
        local.upsert(namespace, [row()])
    fail(stand_in, status=429, times=1, retry_after_ms=60_000)
    for _ in range(5):
        with pytest.raises(Unavailable) as refused:
            nearest(busy)
        assert refused.value.namespace == NAMESPACE
    asked: dict[str, Any] = {"vector": (1.0, 0.0, 0.0), "slots": (), "text": "", "scope": place(""), "depth": 5}
    assert len(busy.search(other, **asked).chunks) == 1


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


HTML = Said(body=b"<html>Welcome to the proxy</html>", headers=(("Content-Type", "text/html"),))

HALF = Said(body=b'{"rows": [{"id": "a", "generation": 1}], "results": [], "rows_affected": 1}', cut=True)

CUT_JSON = Said(body=b'{"rows": [{"id": "a"')

EMPTY_OBJECT = Said(body=b'{"error": "overloaded"}')

AT_ONCE = Retries(attempts=1, max_seconds=60, max_pause=0)

WRONG = [HTML, HALF, CUT_JSON, EMPTY_OBJECT, Said(body=b""), Said(body=b"null"), Said(body=b'"no"'), None]


def answering_store(server: ScriptedServer, ask: Retries = AT_ONCE) -> ChunkStore:
    return ChunkStore(turbopuffer(server.url, "any"), ask=ask, ask_now=ask)


CALLS: dict[str, Callable[[ChunkStore], Any]] = {
    "upsert": lambda store: store.upsert("n", [row()]),
    "search": lambda store: store.search("n", vector=(1.0, 0.0), slots=(), text="a", scope="b", depth=5),
    "ids": lambda store: store.ids("n"),
    "sweep": lambda store: store.sweep("n", [PublishedNode("b", None, 1)]),
    "is_indexed": lambda store: store.is_indexed("n"),
    "delete": lambda store: store.delete("n", ["a"]),
    "delete_namespace": lambda store: store.delete_namespace("n"),
    "namespaces": lambda store: store.namespaces(""),
}


@pytest.mark.parametrize("method", CALLS)
def test_a_wrong_answer_of_turbopuffer_is_unavailable(method: str) -> None:
    with scripted_server(*WRONG) as server:
        store = answering_store(server)
        for number, wrong in enumerate(WRONG, 1):
            with pytest.raises(Unavailable, match="turbopuffer") as failure:
                CALLS[method](store)
            assert (failure.value.vendor, len(server.asked)) == ("turbopuffer", number), wrong


def test_somebody_else_s_page_of_404_is_no_empty_namespace() -> None:
    page = Said(404, b"<html>Not here</html>", (("Content-Type", "text/html"),))
    for method, call_store in CALLS.items():
        with scripted_server(page) as server, pytest.raises(Refused, match="check TURBOPUFFER_BASE_URL") as failure:
            call_store(answering_store(server))
        assert (failure.value.vendor, len(server.asked)) == ("turbopuffer", 1), method


def test_turbopuffer_s_retry_after_is_in_the_error_and_waited_for_if_it_is_short() -> None:
    long = Said(429, b'{"error": "slow down"}', (("Content-Type", "application/json"), ("Retry-After", "40")))
    with scripted_server(long) as server, pytest.raises(Unavailable) as failure:
        ChunkStore(turbopuffer(server.url, "any")).upsert("n", [row()])
    assert (failure.value.retry_after, len(server.asked)) == (40.0, 1)
    short = Said(429, b'{"error": "slow down"}', (("Content-Type", "application/json"), ("Retry-After", "2")))
    naps: list[float] = []
    waiting = Retries(attempts=2, max_seconds=60, max_pause=5, sleep=naps.append)
    with scripted_server(short, Said(body=b'{"status": "OK", "rows_affected": 1}')) as server:
        answering_store(server, waiting).upsert("n", [row()])
    assert naps == [2.0]


@pytest.fixture
def refused() -> Iterator[ScriptedServer]:
    """A gateway that cannot reach Supabase."""
    with scripted_server(Said(503, b"upstream", (("Content-Type", "text/plain"), ("retry-after", "0")))) as server:
        yield server


def test_a_wrong_answer_of_supabase_is_unavailable() -> None:
    wrongs = (HTML, HALF, CUT_JSON, None)
    with scripted_server(*wrongs) as server:
        for wrong in wrongs:
            with pytest.raises(Unavailable, match="Supabase") as failure:
                call(supabase(server.url, "k"), "apply_material", {})
            assert failure.value.vendor == "supabase", wrong


REFUSALS = (
    Said(401, b'{"message": "Invalid API key", "hint": "Double check your Supabase API key."}'),
    Said(401, b'{"message": "No API key found in request"}'),
    Said(401, b'{"code": "PGRST301", "message": "JWSError JWSInvalidSignature"}'),
    Said(401, b'{"code": "42501", "message": "permission denied for function apply_material"}'),
    Said(403, b"<html>Forbidden</html>", (("Content-Type", "text/html"),)),
)


def test_a_key_that_supabase_refuses_is_said_to_be_so_and_asked_with_once() -> None:
    with scripted_server(*REFUSALS) as server:
        for number, said in enumerate(REFUSALS, 1):
            with pytest.raises(Refused, match="check supabase_service_key") as failure:
                call(supabase(server.url, "k"), "search_candidates", {})
            assert (failure.value.vendor, len(server.asked)) == ("supabase", number), said


def test_a_missing_grant_is_not_reported_as_a_wrong_key() -> None:
    for name in ("table material", "view unstored_chunks", "sequence outbox_id_seq"):
        said = Said(403, json.dumps({"code": "42501", "message": f"permission denied for {name}"}).encode())
        with scripted_server(said) as server, pytest.raises(Refused) as failure:
            call(supabase(server.url, "k"), "material_counts", {})
        advice = "apply the migrations with `supabase db push`"
        assert str(failure.value) == f"A grant is missing in Supabase (permission denied for {name}): {advice}"
        assert (failure.value.vendor, len(server.asked)) == ("supabase", 1)


def test_what_only_reads_is_asked_for_again(refused: ScriptedServer) -> None:
    client = supabase(refused.url, "k")
    with pytest.raises(Unavailable, match="503"):
        call(client, "search_candidates", {})
    with pytest.raises(Unavailable, match="503"):
        answer(client.table("material").select("*"))
    assert [path.partition("?")[0] for path in refused.asked] == [
        *["/rest/v1/rpc/search_candidates"] * 3,
        *["/rest/v1/material"] * 3,
    ]


def test_what_may_have_happened_is_not_asked_for_again(refused: ScriptedServer) -> None:
    with pytest.raises(Unavailable, match="503"):
        call(supabase(refused.url, "k"), "create_project", {"p_name": "p"})
    assert len(refused.asked) == 1
    with scripted_server(None) as gone, pytest.raises(Unavailable):
        call(supabase(gone.url, "k"), "create_project", {"p_name": "p"})
    assert len(gone.asked) == 1


def test_a_passing_failure_of_a_read_is_nobody_s_business() -> None:
    with scripted_server(Said(502, b""), None, Said(body=b"[]")) as server:
        assert call(supabase(server.url, "k"), "endpoint_of_key", {}) == []
    assert len(server.asked) == 3


def test_an_answer_that_breaks_off_is_asked_for_again_only_of_what_reads() -> None:
    half = Said(body=b"[1, 2, 3, 4]", cut=True)
    with scripted_server(half, Said(body=b"[5]")) as server:
        assert call(supabase(server.url, "k"), "search_candidates", {}) == [5]
    with scripted_server(half) as server, pytest.raises(Unavailable):
        call(supabase(server.url, "k"), "create_project", {"p_name": "p"})
    assert len(server.asked) == 1


def test_a_key_that_no_header_may_have_is_in_no_error() -> None:
    with scripted_server(None) as server, pytest.raises(Unavailable, match="did not answer") as failure:
        call(supabase(server.url, "two\nlines"), "search_candidates", {})
    assert failure.value.__cause__ is None
    assert failure.value.__suppress_context__


def test_a_refusal_of_the_database_is_not_asked_for_again() -> None:
    said = Said(400, b'{"code": "22023", "message": "no"}')
    with scripted_server(said) as server, pytest.raises(Invalid):
        call(supabase(server.url, "k"), "search_candidates", {})
    assert len(server.asked) == 1
