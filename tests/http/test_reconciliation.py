"""`POST /v1/reconcile`, over a library."""

import pytest
from sakuin.http.app import rest_api
from sakuin.http.upkeep import reconcile_router
from starlette.testclient import TestClient

from tests.builders import a_page
from tests.events import AUTHORIZATION, ring
from tests.worlds import World, Worlds

PAGE = a_page({"rule-a": "解の公式: 一。"})
MISSING = {
    "rule": "missing",
    "where": "a.html",
    "message": "It is in the bucket, but the index does not know it.",
    "repair": "the key is checked again",
}


@pytest.fixture
def lost(a_world: Worlds) -> World:
    """A library whose one upload has no event."""
    world = a_world()
    world.bucket.write("a.html", PAGE)
    world.bucket.forget_messages()
    return world


def api(world: World) -> TestClient:
    router = reconcile_router(lambda: world.reconcile)
    return TestClient(rest_api(world.library, ring, "1", admin_routers=[router]), headers=AUTHORIZATION)


def test_a_dry_run_is_the_default(lost: World) -> None:
    answer = api(lost).post("/v1/reconcile", json={"kind": "keys"})
    assert answer.json() == {"differences": [MISSING], "next": None}
    assert lost.queue.rechecks == []


def test_it_comes_in_pages(lost: World) -> None:
    for number in range(1200):
        lost.bucket.write(f"b/{number:04}.html", PAGE)
    lost.bucket.forget_messages()
    first = api(lost).post("/v1/reconcile", json={"kind": "keys"}).json()
    second = api(lost).post("/v1/reconcile", json={"kind": "keys", "after": first["next"]}).json()
    assert (len(first["differences"]), len(second["differences"]), second["next"]) == (1000, 201, None)


@pytest.mark.parametrize("body", [{}, {"kind": "everything"}, {"kind": "keys", "dry_run": "perhaps"}])
def test_a_wrong_question_is_422(lost: World, body: object) -> None:
    assert api(lost).post("/v1/reconcile", json=body).status_code == 422
