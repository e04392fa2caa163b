"""What turbopuffer or Supabase say wrongly is never taken for a success, or for nothing found."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sakuin.errors import Invalid, Refused, Unavailable
from sakuin.platform.calls import Retries
from sakuin.platform.supabase.client import answer, call
from sakuin.platform.supabase.client import connected as supabase
from sakuin.platform.supabase.requests import READING_FUNCTIONS
from sakuin.platform.turbopuffer.client import connected as turbopuffer
from sakuin.tables.nodes import PublishedNode
from sakuin.tables.turbopuffer import ChunkStore

from tests.contracts.scripted_server import Said, ScriptedServer, scripted_server
from tests.contracts.turbopuffer.chunk_rows import row

HTML = Said(body=b"<html>Welcome to the proxy</html>", headers=(("Content-Type", "text/html"),))
HALF = Said(body=b'{"rows": [{"id": "a", "generation": 1}], "results": [], "rows_affected": 1}', cut=True)
CUT_JSON = Said(body=b'{"rows": [{"id": "a"')
EMPTY_OBJECT = Said(body=b'{"error": "overloaded"}')
AT_ONCE = Retries(attempts=1, max_seconds=60, max_pause=0)
WRONG = [HTML, HALF, CUT_JSON, EMPTY_OBJECT, Said(body=b""), Said(body=b"null"), Said(body=b'"no"'), None]


def store_at(server: ScriptedServer, ask: Retries = AT_ONCE) -> ChunkStore:
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
        store = store_at(server)
        for number, wrong in enumerate(WRONG, 1):
            with pytest.raises(Unavailable, match="turbopuffer") as failure:
                CALLS[method](store)
            assert (failure.value.vendor, len(server.asked)) == ("turbopuffer", number), wrong


def test_somebody_else_s_page_of_404_is_no_empty_namespace() -> None:
    page = Said(404, b"<html>Not here</html>", (("Content-Type", "text/html"),))
    for method, call_store in CALLS.items():
        with scripted_server(page) as server, pytest.raises(Refused, match="check TURBOPUFFER_BASE_URL") as failure:
            call_store(store_at(server))
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
        store_at(server, waiting).upsert("n", [row()])
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
                call(supabase(server.url, "k"), "apply_current", {})
            assert failure.value.vendor == "supabase", wrong


REFUSALS = (
    Said(401, b'{"message": "Invalid API key", "hint": "Double check your Supabase API key."}'),
    Said(401, b'{"message": "No API key found in request"}'),
    Said(401, b'{"code": "PGRST301", "message": "JWSError JWSInvalidSignature"}'),
    Said(401, b'{"code": "42501", "message": "permission denied for function apply_current"}'),
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
        assert call(supabase(server.url, "k"), "search_candidates", {}) == []
    assert len(server.asked) == 3


def test_an_answer_that_breaks_off_is_asked_for_again_only_of_what_reads() -> None:
    half = Said(body=b"[1, 2, 3, 4]", cut=True)
    with scripted_server(half, Said(body=b"[5]")) as server:
        assert call(supabase(server.url, "k"), "search_candidates", {}) == [5]
    with scripted_server(half) as server, pytest.raises(Unavailable):
        call(supabase(server.url, "k"), "create_project", {"p_name": "p"})
    assert len(server.asked) == 1


def test_a_key_that_no_header_may_have_is_in_no_error() -> None:
    with pytest.raises(Unavailable, match="did not answer") as failure:
        call(supabase("http://127.0.0.1:9", "two\nlines"), "search_candidates", {})
    assert failure.value.__cause__ is None
    assert failure.value.__suppress_context__


def test_a_refusal_of_the_database_is_not_asked_for_again() -> None:
    said = Said(400, b'{"code": "22023", "message": "no"}')
    with scripted_server(said) as server, pytest.raises(Invalid):
        call(supabase(server.url, "k"), "search_candidates", {})
    assert len(server.asked) == 1


def test_the_functions_that_are_asked_again_change_nothing(sql: Any) -> None:
    rows = sql.execute(
        "select distinct proname, provolatile from pg_proc where pronamespace = 'public'::regnamespace"
        " and proname = any (%s)",
        [sorted(READING_FUNCTIONS)],
    ).fetchall()
    writing = {name for name, volatility in rows if volatility == "v"}
    assert {name for name, _ in rows} == READING_FUNCTIONS
    # Three remember a name or a use, twice is once; the fourth sets what HNSW is searched with, for itself.
    assert writing <= {"chunks_to_store", "assign_namespace_suffix", "known_vectors", "search_candidates"}
