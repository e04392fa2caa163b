"""The site of the local stack."""

import json
from collections.abc import Iterator

import pytest
from sakuin_local.proxy import NotYet, Proxy, Target
from sakuin_local.serving import served
from sakuin_local.site import WithSite

from tests.local.test_local_proxy import Upstream, ask


@pytest.fixture
def front() -> Iterator[int]:
    with served(Upstream()) as behind:
        passed_on = Proxy(lambda path: Target(behind, b"/stage" + path))
        with served(WithSite(passed_on, lambda: Target(behind, b"/bucket"))) as port:
            yield port


def test_a_page_comes_from_the_bucket_whatever_page_links_to_it(front: int) -> None:
    path = "/junior/%E4%BA%8C%E6%AC%A1.html"
    _, body = ask(
        front, "GET", f"/site{path}?list-type=2", headers={"Sec-Fetch-Site": "cross-site", "Origin": "http://a"}
    )
    arrived = json.loads(body)
    assert (arrived["method"], arrived["path"]) == ("GET", f"/bucket{path}?")
    assert not {"sec-fetch-site", "origin"} & {name for name, _ in arrived["headers"]}


def test_the_style_of_the_samples_is_served(front: int) -> None:
    answer, body = ask(front, "GET", "/site/css/site.css")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert b"{" in body


@pytest.mark.parametrize(
    ("method", "path", "status"), [("PUT", "/a.html", 405), ("GET", "/", 404), ("GET", "/a.yml", 404)]
)
def test_nothing_else_of_the_bucket_is_reached(front: int, method: str, path: str, status: int) -> None:
    answer, body = ask(front, method, f"/site{path}", b"")
    assert (answer.status, b"bucket" in body) == (status, False)


def test_other_requests_are_passed_on(front: int) -> None:
    assert json.loads(ask(front, "POST", "/mcp", b"{}")[1])["path"] == "/stage/mcp?"


def test_before_the_bucket_is_there_the_site_is_starting() -> None:
    def starting() -> Target:
        raise NotYet

    with served(WithSite(Proxy(lambda _path: None), starting)) as port:
        assert ask(port, "GET", "/site/a.html")[0].status == 503
