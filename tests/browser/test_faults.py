"""What the tests in the browser fail on, all on one page."""

from collections.abc import Iterator

import pytest
from sakuin.console.forms import CONTENT_SECURITY_POLICY
from sakuin_local.serving import served
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from tests.browser.driving import Browser

FAULTS = {
    "<script>alert(1)</script>": "violation of script-src-elem by inline",
    "<p style='color: red'>A</p>": "violation of style-src-attr by inline",
    "<img alt='' src='https://elsewhere.example/a.png'>": "another origin: https://elsewhere.example/a.png",
    "<img alt='' src='/nothing'>": "404: ",
    "<script src='/broken.js'></script>": "error of the page: it is broken",
    "<script src='/said.js'></script>": "console: it says so",
    "<img src='/icon.svg'>": "axe image-alt",
    "<link rel='stylesheet' href='/pale.css'><p class='pale'>Pale</p>": '<p class="pale">',
    "<p class='pale-in-the-dark'>Pale</p>": '<p class="pale-in-the-dark">',
    f"<p>{'wide' * 200}</p>": "wider than a phone",
}
PALE = ".pale { color: #ccc } @media (prefers-color-scheme: dark) { .pale-in-the-dark { color: #ccc } }"
FILES = {
    "broken.js": ("text/javascript", "throw new Error('it is broken')"),
    "said.js": ("text/javascript", "console.error('it says so')"),
    "icon.svg": ("image/svg+xml", "<svg xmlns='http://www.w3.org/2000/svg'/>"),
    "pale.css": ("text/css", PALE),
}


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    page = f"<!doctype html><html lang='en'><title>Faults</title><main><h1>Faults</h1>{''.join(FAULTS)}</main>"

    def show(_request: Request) -> Response:
        return HTMLResponse(page, headers={"Content-Security-Policy": CONTENT_SECURITY_POLICY})

    def file(request: Request) -> Response:
        media_type, content = FILES.get(request.path_params["name"], ("text/plain", None))
        return Response(content, 200 if content else 404, media_type=media_type)

    with served(Starlette(routes=[Route("/", show), Route("/{name}", file)])) as port:
        yield f"http://127.0.0.1:{port}"


def test_each_fault_of_a_page_is_found(browser: Browser, origin: str) -> None:
    problems = browser.run("faults", origin=origin)
    assert [each for each in FAULTS.values() if not any(each in problem for problem in problems)] == [], problems
