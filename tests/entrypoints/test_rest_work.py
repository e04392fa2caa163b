"""`GET /v1/work`, and what a material says of its messages."""

import pytest
from sakuin.domain.work import Ended, Parked
from sakuin.entrypoints.http import rest_api
from sakuin.entrypoints.http_work import work_router
from sakuin.services.look_at_work import LookAtWork
from starlette.testclient import TestClient

from tests.entrypoints.events import AUTHORIZATION, ring
from tests.in_memory.work import a_message
from tests.in_memory.world import World

MATERIAL = "junior/二次方程式の解き方_教材"


@pytest.fixture
def api(world: World) -> TestClient:
    """The API over a library with one page, whose next version waits for OpenAI."""
    message = a_message("m1", subject=MATERIAL)
    world.work.begin([message, a_message("m2", queue="embed", subject="a table")])
    world.work.end([Ended(message, Parked(60, "openai is away", "openai"))])
    work = LookAtWork(world.work)
    application = rest_api(world.library, ring, "1.2.3", admin_routers=[work_router(work)], work_of=work.of_materials)
    return TestClient(application, headers=AUTHORIZATION)


@pytest.mark.parametrize("headers", [{"Authorization": ""}, {"Authorization": "Bearer sk_sakuin_wrong"}])
def test_it_needs_an_admin_key(api: TestClient, headers: dict[str, str]) -> None:
    answer = api.get("/v1/work", headers=headers)
    assert (answer.status_code, "WWW-Authenticate" in answer.headers) == (401, True)


def test_all_that_is_not_done_is_listed_and_counted(api: TestClient) -> None:
    said = api.get("/v1/work").json()
    assert [row["id"] for row in said["work"]] == ["m1", "m2"]
    assert said["counts"] == {"in_hand": 1, "waiting": 0, "parked": 1, "dead": 0}


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"state": "parked"}, ["m1"]),
        ({"queue": "embed"}, ["m2"]),
        ({"subject": MATERIAL}, ["m1"]),
        ({"id": ["m2", "nobody"]}, ["m2"]),
        ({"limit": 1}, ["m1"]),
        ({"state": "dead"}, []),
    ],
)
def test_it_is_found_by_what_is_asked(api: TestClient, asked: dict[str, str], found: list[str]) -> None:
    assert [row["id"] for row in api.get("/v1/work", params=asked).json()["work"]] == found


@pytest.mark.parametrize("asked", [{"state": "lost"}, {"queue": "all"}, {"id": ["x"] * 51}, {"limit": 501}])
def test_what_cannot_be_asked_is_refused(api: TestClient, asked: dict[str, str]) -> None:
    assert api.get("/v1/work", params=asked).status_code == 422


def test_a_material_says_what_of_it_is_not_done(api: TestClient) -> None:
    (material,) = api.get("/v1/materials").json()["materials"]
    assert material["status"] == "ready"
    assert [(row["state"], row["reason"], row["vendor"]) for row in material["work"]] == [
        ("parked", "openai is away", "openai")
    ]
    assert not {"body", "source"} & material["work"][0].keys()
