"""The site of the local stack."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from sakuin_local.proxy import NotYet, Proxy, Target, with_site
from sakuin_local.serving import served

from tests.local.test_local_proxy import Upstream, ask

PAGES = {"junior/二次.html": b"<p>page</p>", "learns.yml": b"secret"}


@pytest.fixture
def front() -> Iterator[int]:
    with served(Upstream()) as behind:
        passed_on = Proxy(lambda path: Target(behind, b"/stage" + path))
        with served(with_site(passed_on, PAGES.get)) as port:
            yield port


def test_a_page_is_what_was_uploaded_whatever_page_links_to_it(front: int) -> None:
    path = "/junior/%E4%BA%8C%E6%AC%A1.html"
    answer, body = ask(front, "GET", f"{path}?a=b", headers={"Sec-Fetch-Site": "cross-site"})
    assert (answer.status, answer.headers["content-type"], body) == (200, "text/html; charset=utf-8", b"<p>page</p>")


def test_the_style_of_the_samples_is_served(front: int) -> None:
    answer, body = ask(front, "GET", "/css/site.css")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert b"{" in body


def test_a_page_that_was_not_uploaded_is_not_there(front: int) -> None:
    assert ask(front, "GET", "/a.html")[0].status == 404


@pytest.mark.parametrize(("method", "path"), [("POST", "/mcp"), ("GET", "/learns.yml"), ("PUT", "/junior/a.html")])
def test_other_requests_are_passed_on(front: int, method: str, path: str) -> None:
    assert json.loads(ask(front, method, path, b"{}")[1])["path"] == f"/stage{path}?"


def test_before_the_bucket_is_there_everything_is_starting() -> None:
    def starting(_path: object) -> Any:
        raise NotYet

    with served(with_site(Proxy(starting), starting)) as port:
        for path in ("/a.html", "/mcp"):
            answer, body = ask(port, "GET", path)
            assert (answer.status, json.loads(body)) == (503, {"message": "the stack is still starting"}), path
