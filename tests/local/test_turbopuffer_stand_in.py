"""The stand-in for turbopuffer answers and refuses as turbopuffer does, as slow, as late and as narrow."""

import socket
import threading
from collections.abc import Callable, Iterator
from math import log
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sakuin_local.turbopuffer import limits
from sakuin_local.turbopuffer.limits import Refused
from sakuin_local.turbopuffer.pace import AT_ONCE, Pace, QuerySlots, WriteAheadLog
from sakuin_local.turbopuffer.schema import Attribute, FullText, document_of
from sakuin_local.turbopuffer.store import Store
from turbopuffer import APIStatusError, NotFoundError, RateLimitError, Turbopuffer
from turbopuffer.lib.namespace import Namespace

from tests.doubles.real_pace import RealPace, real_pace

METRIC: Any = "cosine_distance"
SCHEMA: Any = {
    "vector": {"type": "[2]f16", "ann": True},
    "n": "int",
    "s": "string",
    "names": "[]string",
    "long": {"type": "string", "filterable": False},
    "text": {"type": "string", "full_text_search": True},
    "terms": {"type": "[]string", "full_text_search": {"tokenizer": "pre_tokenized_array", "max_token_length": 254}},
}
Json = dict[str, Any]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealPace]:
    with real_pace(tmp_path_factory.mktemp("turbopuffer")) as running:
        yield running


@pytest.fixture(scope="module")
def address(running: RealPace) -> str:
    return running.url


@pytest.fixture
def client(address: str) -> Turbopuffer:
    return Turbopuffer(base_url=address, api_key="any", max_retries=0)


@pytest.fixture
def namespace(client: Turbopuffer) -> Iterator[Namespace]:
    """Empty, and gone afterwards."""
    yield client.namespace("test")
    for each in client.namespaces():
        client.namespace(each.id).delete_all()


def status(refused: Callable[[], object]) -> int:
    """The status of a request that must fail; its body is always in turbopuffer's form."""
    with pytest.raises(APIStatusError) as failure:
        refused()
    body = failure.value.body
    assert isinstance(body, dict)
    assert body["status"] == "error"
    assert body["error"]
    return failure.value.status_code


def put(namespace: Namespace, *rows: Json, **more: Any) -> Any:
    """Writes rows; those without a vector get one."""
    schema = more.pop("schema", SCHEMA)
    complete = [{"vector": [1.0, 0.0], **row} if "vector" in schema else row for row in rows]
    return namespace.write(upsert_rows=complete, distance_metric=METRIC, schema=schema, **more)


def ids(namespace: Namespace, *filter: Any, **more: Any) -> list[Any]:
    query = {"filters": filter} if filter else {}
    return [row.id for row in namespace.query(rank_by=("id", "asc"), limit=100, **query, **more).rows or ()]


def matching(namespace: Namespace, *rank_by: Any) -> dict[str, float]:
    """Ids with their scores, best first."""
    return {str(row.id): row["$dist"] for row in namespace.query(rank_by=rank_by, limit=5).rows or ()}


# ---------------------------------------------------------------- access and names


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer"}, {"Authorization": "Basic abc"}])
def test_a_request_needs_a_key(address: str, headers: dict[str, str]) -> None:
    assert httpx2.get(f"{address}/v1/namespaces", headers=headers, timeout=60).status_code == 401


def test_a_namespace_that_is_not_there_is_404(namespace: Namespace) -> None:
    for call in (
        lambda: namespace.query(rank_by=("id", "asc"), limit=1),
        lambda: namespace.metadata(),
        lambda: namespace.delete_all(),
        lambda: namespace.write(delete_by_filter=("n", "Eq", 1)),
    ):
        with pytest.raises(NotFoundError):
            call()


def test_namespaces_are_listed_by_pages(client: Turbopuffer, namespace: Namespace) -> None:
    for name in (*(f"n{number}" for number in range(5)), "other"):
        put(client.namespace(name), {"id": "1"})
    first = client.namespaces(prefix="n", page_size=2)
    assert [each.id for each in first.namespaces] == ["n0", "n1"]
    assert [each.id for each in client.namespaces(prefix="n", page_size=2)] == [f"n{number}" for number in range(5)]
    assert status(lambda: client.namespaces(cursor="?")) == 400
    assert status(lambda: client.namespaces(page_size=1_001)) == 400


def test_a_namespace_s_name_is_plain_and_has_at_most_128_characters(client: Turbopuffer, namespace: Namespace) -> None:
    put(client.namespace("a.b-c_" + "d" * 122), {"id": "1"})
    for name in ("a" * 129, "日本語", "a b", "a~b", "a:b"):
        assert status(lambda name=name: put(client.namespace(name), {"id": "1"})) == 400, name


# ---------------------------------------------------------------- writing


@pytest.mark.parametrize(
    ("row", "code"),
    [
        *(({"id": id}, 400) for id in ("a" * 65, "あ" * 22)),
        ({"id": 7}, 422),
        *(({"n": value}, 400) for value in ("one", True, 2**63)),
        *(({"names": value}, 400) for value in ("a", [1], ["あ" * 1_366])),
        *(({name: value}, 400) for name, value in {"undeclared": 1, "s": "a" * 4_097, "vector": [1.0]}.items()),
        ({"long": "a" * (limits.VALUE_BYTES + 1)}, 400),
    ],
    ids=lambda given: str(given)[:20],
)
def test_a_row_that_does_not_fit_is_refused(namespace: Namespace, row: Json, code: int) -> None:
    put(namespace, {"id": "a" * 64, "s": "a" * 4_096, "n": 1, "names": ["a"], "long": "あ" * 100_000})
    assert status(lambda: put(namespace, {"id": "2", **row})) == code
    assert ids(namespace, "s", "Eq", "a" * 4_096) == ids(namespace) == ["a" * 64]


@pytest.mark.parametrize(
    ("name", "definition", "code"),
    [
        *(("n", "string", 400), ("$n", "int", 400), ("x" * 129, "int", 400)),
        ("s", {"type": "string", "filterable": False}, 400),
        ("vector", {"type": "[3]f16", "ann": True}, 400),
        *(("new", {"type": "string", "full_text_search": {"max_token_length": most}}, 400) for most in (0, 255)),
        ("new", {"type": "string", "full_text_search": {"tokenizer": "pre_tokenized_array"}}, 400),
        *(("new", definition, 422) for definition in ("uuid", "[2]f32", {"type": "string", "glob": True})),
        ("new", {"type": "string", "full_text_search": {"c": 0.5}}, 422),
    ],
    ids=lambda given: str(given)[-30:],
)
def test_a_schema_that_changes_or_that_there_is_not_is_refused(
    namespace: Namespace, name: str, definition: Any, code: int
) -> None:
    put(namespace, {"id": "1"})
    assert status(lambda: put(namespace, {"id": "2"}, schema={name: definition})) == code
    assert status(lambda: namespace.write(patch_rows=[{"id": "1", "n": 2}])) == 422


def test_dimensions_and_metric_never_change(namespace: Namespace) -> None:
    row = {"id": "1", "vector": [1.0, 0.0]}
    assert status(lambda: namespace.write(upsert_rows=[row], schema=SCHEMA)) == 400
    put(namespace, row)
    assert status(lambda: namespace.write(upsert_rows=[{"id": "2"}])) == 400
    assert status(lambda: namespace.query(rank_by=("vector", "ANN", [1.0]), limit=1)) == 400
    other: Any = "euclidean_squared"
    assert status(lambda: namespace.write(upsert_rows=[row], distance_metric=other)) == 400
    assert ids(namespace) == ["1"]


def test_vectors_come_with_the_first_write_or_never(namespace: Namespace) -> None:
    put(namespace, {"id": "1"}, schema={"n": "int"})
    assert status(lambda: put(namespace, {"id": "2"})) == 400


def test_a_document_has_at_most_64_mib_and_a_namespace_1024_attributes(namespace: Namespace) -> None:
    long: Json = {f"a{number}": "a" * limits.VALUE_BYTES for number in range(8)}
    schema = {name: Attribute("string", filterable=False) for name in long}
    with pytest.raises(Refused, match="64 MiB"):
        document_of({"id": "1", **long}, schema)
    wide: Any = {"vector": {"type": "[10753]f16", "ann": True}}
    assert status(lambda: put(namespace, {"id": "1", "vector": [1.0] * 10_753}, schema=wide)) == 400
    # The id is one of them.
    put(namespace, {"id": "1"}, schema={f"a{number}": "int" for number in range(1_023)})
    assert status(lambda: put(namespace, {"id": "1"}, schema={"one more": "int"})) == 400


def test_a_request_has_at_most_512_mb(address: str) -> None:
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        # Its length alone is enough: the body need not travel.
        head = f"POST /v2/namespaces/test HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer any\r\n"
        connection.sendall(f"{head}Content-Length: {limits.REQUEST_BYTES + 1}\r\n\r\n".encode())
        assert b" 413 " in connection.recv(1_000).splitlines()[0]


def test_a_refused_write_changes_nothing(namespace: Namespace) -> None:
    put(namespace, {"id": "1", "n": 1}, schema={"n": "int"})
    rows: list[Json] = [{"id": "1", "n": 2}, {"id": "2", "n": "two"}]
    schema = {"n": "int", "new": "string"}
    assert status(lambda: put(namespace, *rows, schema=schema, delete_by_filter=("n", "Eq", 1))) == 400
    assert ids(namespace, "n", "Eq", 1) == ["1"]
    assert "new" not in namespace.metadata().schema_


# ---------------------------------------------------------------- filters


@pytest.fixture
def filled(namespace: Namespace) -> Namespace:
    put(
        namespace,
        {"id": "1", "n": 1, "s": "a", "names": ["x", "y"], "text": "red fox", "long": "p"},
        {"id": "2", "n": 2, "s": "b", "names": ["y"], "text": "red dog", "long": "p"},
        {"id": "3", "n": 3, "text": "blue fox", "names": [], "long": "p"},
    )
    return namespace


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        (("n", "Eq", 1), "1"),
        (("n", "NotEq", 1), "23"),
        (("s", "NotEq", "a"), "23"),
        (("s", "In", ["a", "b", "c"]), "12"),
        (("s", "In", []), ""),
        (("id", "In", ["3", "1", "9"]), "13"),
        (("id", "Gt", "1"), "23"),
        (("names", "Contains", "y"), "12"),
        (("n", "Lte", 2), "12"),
        (("n", "Gt", 2), "3"),
        (("And", [("n", "Gt", 1), ("names", "Contains", "y")]), "2"),
        (("Or", [("n", "Eq", 1), ("n", "Eq", 3)]), "13"),
        (("And", []), "123"),
    ],
)
def test_a_filter_lets_the_right_documents_through(filled: Namespace, filter: Any, expected: str) -> None:
    assert ids(filled, *filter) == [*expected]


# ---------------------------------------------------------------- queries


BY_ID: Json = {"rank_by": ("id", "asc"), "limit": 1}


@pytest.mark.parametrize(
    "query",
    [
        *({**BY_ID, "limit": limit} for limit in (0, 10_001, -1)),
        *(
            {**BY_ID, "rank_by": rank_by}
            for rank_by in (("id", "desc"), ("n", "Gt", 1), ("text", "BM25", "あ" * 1_025))
        ),
        *({**BY_ID, "include_attributes": [name]} for name in ("vector", "nothing")),
        {**BY_ID, "exclude_attributes": ["n"]},
        {"aggregate_by": {"all": ("Count",)}},
        *({**BY_ID, "filters": (name, "Eq", 1)} for name in ("text", "long", "unknown", "s", "names")),
        *({**BY_ID, "filters": ("n", *test)} for test in (("Eq", "1"), ("In", 1), ("Contains", 1), ("Almost", 1))),
        *({**BY_ID, "filters": filter} for filter in (("s", "In", ["a" * 4_097]), ("Not", ("n", "Eq", 1)), "n")),
    ],
    ids=lambda query: str(query)[:80],
)
def test_a_query_that_there_is_not_or_that_no_index_serves_is_refused(filled: Namespace, query: Json) -> None:
    assert status(lambda: filled.query(**query)) in (400, 422)
    assert filled.query(rank_by=("text", "BM25", "fox " * 256), limit=5).rows


@pytest.mark.parametrize("count", [0, 17])
def test_a_multi_query_has_1_to_16_queries(filled: Namespace, count: int) -> None:
    one: Any = {"rank_by": ("id", "asc"), "limit": 1}
    assert len(filled.multi_query(queries=[one] * 16).results) == 16
    assert status(lambda: filled.multi_query(queries=[one] * count)) == 400


def test_the_nearest_come_first_with_their_exact_distance(namespace: Namespace) -> None:
    vectors = {"1": [0.0, 2.0], "2": [3.0, 3.0], "3": [5.0, 0.0]}
    put(namespace, *({"id": id, "vector": vector} for id, vector in vectors.items()))
    found = matching(namespace, "vector", "ANN", [2.0, 0.0])
    assert list(found) == ["3", "2", "1"]
    assert [*found.values()] == pytest.approx([0.0, 1 - 0.5**0.5, 1.0], abs=1e-6)
    [exact] = namespace.query(rank_by=("vector", "kNN", [2.0, 0.0]), filters=("id", "In", ["2"]), limit=3).rows or ()
    assert exact["$dist"] == found["2"]
    assert status(lambda: namespace.query(rank_by=("vector", "kNN", [2.0, 0.0]), limit=3)) == 400


def test_a_vector_of_16_bit_floats_is_rounded(namespace: Namespace) -> None:
    schema: Any = {"vector": {"type": "[2]f16", "ann": True}}
    put(namespace, {"id": "1", "vector": [3e-8, 1e-8]}, schema=schema)
    # The least number is 6e-8: the first rounds up to it, the second down to 0.
    assert matching(namespace, "vector", "ANN", [0.0, 1.0]) == {"1": 1.0}
    assert status(lambda: put(namespace, {"id": "2", "vector": [1.0, 70_000.0]}, schema=schema)) == 400


def test_vectors_of_any_width_and_number_are_compared(tmp_path: Path) -> None:
    store = Store(tmp_path / "turbopuffer.sqlite", AT_ONCE)
    # More rows than a block has, and wider ones after narrow ones.
    rows = [{"id": f"{number:05}", "vector": [1.0, 0.0]} for number in range(9_000)]
    rows[100]["vector"] = rows[8_500]["vector"] = [0.0, 1.0]
    store.write("n", {"upsert_rows": rows, "schema": SCHEMA, "distance_metric": METRIC})
    for query in ({"limit": 2}, {"limit": 2, "filters": ["id", "In", ["00100", "08500", "00200"]]}):
        found = store.query("n", {"rank_by": ["vector", "ANN", [0.0, 3.0]], **query})["rows"]
        assert found == [{"id": "00100", "$dist": 0.0}, {"id": "08500", "$dist": 0.0}]


def expected_score(times: int, length: int) -> float:
    """BM25 in three documents of two words on average, two of which have the word."""
    return log(1 + (3 - 2 + 0.5) / (2 + 0.5)) * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length / 2))


def test_bm25_is_the_formula(namespace: Namespace) -> None:
    put(namespace, *({"id": id, "text": text} for id, text in (("1", "fox fox dog"), ("2", "fox"), ("3", "cat dog"))))
    found = matching(namespace, "text", "BM25", "fox")
    assert list(found) == sorted(found, key=lambda id: -found[id])
    assert found == pytest.approx({"1": expected_score(2, 3), "2": expected_score(1, 1)}, rel=1e-5)


def test_bm25_has_the_constants_of_the_attribute(namespace: Namespace) -> None:
    schema = SCHEMA | {"text": {"type": "string", "full_text_search": {"k1": 0.6, "b": 0.0}}}
    texts = {"1": "fox fox dog", "2": "fox", "3": "cat dog"}
    put(namespace, *({"id": id, "text": text} for id, text in texts.items()), schema=schema)
    rarity = log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    expected = {"1": rarity * 2 * 1.6 / (2 + 0.6), "2": rarity * 1.6 / (1 + 0.6)}
    assert matching(namespace, "text", "BM25", "fox") == pytest.approx(expected, rel=1e-5)


def test_a_list_without_a_value_passes_the_filter_that_says_so(namespace: Namespace) -> None:
    schema = SCHEMA | {"folders": {"type": "[]string", "filterable": True}}
    put(namespace, {"id": "1", "folders": ["a", "a/b"]}, {"id": "2", "folders": ["a"]}, {"id": "3"}, schema=schema)
    assert ids(namespace, "folders", "NotContains", "a/b") == ["2", "3"]


def test_deleted_documents_leave_bm25s_statistics(namespace: Namespace, client: Turbopuffer) -> None:
    rows: list[Json] = [{"id": "1", "text": "fox dog"}, {"id": "2", "text": "fox"}]
    put(namespace, *rows, {"id": "3", "text": "fox fox fox"})
    matching(namespace, "text", "BM25", "fox")
    namespace.write(delete_by_filter=("id", "In", ["3"]))
    put(client.namespace("other"), *rows)
    assert matching(namespace, "text", "BM25", "fox") == matching(client.namespace("other"), "text", "BM25", "fox")


def test_clauses_are_summed_or_the_greatest_counts(filled: Namespace) -> None:
    red, fox = (matching(filled, "text", "BM25", word) for word in ("red", "fox"))
    clauses = [("text", "BM25", "red"), ("text", "BM25", "fox")]
    for together, combined in (("Sum", sum), ("Max", max)):
        expected = {id: combined((red.get(id, 0), fox.get(id, 0))) for id in "123"}
        assert matching(filled, together, clauses) == pytest.approx(expected)


def test_a_pre_tokenized_array_is_taken_as_it_is(namespace: Namespace) -> None:
    long = "とても長い言葉" * 5
    put(namespace, {"id": "1", "terms": ["二次 方程式", "Fox", long]}, {"id": "2", "terms": ["二次"]})

    def found(term: str) -> list[str]:
        return [*matching(namespace, "terms", "BM25", [term])]

    assert [found(term) for term in ("二次", "二次 方程式", "fox", "Fox", long)] == [["2"], ["1"], [], ["1"], ["1"]]
    assert status(lambda: matching(namespace, "terms", "BM25", "二次")) == 400
    assert status(lambda: ids(namespace, "terms", "Contains", "Fox")) == 400
    wrong: Any = {"other": {"type": "string", "full_text_search": {"tokenizer": "pre_tokenized_array"}}}
    assert status(lambda: put(namespace, {"id": "3"}, schema=wrong)) == 400


def test_words_end_where_uax_29_says() -> None:
    assert FullText("word_v4").tokens("たすき掛けでカタカナ語。Can't 3.14 e.g. 🐡!") == [
        *("た", "す", "き", "掛", "け", "で", "カタカナ", "語", "can't", "3.14", "e.g", "🐡")
    ]


@pytest.mark.parametrize("longest", [39, 254])
def test_a_token_over_its_limit_is_dropped_without_a_word(longest: int) -> None:
    fits, is_longer = "a" * longest, "b" * (longest + 1)
    assert FullText("word_v4", longest).tokens(f"{fits} {is_longer}") == [fits]
    assert FullText("pre_tokenized_array", longest).tokens([fits, is_longer]) == [fits]


# ---------------------------------------------------------------- data on disk


def test_a_namespace_that_lost_most_of_its_rows_answers_as_before(tmp_path: Path) -> None:
    store = Store(tmp_path / "turbopuffer.sqlite", AT_ONCE)
    rows = [{"id": f"{number:04}", "vector": [1.0, number], "n": number} for number in range(3_000)]
    store.write("n", {"upsert_rows": rows, "schema": SCHEMA, "distance_metric": METRIC})
    store.write("n", {"delete_by_filter": ["n", "Gt", 9]})
    store.write("n", {"upsert_rows": rows[8:12]})
    found = store.query("n", {"rank_by": ["vector", "ANN", [1.0, 0.0]], "limit": 100})["rows"]
    assert [row["id"] for row in found] == [f"{number:04}" for number in range(12)]


TEXT: Json = {"rank_by": ["id", "asc"], "limit": 100}
VECTOR: Json = {"rank_by": ["vector", "ANN", [1.0, 0.0]], "limit": 100}
EXACT: Json = {"rank_by": ["vector", "kNN", [1.0, 0.0]], "limit": 100, "filters": ["id", "Gt", "0"]}


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
    put(namespace, {"id": "1", "n": 1})
    running.store.add_backlog("test", limits.UNINDEXED_SEARCHED_BYTES - 1_000)
    put(namespace, {"id": "2", "n": 1})
    running.store.add_backlog("test", 1_000)
    put(namespace, {"id": "3", "n": 1})
    assert ids(namespace) == ids(namespace, "id", "In", ["1", "2", "3"]) == ["1", "2"]
    assert [row.id for row in namespace.query(rank_by=("vector", "ANN", [1.0, 0.0]), limit=5).rows or ()] == ["1", "2"]
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
