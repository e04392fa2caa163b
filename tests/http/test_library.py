"""The REST API of the library."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from fastapi import APIRouter
from sakuin.errors import Conflict, Invalid, Misconfigured, NotFound, Unavailable
from sakuin.http.app import rest_api
from sakuin.knowledge.validation import IndexedChunk
from starlette.testclient import TestClient

from tests.builders import a_page
from tests.emptied import emptied
from tests.events import AUTHORIZATION, ring
from tests.worlds import World, Worlds, as_before, with_a_page

MATERIAL = "junior/二次方程式の解き方_教材"


@pytest.fixture(scope="module")
def world(a_world: Worlds, sql: psycopg.Connection) -> World:
    """One library for all tests, with a page."""
    emptied(sql)
    return with_a_page(a_world)


@pytest.fixture(scope="module")
def api(world: World) -> TestClient:
    return TestClient(rest_api(world.library, ring, "1.2.3"), headers=AUTHORIZATION)


@pytest.fixture
def changes(world: World) -> Iterator[None]:
    """For a test that changes the library: it is as before afterwards."""
    with as_before(world):
        yield


def test_health_needs_no_key(api: TestClient) -> None:
    answer = api.get("/healthz", headers={"Authorization": ""})
    assert answer.json() == {"status": "ok", "version": "1.2.3", "schema": "current"}


def test_health_says_what_to_do_about_another_schema(world: World) -> None:
    app = rest_api(world.library, ring, "1.2.3", schema=lambda: "older")
    answer = TestClient(app).get("/healthz")
    advice = "Apply the migrations: docs/how-to/upgrade.md."
    assert answer.json() == {"status": "ok", "version": "1.2.3", "schema": "older", "advice": advice}


def test_the_status_counts_materials_and_chunks(api: TestClient, world: World, changes: None) -> None:
    world.put("bad.html", b"%PDF-1.7")
    (ready,) = api.get("/v1/materials", params={"status": "ready"}).json()["materials"]
    expected = {"materials": {"ready": 1, "failed": 1}, "chunks": 3, "last_indexed": ready["indexed_at"], "waiting": []}
    assert api.get("/v1/status").json() == expected
    failed = api.get("/v1/materials", params={"status": "failed"}).json()["materials"]
    assert [each["material"] for each in failed] == ["bad"]


def test_materials_come_in_pages(api: TestClient, world: World, changes: None) -> None:
    for name in "abc":
        world.put(f"{name}.html", a_page({}))
    seen: list[str] = []
    cursor: str | None = None
    while True:
        wanted = {"limit": "2", **({"after": cursor} if cursor else {})}
        page = api.get("/v1/materials", params=wanted).json()
        seen += [item["material"] for item in page["materials"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == ["a", "b", "c", MATERIAL]


def test_the_use_of_an_admin_key_is_recorded(world: World) -> None:
    noted: list[str] = []
    router = APIRouter()
    router.get("/v1/own")(lambda: "guarded by itself")
    api = TestClient(rest_api(world.library, ring, "1.2.3", router, record_use=noted.append))
    for path in ("/v1/status", "/v1/own"):
        api.get(path, headers={"Authorization": "Bearer wrong"})
        assert noted == []
        api.get(path, headers=AUTHORIZATION)
        assert noted == list(ring.hashes())
        noted.clear()
    api.get("/healthz", headers=AUTHORIZATION)
    assert noted == []


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "told"),
    [
        ("GET", "/v1/materials?limit=x", None, 422, "'limit': Input should be a valid integer"),
        ("GET", "/v1/materials?Limit=1", None, 422, "Unknown query parameter 'Limit'. Use after, limit, prefix"),
        ("GET", "/v1/status?limit=1", None, 422, "Unknown query parameter 'limit'. This route has none"),
        ("POST", "/v1/receipts", {"versions": [{"key": "a"}]}, 422, "'versions.0.version_id' is required"),
        ("POST", "/v1/receipts", {"versions": [{}] * 9}, 422, "; and 13 more"),
        ("GET", "/v1/materials?limit=0", None, 422, "'limit': Input should be greater than or equal to 1"),
        ("GET", "/v1/materials?limit=501", None, 422, "'limit': Input should be less than or equal to 500"),
        (
            "POST",
            "/v1/receipts",
            {"versions": [{"key": "a", "version_id": "b"}] * 501},
            422,
            "'versions' has 501 items; the limit",
        ),
        ("POST", "/v1/anchors", {"materials": []}, 422, "Input should be a valid list"),
        ("POST", "/v1/anchors", ["a"] * 501, 422, "'body' has 501 items; the limit is 500"),
        ("GET", "/v1/nothing", None, 404, "There is no such path"),
        ("PUT", "/v1/status", None, 405, "This path does not have this method"),
    ],
)
def test_every_refusal_is_a_sentence_in_the_same_shape(
    api: TestClient, method: str, path: str, body: object, status: int, told: str
) -> None:
    answer = api.request(method, path, json=body)
    assert answer.status_code == status
    assert told in answer.json()["detail"]
    assert answer.json().keys() == {"detail", "code", "request_id"}
    assert ("allow" in answer.headers) is (status == 405)


class _Failing:
    """Records that fail as a test says."""

    error: Exception

    def indexed_materials(self, materials: Collection[str]) -> dict[str, list[IndexedChunk]]:
        raise self.error


@pytest.fixture(scope="module")
def failing(world: World) -> tuple[TestClient, _Failing]:
    records: Any = _Failing()
    return TestClient(rest_api(replace(world.library, records=records), ring, "1.2.3"), headers=AUTHORIZATION), records


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (NotFound, 404, "not_found"),
        (Invalid, 422, "invalid"),
        (Conflict, 409, "conflict"),
        (Unavailable, 503, "unavailable"),
        (Misconfigured, 500, "internal"),
    ],
)
def test_each_error_has_its_status_and_its_code(
    failing: tuple[TestClient, _Failing], error: type[Exception], status: int, code: str
) -> None:
    api, failing[1].error = failing[0], error("what to do")
    answer = api.post("/v1/anchors", json=["a"])
    assert (answer.status_code, answer.json()) == (status, {"detail": "what to do", "code": code, "request_id": ""})
    assert ("retry-after" in answer.headers) == (status == 503)


@pytest.mark.parametrize(("wanted", "said"), [(None, "5"), (0.2, "1"), (29.1, "30")])
def test_a_vendor_s_retry_time_is_told(failing: tuple[TestClient, _Failing], wanted: float | None, said: str) -> None:
    failing[1].error = Unavailable("what to do", vendor="supabase", retry_after=wanted)
    assert failing[0].post("/v1/anchors", json=["a"]).headers["retry-after"] == said
