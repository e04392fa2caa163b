"""`GET /v1/work`, and what a material says of its unfinished work."""

import psycopg
import pytest
from sakuin.http.app import rest_api
from sakuin.http.unfinished_work import MOST_SUBJECTS, WorkOfMaterials, work_router
from sakuin.platform.retry import Defer
from sakuin.platform.supabase.client import Client
from sakuin.platform.unfinished_work import UnfinishedWorkStore, WorkSubject
from starlette.testclient import TestClient

from tests.emptied import emptied
from tests.events import AUTHORIZATION, ring
from tests.worlds import Worlds, with_a_page

MATERIAL = "junior/二次方程式の解き方_教材"
KEY = f"{MATERIAL}.html"
TABLE = "00000000-0000-4000-8000-000000000001"


@pytest.fixture(scope="module")
def unfinished(service: Client, sql: psycopg.Connection) -> UnfinishedWorkStore:
    emptied(sql)
    return UnfinishedWorkStore(service)


@pytest.fixture(scope="module")
def api(unfinished: UnfinishedWorkStore, a_world: Worlds) -> TestClient:
    """The API over a library with one page, whose next version waits for OpenAI."""
    world = with_a_page(a_world)
    unfinished.defer(WorkSubject("file", KEY), Defer(60, "openai is away", "openai"))
    unfinished.record_retry(WorkSubject("table", TABLE, "an index"), "it failed", vendor=None, seconds=30)
    work_of = WorkOfMaterials(unfinished, "")
    routers = [work_router(unfinished, work_of)]
    application = rest_api(world.library, ring, "1.2.3", admin_routers=routers, work_of=work_of)
    return TestClient(application, headers=AUTHORIZATION)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"state": "waiting"}, [KEY]),
        ({"state": "failed"}, []),
        ({"subject": MATERIAL}, [KEY]),
        ({"subject": KEY}, [KEY]),
        ({"subject": [TABLE, "nobody"]}, [TABLE]),
        ({"limit": 1}, [KEY]),
    ],
)
def test_unfinished_work_is_filtered(api: TestClient, asked: dict[str, str], found: list[str]) -> None:
    assert [row["subject"] for row in api.get("/v1/work", params=asked).json()["work"]] == found


@pytest.mark.parametrize("asked", [{"state": "lost"}, {"subject": ["x"] * (MOST_SUBJECTS + 1)}, {"limit": 501}])
def test_a_wrong_filter_is_422(api: TestClient, asked: dict[str, str]) -> None:
    assert api.get("/v1/work", params=asked).status_code == 422
