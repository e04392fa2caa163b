"""The front proxy changes nothing but the address."""

import asyncio
import http.client
import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sakuin_local.proxy import Proxy, Receive, Scope, Send, Target
from sakuin_local.serving import served
from sakuin_local.stack import REMAPPED
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount


class Upstream:
    """Tells what arrived, and how many were here at once."""

    def __init__(self) -> None:
        self.here = 0
        self.most = 0
        # Nobody is answered before so many are here.
        self.together = 1
        self.enough = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        self.here += 1
        self.most = max(self.most, self.here)
        if self.here >= self.together:
            self.enough.set()
        await asyncio.wait_for(self.enough.wait(), 60)
        await asyncio.sleep(0.01)
        said = {
            "method": request.method,
            "path": scope["raw_path"].decode() + "?" + scope["query_string"].decode(),
            "headers": [[name.decode(), value.decode()] for name, value in scope["headers"]],
            "body": (await request.body()).decode(),
        }
        self.here -= 1
        answer = Response(json.dumps(said), 418, {"WWW-Authenticate": 'Bearer realm="sakuin"'})
        answer.raw_headers += [(b"set-cookie", b"a=1"), (b"set-cookie", b"b=2")]
        await answer(scope, receive, send)


@pytest.fixture
def upstream() -> Upstream:
    return Upstream()


@pytest.fixture
def front(upstream: Upstream) -> Iterator[int]:
    with (
        served(upstream) as behind,
        served(Proxy(lambda path: Target(behind, b"/stage/$default" + path), at_once=3)) as port,
    ):
        yield port


def ask(
    port: int, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, body, headers or {}, encode_chunked=isinstance(body, Iterator))
    response = connection.getresponse()
    return response, response.read()


def test_a_header_of_an_answer_is_renamed_as_api_gateway_does(upstream: Upstream) -> None:
    with served(upstream) as behind, served(Proxy(lambda path: Target(behind, path), renamed=REMAPPED)) as port:
        response, _ = ask(port, "POST", "/mcp")
    assert response.headers["x-amzn-remapped-www-authenticate"] == 'Bearer realm="sakuin"'
    assert "www-authenticate" not in response.headers


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS", "PATCH"])
def test_method_path_and_body_arrive_as_they_were_sent(front: int, method: str) -> None:
    path = "/mcp/%E4%BA%8C%2F%23?q=%3D&q=2"

    _, body = ask(front, method, path, b"{}", {"Authorization": "Bearer k"})
    arrived = json.loads(body)

    assert arrived["method"] == method
    assert arrived["path"] == "/stage/$default" + path
    assert arrived["body"] == "{}"
    assert ["authorization", "Bearer k"] in arrived["headers"]


def test_status_and_headers_come_back_doubles_included(front: int) -> None:
    response, _ = ask(front, "GET", "/mcp")

    assert response.status == 418
    assert response.getheader("WWW-Authenticate") == 'Bearer realm="sakuin"'
    assert response.headers.get_all("set-cookie") == ["a=1", "b=2"]
    assert response.headers.get_all("date") is None


def test_a_chunked_body_arrives_whole(front: int) -> None:
    _, body = ask(front, "POST", "/mcp", iter([b"one ", b"two"]), {"Transfer-Encoding": "chunked"})

    assert json.loads(body)["body"] == "one two"


def test_no_more_than_three_are_let_through_at_once(front: int, upstream: Upstream) -> None:
    upstream.together = 3
    with ThreadPoolExecutor(12) as threads:
        answers = list(threads.map(lambda _: ask(front, "GET", "/")[0].status, range(24)))

    assert answers == [418] * 24
    assert upstream.most == 3


def test_a_server_that_is_not_there_is_a_bad_gateway() -> None:
    # Bound, so that nobody else gets the port, and deaf.
    with socket.create_server(("127.0.0.1", 0)) as taken:
        taken.shutdown(socket.SHUT_RDWR)
        nobody = taken.getsockname()[1]
        with served(Proxy(lambda path: Target(nobody, path))) as port:
            response, body = ask(port, "GET", "/")

    assert response.status == 502
    assert "does not answer" in json.loads(body)["message"]


def test_added_headers_take_the_place_of_those_that_came(upstream: Upstream) -> None:
    with (
        served(upstream) as behind,
        served(Proxy(lambda path: Target(behind, path), added=[(b"x-forwarded-proto", b"https")])) as port,
    ):
        _, body = ask(port, "GET", "/", headers={"X-Forwarded-Proto": "http", "Expect": "100-continue"})

    headers = json.loads(body)["headers"]
    assert [value for name, value in headers if name == "x-forwarded-proto"] == ["https"]
    assert "expect" not in dict(headers)


@pytest.mark.parametrize(
    ("path", "status", "arrived"),
    [
        ("/rest/v1/rpc/search?a=%2F", 418, "/rpc/search?a=%2F"),
        ("/rest/v1/?select=id", 418, "/?select=id"),
        ("/rest/v12/x", 404, None),
        ("/auth/v1/token", 404, None),
    ],
)
def test_only_what_is_below_the_prefix_is_passed_on_without_it(
    upstream: Upstream, path: str, status: int, arrived: str | None
) -> None:
    with served(upstream) as behind:
        below = Mount("/rest/v1", Proxy(lambda path: Target(behind, path)))
        with served(Starlette(routes=[below])) as port:
            answer, body = ask(port, "GET", path)
    assert (answer.status, json.loads(body)["path"] if status == 418 else None) == (status, arrived)
