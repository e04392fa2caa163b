"""The stand-in for turbopuffer answers and refuses as turbopuffer does."""

import base64
import json
import socket
import struct
from collections.abc import Callable, Iterator
from math import log
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sakuin_local.turbopuffer import limits
from sakuin_local.turbopuffer.documents import document_of
from sakuin_local.turbopuffer.limits import Refused
from sakuin_local.turbopuffer.pace import AT_ONCE
from sakuin_local.turbopuffer.postings import tokens
from sakuin_local.turbopuffer.schema import Attribute, FullText
from sakuin_local.turbopuffer.store import Store
from turbopuffer import APIStatusError, NotFoundError, Turbopuffer
from turbopuffer.lib.namespace import Namespace

from tests.doubles.real_pace import RealPace, real_pace

METRIC: Any = "cosine_distance"
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
    """What a request that must fail was answered with; always in turbopuffer's form."""
    with pytest.raises(APIStatusError) as failure:
        refused()
    body = failure.value.body
    assert isinstance(body, dict)
    assert body["status"] == "error"
    assert body["error"]
    return failure.value.status_code


def put(namespace: Namespace, *rows: Json, **more: Any) -> Any:
    return namespace.write(upsert_rows=rows, distance_metric=METRIC, **more)


def ids(namespace: Namespace, *filter: Any, **more: Any) -> list[Any]:
    asked = {"filters": filter} if filter else {}
    return [row.id for row in namespace.query(rank_by=("id", "asc"), limit=100, **asked, **more).rows or ()]


# ---------------------------------------------------------------- access and names


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer"}, {"Authorization": "Basic abc"}])
def test_a_request_needs_a_key(address: str, headers: dict[str, str]) -> None:
    assert httpx2.get(f"{address}/v1/namespaces", headers=headers, timeout=60).status_code == 401


def test_a_namespace_that_is_not_there_is_404(namespace: Namespace) -> None:
    for ask in (
        lambda: namespace.query(rank_by=("id", "asc"), limit=1),
        lambda: namespace.metadata(),
        lambda: namespace.schema(),
        lambda: namespace.delete_all(),
        lambda: namespace.write(deletes=["a"]),
        lambda: namespace.write(delete_by_filter=("a", "Eq", 1)),
    ):
        with pytest.raises(NotFoundError):
            ask()


@pytest.mark.parametrize("name", ["a" * 129, "日本語", "a b", "a~b", "a:b"])
def test_a_namespace_s_name_is_plain(client: Turbopuffer, name: str) -> None:
    assert status(lambda: put(client.namespace(name), {"id": 1, "vector": [1.0]})) == 400


def test_a_name_of_128_characters_is_one(client: Turbopuffer, namespace: Namespace) -> None:
    put(client.namespace("a.b-c_" + "d" * 122), {"id": 1, "vector": [1.0]})


def test_namespaces_are_listed_by_pages(client: Turbopuffer, namespace: Namespace) -> None:
    for number in range(5):
        put(client.namespace(f"n{number}"), {"id": 1, "a": 1})
    put(client.namespace("other"), {"id": 1, "a": 1})
    first = client.namespaces(prefix="n", page_size=2)
    assert [each.id for each in first.namespaces] == ["n0", "n1"]
    assert [each.id for each in client.namespaces(prefix="n", page_size=2)] == [f"n{number}" for number in range(5)]
    assert status(lambda: client.namespaces(cursor="?")) == 400
    assert status(lambda: client.namespaces(page_size=1_001)) == 400


# ---------------------------------------------------------------- writing


def test_ids_are_of_64_bytes_and_one_type(namespace: Namespace) -> None:
    put(namespace, {"id": "a" * 64, "a": 1}, schema={"id": "string"})
    assert status(lambda: put(namespace, {"id": "a" * 65, "a": 1})) == 400
    assert status(lambda: put(namespace, {"id": 7, "a": 1})) == 400
    assert status(lambda: put(namespace, {"id": "a", "a": 1}, {"id": "a", "a": 2})) == 400
    assert status(lambda: namespace.write(deletes=["あ" * 22])) == 400
    assert status(lambda: put(namespace, {"id": -1, "a": 1})) == 422


def test_ids_are_of_one_type_also_when_nobody_declared_it(namespace: Namespace) -> None:
    put(namespace, {"id": 7, "a": 1})
    assert status(lambda: put(namespace, {"id": "b", "a": 1})) == 400
    assert ids(namespace) == [7]


def test_dimensions_and_metric_never_change(namespace: Namespace) -> None:
    assert status(lambda: namespace.write(upsert_rows=[{"id": 1, "vector": [1.0, 2.0]}])) == 400
    put(namespace, {"id": 1, "vector": [1.0, 0.0]})
    assert status(lambda: put(namespace, {"id": 2, "vector": [1.0]})) == 400
    assert status(lambda: put(namespace, {"id": 2})) == 400
    assert status(lambda: namespace.write(upsert_rows=[], schema={"vector": {"type": "[3]f32", "ann": True}})) == 400
    assert status(lambda: namespace.query(rank_by=("vector", "ANN", [1.0]), limit=1)) == 400
    other: Any = "euclidean_squared"
    row = {"id": 2, "vector": [1.0, 0.0]}
    assert status(lambda: namespace.write(upsert_rows=[row], distance_metric=other)) == 400
    assert ids(namespace) == [1]


def test_a_vector_has_at_most_10752_dimensions(namespace: Namespace) -> None:
    schema: Any = {"vector": {"type": "[10753]f32", "ann": True}}
    assert status(lambda: put(namespace, {"id": 1, "vector": [1.0] * 10_753}, schema=schema)) == 400


def test_an_attribute_s_type_never_changes(namespace: Namespace) -> None:
    put(namespace, {"id": 1, "n": 1, "names": ["a"]})
    assert status(lambda: put(namespace, {"id": 2, "n": "one"})) == 400
    assert status(lambda: put(namespace, {"id": 2, "names": "a"})) == 400
    assert status(lambda: put(namespace, {"id": 2, "n": 1}, schema={"n": "string"})) == 400
    assert status(lambda: put(namespace, {"id": 2, "$n": 1})) == 400
    assert status(lambda: put(namespace, {"id": 2, "x" * 129: 1})) == 400


def test_a_filterable_value_has_at_most_4_kib(namespace: Namespace) -> None:
    put(namespace, {"id": 1, "s": "a" * 4_096}, schema={"long": {"type": "string", "filterable": False}})
    assert status(lambda: put(namespace, {"id": 2, "s": "a" * 4_097})) == 400
    assert status(lambda: put(namespace, {"id": 2, "list": ["あ" * 1_366]})) == 400
    put(namespace, {"id": 2, "long": "あ" * 100_000})
    assert ids(namespace, "s", "Eq", "a" * 4_096) == [1]
    assert status(lambda: ids(namespace, "s", "In", ["b", "a" * 4_097])) == 400
    assert status(lambda: put(namespace, {"id": 3, "long": "a" * (limits.VALUE_BYTES + 1)})) == 400


def test_a_document_has_at_most_64_mib_and_a_namespace_1024_attributes(namespace: Namespace) -> None:
    long: Json = {f"a{number}": "a" * limits.VALUE_BYTES for number in range(8)}
    schema = {name: Attribute("string", filterable=False) for name in long}
    with pytest.raises(Refused, match="64 MiB"):
        document_of({"id": 1, **long}, schema)
    # The id is one of them.
    put(namespace, {"id": 1} | {f"a{number}": 1 for number in range(1_023)})
    assert status(lambda: put(namespace, {"id": 1, "one more": 1})) == 400


def test_a_request_has_at_most_512_mb(address: str) -> None:
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        # Its length alone is enough: the body need not travel.
        head = f"POST /v2/namespaces/test HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer any\r\n"
        connection.sendall(f"{head}Content-Length: {limits.REQUEST_BYTES + 1}\r\n\r\n".encode())
        assert b" 413 " in connection.recv(1_000).splitlines()[0]


def test_compressed_requests_are_the_same(address: str, namespace: Namespace) -> None:
    put(namespace, {"id": 1, "s": "a" * 2_000}, {"id": 2, "s": None})
    compressing = Turbopuffer(base_url=address, api_key="any", max_retries=0, compression=True).namespace("test")
    put(compressing, {"id": 3, "s": "b" * 2_000})
    assert ids(namespace) == [1, 2, 3]
    assert ids(namespace, "s", "Eq", None) == [2]


def test_a_condition_sees_the_stored_and_the_new_document(namespace: Namespace) -> None:
    condition = ("g", "Lt", {"$ref_new": "g"})
    put(namespace, {"id": 1, "g": 5}, {"id": 2, "g": 1}, {"id": 4, "g": None})
    answer = put(
        namespace,
        *({"id": id, "g": 3} for id in (1, 2, 3)),
        upsert_condition=condition,
        return_affected_ids=True,
    )
    assert (answer.rows_affected, answer.rows_upserted, answer.upserted_ids) == (2, 2, [2, 3])
    deleted = namespace.write(deletes=[1, 2, 9], delete_condition=("g", "Eq", 3))
    assert deleted.rows_deleted == 1
    assert ids(namespace) == [1, 3, 4]


def test_what_is_deleted_by_filter_is_gone_before_the_upserts(namespace: Namespace) -> None:
    put(namespace, {"id": 1, "k": "a"}, {"id": 2, "k": "a"}, {"id": 3, "k": "b"})
    answer = put(namespace, {"id": 1, "k": "a"}, delete_by_filter=("k", "Eq", "a"))
    assert answer.rows_deleted == 2
    assert ids(namespace) == [1, 3]


def test_a_refused_write_changes_nothing(namespace: Namespace) -> None:
    put(namespace, {"id": 1, "n": 1})
    refused: list[Json] = [{"id": 1, "n": 2, "new": "x"}, {"id": 2, "n": "two"}]
    assert status(lambda: put(namespace, *refused, delete_by_filter=("n", "Eq", 1))) == 400
    assert ids(namespace, "n", "Eq", 1) == [1]
    assert "new" not in namespace.schema()


# ---------------------------------------------------------------- filters


@pytest.fixture
def filled(namespace: Namespace) -> Namespace:
    schema: Any = {
        "text": {"type": "string", "full_text_search": True},
        "plain": {"type": "string", "filterable": False},
    }
    put(
        namespace,
        {"id": 1, "n": 1, "s": "a", "l": ["x", "y"], "text": "red fox", "plain": "p"},
        {"id": 2, "n": 2, "s": "b", "l": ["y"], "text": "red dog", "plain": "p"},
        {"id": 3, "n": 3, "text": "blue fox", "l": [], "plain": "p"},
        schema=schema,
    )
    return namespace


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        (("n", "Eq", 1), [1]),
        (("n", "NotEq", 1), [2, 3]),
        (("s", "Eq", None), [3]),
        (("s", "NotEq", None), [1, 2]),
        (("s", "In", ["a", "b", "c"]), [1, 2]),
        (("s", "NotIn", ["a"]), [2, 3]),
        (("s", "In", []), []),
        (("id", "In", [3, 1]), [1, 3]),
        (("id", "Gt", 1), [2, 3]),
        (("l", "Contains", "y"), [1, 2]),
        (("l", "NotContains", "x"), [2, 3]),
        (("l", "ContainsAny", ["x", "z"]), [1]),
        (("n", "Lt", 2), [1]),
        (("n", "Lte", 2), [1, 2]),
        (("n", "Gt", 2), [3]),
        (("n", "Gte", 2), [2, 3]),
        (("And", [("n", "Gt", 1), ("l", "Contains", "y")]), [2]),
        (("Or", [("n", "Eq", 1), ("n", "Eq", 3)]), [1, 3]),
        (("Not", ("n", "Eq", 1)), [2, 3]),
        (("And", []), [1, 2, 3]),
    ],
)
def test_a_filter_lets_the_right_documents_through(filled: Namespace, filter: Any, expected: list[int]) -> None:
    assert ids(filled, *filter) == expected


@pytest.mark.parametrize(
    "filter",
    [
        ("text", "Eq", "red fox"),
        ("plain", "Eq", "p"),
        ("unknown", "Eq", 1),
        ("n", "Eq", "1"),
        ("n", "In", 1),
        ("n", "Contains", 1),
        ("l", "Eq", "x"),
        ("text", "ContainsAllTokens", "fox red"),
        ("n", "Almost", 1),
        "n",
    ],
)
def test_a_filter_that_no_index_serves_is_refused(filled: Namespace, filter: Any) -> None:
    asked: Any = filter
    assert status(lambda: filled.query(rank_by=("id", "asc"), limit=1, filters=asked)) in (400, 422)


# ---------------------------------------------------------------- queries


@pytest.mark.parametrize("limit", [0, 10_001, -1])
def test_an_answer_has_1_to_10000_rows(filled: Namespace, limit: int) -> None:
    assert status(lambda: filled.query(rank_by=("id", "asc"), limit=limit)) == 400


@pytest.mark.parametrize("count", [0, 17])
def test_a_multi_query_has_1_to_16_queries(filled: Namespace, count: int) -> None:
    one: Any = {"rank_by": ("id", "asc"), "limit": 1}
    assert len(filled.multi_query(queries=[one] * 16).results) == 16
    assert status(lambda: filled.multi_query(queries=[one] * count)) == 400


def test_a_full_text_query_has_at_most_1024_characters(filled: Namespace) -> None:
    assert filled.query(rank_by=("text", "BM25", "fox " * 256), limit=5).rows
    assert status(lambda: filled.query(rank_by=("text", "BM25", "あ" * 1_025), limit=5)) == 400


def test_the_nearest_come_first_with_their_exact_distance(namespace: Namespace) -> None:
    put(namespace, {"id": 1, "vector": [0.0, 2.0]}, {"id": 2, "vector": [3.0, 3.0]}, {"id": 3, "vector": [5.0, 0.0]})
    rows = namespace.query(rank_by=("vector", "ANN", [2.0, 0.0]), limit=3).rows or []
    assert [row.id for row in rows] == [3, 2, 1]
    assert [row["$dist"] for row in rows] == pytest.approx([0.0, 1 - 0.5**0.5, 1.0], abs=1e-6)
    assert rows[0].vector is None


def test_a_vector_may_come_as_base64_and_zeros_at_its_end_stay(address: str, namespace: Namespace) -> None:
    packed = base64.b64encode(struct.pack("<3f", 1.0, 0.5, 0.0)).decode()
    body = {"upsert_rows": [{"id": 1, "vector": packed}], "distance_metric": "cosine_distance"}
    headers = {"Authorization": "Bearer any"}
    httpx2.post(
        f"{address}/v2/namespaces/test", headers=headers, content=json.dumps(body), timeout=60
    ).raise_for_status()
    rows = namespace.query(rank_by=("vector", "ANN", [1.0, 0.0, 0.0]), limit=1, include_attributes=["vector"]).rows
    assert rows
    assert rows[0].vector == [1.0, 0.5, 0.0]


def test_a_vector_of_16_bit_floats_is_rounded(namespace: Namespace) -> None:
    schema: Any = {"vector": {"type": "[2]f16", "ann": True}}
    put(namespace, {"id": 1, "vector": [1.0, 1 / 3]}, schema=schema)
    [row] = namespace.query(rank_by=("id", "asc"), limit=1, include_attributes=["vector"]).rows or []
    assert row.vector == [1.0, 0.333251953125]
    assert status(lambda: put(namespace, {"id": 2, "vector": [1.0, 70_000.0]})) == 400
    assert status(lambda: put(namespace, {"id": 2, "vector": [1.0, 1.0]}, schema={"vector": "[2]f32"})) == 400


def test_bm25_is_the_formula(namespace: Namespace) -> None:
    schema: Any = {"text": {"type": "string", "full_text_search": True}}
    put(
        namespace,
        {"id": 1, "text": "fox fox dog"},
        {"id": 2, "text": "fox"},
        {"id": 3, "text": "cat dog"},
        schema=schema,
    )
    rows = namespace.query(rank_by=("text", "BM25", "fox"), limit=5).rows or []

    def expected(times: int, length: int) -> float:
        return log(1 + (3 - 2 + 0.5) / (2 + 0.5)) * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length / 2))

    assert [row.id for row in rows] == [1, 2] if expected(2, 3) > expected(1, 1) else [2, 1]
    assert {row.id: row["$dist"] for row in rows} == pytest.approx({1: expected(2, 3), 2: expected(1, 1)}, rel=1e-5)


def test_deleted_documents_leave_bm25s_statistics(namespace: Namespace, client: Turbopuffer) -> None:
    schema: Any = {"text": {"type": "string", "full_text_search": True}}
    rows: list[Json] = [{"id": 1, "text": "fox dog"}, {"id": 2, "text": "fox"}]
    put(namespace, *rows, {"id": 3, "text": "fox fox fox"}, schema=schema)
    namespace.query(rank_by=("text", "BM25", "fox"), limit=5)
    namespace.write(deletes=[3])
    other = client.namespace("other")
    put(other, *rows, schema=schema)
    scores = [
        [(row.id, row["$dist"]) for row in each.query(rank_by=("text", "BM25", "fox"), limit=5).rows or []]
        for each in (namespace, other)
    ]
    assert scores[0] == scores[1]


def test_clauses_are_summed_and_weighted(filled: Namespace) -> None:
    def found(rank_by: Any) -> dict[Any, Any]:
        return {row.id: row["$dist"] for row in filled.query(rank_by=rank_by, limit=5).rows or []}

    red, fox = found(("text", "BM25", "red")), found(("text", "BM25", "fox"))
    both = found(("Sum", [("Product", 3, ("text", "BM25", "red")), ("text", "BM25", "fox")]))
    assert both == pytest.approx({id: 3 * red.get(id, 0) + fox.get(id, 0) for id in (1, 2, 3)})


def test_a_pre_tokenized_array_is_taken_as_it_is(namespace: Namespace) -> None:
    full_text = {"tokenizer": "pre_tokenized_array", "max_token_length": 254}
    schema: Any = {"terms": {"type": "[]string", "full_text_search": full_text}}
    long = "とても長い言葉" * 5
    put(namespace, {"id": 1, "terms": ["二次 方程式", "Fox", long]}, {"id": 2, "terms": ["二次"]}, schema=schema)

    def found(*terms: str) -> list[Any]:
        return [row.id for row in namespace.query(rank_by=("terms", "BM25", list(terms)), limit=5).rows or []]

    assert (found("二次"), found("二次 方程式"), found("fox"), found("Fox"), found(long)) == ([2], [1], [], [1], [1])
    assert status(lambda: namespace.query(rank_by=("terms", "BM25", "二次"), limit=5)) == 400
    assert status(lambda: namespace.query(filters=("terms", "Contains", "Fox"), rank_by=("id", "asc"), limit=5)) == 400
    wrong: Any = {"other": {"type": "string", "full_text_search": {"tokenizer": "pre_tokenized_array"}}}
    assert status(lambda: put(namespace, {"id": 3, "other": "a"}, schema=wrong)) == 400


def test_words_end_where_uax_29_says() -> None:
    assert tokens("たすき掛けでカタカナ語。Can't 3.14 e.g. 🐡!", FullText()) == [
        *("た", "す", "き", "掛", "け", "で", "カタカナ", "語", "can't", "3.14", "e.g", "🐡")
    ]


@pytest.mark.parametrize("longest", [39, 254])
def test_a_token_over_its_limit_is_dropped_without_a_word(longest: int) -> None:
    fits, is_longer = "a" * longest, "b" * (longest + 1)
    assert tokens(f"{fits} {is_longer}", FullText(max_token_length=longest)) == [fits]
    ready = FullText("pre_tokenized_array", max_token_length=longest)
    assert tokens([fits, is_longer], ready) == [fits]


@pytest.mark.parametrize("longest", [0, 255])
def test_the_limit_of_tokens_is_1_to_254_bytes(namespace: Namespace, longest: int) -> None:
    schema: Any = {"text": {"type": "string", "full_text_search": {"max_token_length": longest}}}
    assert status(lambda: put(namespace, {"id": 1, "text": "a"}, schema=schema)) == 400


def test_documents_are_ordered_and_counted(filled: Namespace) -> None:
    rows = filled.query(rank_by=("id", "desc"), limit=2, include_attributes=["n"]).rows or []
    assert [row["n"] for row in rows] == [3, 2]
    assert filled.query(aggregate_by={"all": ("Count",)}, filters=("n", "Gt", 1)).aggregations == {"all": 2}


@pytest.mark.parametrize(
    "asked",
    [
        {"rank_by": ("n", "desc"), "limit": 1},
        {"rank_by": ("n", "Gt", 1), "limit": 1},
        {"rank_by": ("id", "asc"), "limit": 1, "exclude_attributes": ["n"]},
        {"aggregate_by": {"sum": ("Sum", "n")}},
    ],
)
def test_what_the_stand_in_does_not_support_is_refused(filled: Namespace, asked: Json) -> None:
    assert status(lambda: filled.query(**asked)) in (400, 422)
    assert status(lambda: filled.write(patch_rows=[{"id": 1, "n": 2}])) == 422
    assert status(lambda: put(filled, {"id": 4, "g": "a"}, schema={"g": {"type": "string", "glob": True}})) == 400


def test_attributes_nobody_asked_for_stay_away(filled: Namespace) -> None:
    [row] = filled.query(rank_by=("id", "asc"), limit=1).rows or []
    assert row.model_dump(exclude_none=True) == {"id": 1}
    assert status(lambda: filled.query(rank_by=("id", "asc"), limit=1, include_attributes=["nothing"])) == 400


def test_the_metadata_say_what_is_indexed(filled: Namespace) -> None:
    metadata = filled.metadata()
    assert metadata.approx_row_count == 3
    assert metadata.schema_["n"].filterable
    assert metadata.schema_["text"].filterable is False
    full_text: Any = metadata.schema_["text"].full_text_search
    assert (full_text.tokenizer, full_text.k1, full_text.b, full_text.max_token_length) == ("word_v4", 1.2, 0.75, 39)


# ---------------------------------------------------------------- keeping


def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "turbopuffer.sqlite"
    schema = {"terms": {"type": "[]string", "full_text_search": {"tokenizer": "pre_tokenized_array"}}}
    rows = [
        {"id": f"d{number}", "vector": [1.0, number], "terms": ["a"] * number, "n": number} for number in range(1, 9)
    ]
    first = Store(file, AT_ONCE)
    first.write("n", {"upsert_rows": rows, "schema": schema, "distance_metric": "cosine_distance"})
    first.write("n", {"delete_by_filter": ["n", "Gt", 6]})
    asked = {"rank_by": ["terms", "BM25", ["a"]], "limit": 10, "include_attributes": True}
    before, after = first.query("n", asked), Store(file, AT_ONCE).query("n", asked)
    assert len(after["rows"]) == 6
    assert after["rows"] == before["rows"]
    assert Store(file, AT_ONCE).schema("n") == first.schema("n")


def test_a_namespace_that_lost_most_of_its_rows_answers_as_before(tmp_path: Path) -> None:
    store = Store(tmp_path / "turbopuffer.sqlite", AT_ONCE)
    rows = [{"id": number, "vector": [1.0, number], "n": number} for number in range(3_000)]
    store.write("n", {"upsert_rows": rows, "distance_metric": "cosine_distance"})
    store.write("n", {"delete_by_filter": ["n", "Gte", 10]})
    store.write("n", {"upsert_rows": rows[8:12]})
    found = store.query("n", {"rank_by": ["vector", "ANN", [1.0, 0.0]], "limit": 100})["rows"]
    assert [row["id"] for row in found] == list(range(12))
