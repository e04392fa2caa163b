"""What is done about events that a killed emulator has lost."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from sakuin_local.errors import LocalError
from sakuin_local.reconcile import reconcile
from sakuin_local.serving import served
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

GONE = {"rule": "gone", "where": "a.html", "message": "m", "repair": "r"}
MISSING = GONE | {"rule": "missing", "where": "b.html"}
LOST = GONE | {"rule": "lost", "where": "a table"}


@dataclass
class Api:
    """The two routes that are asked, for `pages` pages. It answers after `away` requests."""

    differences: dict[str, list[list[dict[str, str]]]] = field(default_factory=dict)
    pages: int = 10
    away: int = 0
    status: int = 503
    repaired: list[str] = field(default_factory=list)

    async def reconcile(self, request: Request) -> JSONResponse:
        if self.away > 0:
            self.away -= 1
            return JSONResponse({"detail": "Supabase did not answer"}, self.status)
        asked: dict[str, Any] = json.loads(await request.body())
        found = self.differences.get(asked["kind"], [[]])
        page = int(asked["after"] or 0)
        if not asked["dry_run"]:
            self.repaired += [one["where"] for one in found[page]]
        following = str(page + 1) if page + 1 < len(found) else None
        return JSONResponse({"differences": found[page], "next": following})

    async def counts(self, _request: Request) -> JSONResponse:
        materials = {"ready": self.pages - 1, "failed": 1}
        return JSONResponse({"materials": materials, "chunks": 0, "waiting": [], "last_indexed": None})

    @contextmanager
    def running(self) -> Iterator[dict[str, str]]:
        """The environment of commands that talk to it."""
        routes = [Route("/v1/reconcile", self.reconcile, methods=["POST"]), Route("/v1/status", self.counts)]
        with served(Starlette(routes=routes)) as port:
            yield {"SAKUIN_URL": f"http://127.0.0.1:{port}", "SAKUIN_ADMIN_KEY": "key"}


def test_what_differs_is_repaired_page_by_page() -> None:
    api = Api({"keys": [[GONE], [MISSING]], "tables": [[LOST]]})
    with api.running() as environment:
        said = reconcile(environment)
    assert said == "compared the index with its sources: 3 differences repaired"
    assert api.repaired == ["a.html", "b.html", "a table"]


def test_an_api_that_does_not_answer_yet_is_asked_again() -> None:
    api, pauses = Api(away=3), list[float]()
    with api.running() as environment:
        said = reconcile(environment, sleep=pauses.append)
    assert (said, len(pauses)) == ("compared the index with its sources: 0 differences repaired", 3)


def test_an_api_that_never_answers_is_an_error_after_ten_minutes() -> None:
    api, now = Api(away=1000), [0.0]

    def sleep(_seconds: float) -> None:
        now[0] += 200

    with api.running() as environment, pytest.raises(LocalError, match="could not be compared with the bucket"):
        reconcile(environment, clock=lambda: now[0], sleep=sleep)
    assert now[0] == 800


def test_a_key_that_is_wrong_is_an_error_at_once() -> None:
    api = Api(away=1000, status=401)
    with api.running() as environment, pytest.raises(LocalError, match="could not be compared with the bucket"):
        reconcile(environment, sleep=lambda _seconds: pytest.fail("it waits"))


@pytest.mark.parametrize(
    ("gone", "pages", "is_held_back"), [(1, 1, False), (5, 10, False), (6, 10, True), (2, 3, True)]
)
def test_a_bucket_without_most_of_its_pages_does_not_empty_the_index(gone: int, pages: int, is_held_back: bool) -> None:
    found = [GONE | {"where": f"{number}.html"} for number in range(gone)]
    api = Api({"keys": [[*found, MISSING]], "tables": [[LOST]]}, pages=pages)
    with api.running() as environment:
        said = reconcile(environment)
    assert ("b.html" in api.repaired, "a table" in api.repaired) == (not is_held_back, True)
    assert (f"{gone} of {pages} pages are not in the bucket: `sakuin reconcile`" in said) == is_held_back
