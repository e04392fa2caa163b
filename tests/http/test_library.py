"""The REST API of the library."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sakuin import __version__
from sakuin.errors import Conflict, Invalid, Misconfigured, NotFound, Unavailable
from sakuin.http.app import rest_api
from sakuin.knowledge.page import IndexedChunk
from sakuin.platform.keys import hash_of_key
from sakuin.platform.supabase.schema import Health
from starlette.testclient import TestClient

from tests.builders import a_page
from tests.emptied import emptied
from tests.events import AUTHORIZATION, KEY
from tests.exchanges import answers_to
from tests.snapshots import Case, cases, compare
from tests.worlds import World, Worlds, as_before, with_a_page

REFUSALS = Path(__file__).with_name("refusals.yaml")
MATERIAL = "junior/二次方程式の解き方_教材"


@pytest.fixture(scope="module")
def world(a_world: Worlds, sql: psycopg.Connection) -> World:
    """One library for all tests, with a page."""
    emptied(sql)
    return with_a_page(a_world)


@pytest.fixture(scope="module")
def api(world: World) -> TestClient:
    return TestClient(rest_api(world.services), headers=AUTHORIZATION)


@pytest.fixture
def changes(world: World) -> Iterator[None]:
    """For a test that changes the library: it is as before afterwards."""
    with as_before(world):
        yield


def test_health_needs_no_key(api: TestClient) -> None:
    answer = api.get("/healthz", headers={"Authorization": ""})
    state = {"schema": "current", "maintained_at": None, "advice": None}
    assert answer.json() == {"status": "ok", "version": __version__, **state}


def test_health_says_what_to_do_about_another_schema(world: World) -> None:
    at = "2026-11-28T21:00:00Z"
    app = rest_api(replace(world.services, health=lambda: Health("older", at)))
    answer = TestClient(app).get("/healthz")
    advice = "Apply the migrations: docs/how-to/upgrade.md."
    state = {"schema": "older", "maintained_at": at, "advice": advice}
    assert answer.json() == {"status": "ok", "version": __version__, **state}


@pytest.mark.parametrize("path", ["/mcp", "/mcp/11111111-1111-1111-1111-111111111111"])
def test_an_endpoint_with_a_slash_at_its_end_leads_to_the_endpoint(api: TestClient, path: str) -> None:
    answer = api.post(f"{path}/", json={}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (308, path)


def test_the_status_counts_materials_and_chunks(api: TestClient, world: World, changes: None) -> None:
    world.put("bad.html", b"%PDF-1.7")
    (ready,) = api.get("/v1/materials", params={"status": "ready"}).json()["materials"]
    work = {"count": 0, "oldest_seconds": 0, "reasons": [], "rows": []}
    expected = {"materials": {"ready": 1, "failed": 1}, "chunks": 3, "competing": [], "work": work}
    expected |= {"last_indexed": ready["indexed_at"], "words": ready["words"]}
    assert (ready["words"]["searched"] > 0, ready["words"]["lost"]) == (True, 0)
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
    api = TestClient(rest_api(replace(world.services, record_use=noted.append)))
    for path in ("/v1/status", "/v1/projects"):
        api.get(path, headers={"Authorization": "Bearer wrong"})
        assert noted == []
        api.get(path, headers=AUTHORIZATION)
        assert noted == [hash_of_key(KEY)]
        noted.clear()
    api.get("/healthz", headers=AUTHORIZATION)
    assert noted == []


@pytest.mark.parametrize("case", cases(REFUSALS), ids=lambda case: case["rule"])
def test_every_refusal_is_a_sentence_in_the_same_shape(api: TestClient, case: Case) -> None:
    def call(method: str, path: str, body: object) -> Any:
        answer = api.request(method, path, json=body)
        assert answer.json().keys() == {"detail", "code", "request_id"}
        assert ("allow" in answer.headers) is (answer.status_code == 405)
        return answer

    compare(REFUSALS, case, answers_to(case["requests"], call))


@pytest.mark.parametrize(
    ("path", "body"),
    [("files/results", {"versions": [{"key": "a", "version_id": "b"}] * 501}), ("anchors", ["a"] * 501)],
)
def test_too_many_items_are_422(api: TestClient, path: str, body: object) -> None:
    answer = api.post(f"/v1/{path}", json=body)
    assert (answer.status_code, "has 501 items; the limit is 500" in answer.json()["detail"]) == (422, True)


class _Failing:
    """Records that fail as a test says."""

    error: Exception

    def indexed_materials(self, materials: Collection[str]) -> dict[str, list[IndexedChunk]]:
        raise self.error


@pytest.fixture(scope="module")
def failing(world: World) -> tuple[TestClient, _Failing]:
    records: Any = _Failing()
    services = replace(world.services, library=replace(world.library, records=records))
    return TestClient(rest_api(services), headers=AUTHORIZATION), records


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


def test_an_unexpected_error_has_the_same_body_without_its_text(failing: tuple[TestClient, _Failing]) -> None:
    failing[1].error = RuntimeError("where the key is")
    api = TestClient(failing[0].app, headers=AUTHORIZATION, raise_server_exceptions=False)
    answer = api.post("/v1/anchors", json=["a"])
    body = {"detail": "Something went wrong.", "code": "internal", "request_id": ""}
    assert (answer.status_code, answer.json()) == (500, body)


def test_the_description_is_served_to_everybody(failing: tuple[TestClient, _Failing]) -> None:
    paths = TestClient(failing[0].app).get("/openapi.json").json()["paths"]
    assert {"/v1/status", "/v1/search"} <= paths.keys()


@pytest.mark.parametrize(("wanted", "said"), [(None, "5"), (0.2, "1"), (29.1, "30")])
def test_a_vendor_s_retry_time_is_told(failing: tuple[TestClient, _Failing], wanted: float | None, said: str) -> None:
    failing[1].error = Unavailable("what to do", vendor="supabase", retry_after=wanted)
    assert failing[0].post("/v1/anchors", json=["a"]).headers["retry-after"] == said
