"""The front proxy and the site: the address alone changes, and no web page of elsewhere reaches this machine."""

import asyncio
import http.client
import json
import socket
from collections.abc import Iterator, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from sakuin_local.addresses import free_port
from sakuin_local.aws.emulator import Emulator, start
from sakuin_local.processes import Programs
from sakuin_local.proxy import NotYet, Proxy, Receive, Scope, Send, Target, with_site
from sakuin_local.same_machine import SameMachine, WithTls
from sakuin_local.serving import served
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
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


OURS = ["127.0.0.1:8787", "127.0.0.1", "localhost:8787", "api.localhost:8787", "[::1]:8787", "172.17.0.1:9000"]

OF_OTHERS = ["evil.example", "evil.example:8787", "127.0.0.1.evil.example:8787", "localhost.evil.example"]

FROM_PAGES = [
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:3000"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
]
# A person who types an address, and a program.
NOT_FROM_PAGES = [{"Sec-Fetch-Site": "none"}, {}]
# What a server that asks for keys answers, and one that takes any key.
EXPECTED: list[tuple[dict[str, str], list[int]]] = [
    *(({"Host": name}, [200, 200]) for name in OURS),
    *(({"Host": name}, [403, 403]) for name in OF_OTHERS),
    *((headers, [200, 403]) for headers in FROM_PAGES),
    *((headers, [200, 200]) for headers in NOT_FROM_PAGES),
]


def status(port: int, headers: dict[str, str], path: str = "/") -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path, headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.fixture(scope="module")
def open_to_pages() -> Iterator[int]:
    with served(Response("here")) as port:
        yield port


@pytest.fixture(scope="module")
def closed_to_pages() -> Iterator[int]:
    with served(SameMachine(Response("here"))) as port:
        yield port


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    folder = tmp_path_factory.mktemp("emulator")
    programs = Programs(folder)
    try:
        yield start(folder, programs, Emulator(free_port()))
    finally:
        programs.stop()


@pytest.mark.parametrize(("headers", "statuses"), EXPECTED)
def test_programs_of_this_machine_are_answered_and_pages_only_by_servers_that_ask_for_keys(
    open_to_pages: int, closed_to_pages: int, headers: dict[str, str], statuses: list[int]
) -> None:
    assert [status(port, headers) for port in (open_to_pages, closed_to_pages)] == statuses


@pytest.mark.parametrize("headers", [FROM_PAGES[0], {"Host": "evil.example"}])
def test_the_emulator_answers_no_page(emulator: Emulator, headers: dict[str, str]) -> None:
    health = "/_ministack/health"
    assert [status(emulator.port, each, health) for each in (headers, {})] == [403, 200]


@pytest.mark.parametrize(("headers", "protocol"), [({}, "https"), ({"X-Forwarded-Proto": "http"}, "http")])
def test_the_emulator_takes_a_request_for_encrypted_unless_a_proxy_says_otherwise(
    headers: dict[str, str], protocol: str
) -> None:
    async def echo(scope: Any, receive: Any, send: Any) -> None:
        await PlainTextResponse(Request(scope).headers["x-forwarded-proto"])(scope, receive, send)

    with served(WithTls(echo)) as port:
        assert httpx.get(f"http://127.0.0.1:{port}", headers=headers).text == protocol


def test_a_pages_socket_is_closed_before_it_opens() -> None:
    sent: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "websocket.connect"}

    scope = {"type": "websocket", "headers": [(b"host", b"127.0.0.1:1"), (b"origin", b"https://evil.example")]}
    asyncio.run(SameMachine(Response("here"))(scope, receive, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]


PAGES = {"junior/二次.html": b"<p>page</p>", "learns.yml": b"secret"}


@pytest.fixture
def site() -> Iterator[int]:
    with served(Upstream()) as behind:
        passed_on = Proxy(lambda path: Target(behind, b"/stage" + path))
        with served(with_site(passed_on, PAGES.get)) as port:
            yield port


@pytest.mark.parametrize(
    ("path", "status", "kind", "begin"),
    [
        ("/junior/%E4%BA%8C%E6%AC%A1.html?a=b", 200, "text/html; charset=utf-8", b"<p>page</p>"),
        ("/css/site.css", 200, "text/css; charset=utf-8", b""),
        ("/a.html", 404, "application/json", b""),
    ],
)
def test_uploaded_pages_and_their_style_are_served_whatever_page_links_to_them(
    site: int, path: str, status: int, kind: str, begin: bytes
) -> None:
    answer, body = ask(site, "GET", path, headers={"Sec-Fetch-Site": "cross-site"})
    assert (answer.status, answer.headers["content-type"], body.startswith(begin)) == (status, kind, True)


@pytest.mark.parametrize(("method", "path"), [("POST", "/mcp"), ("GET", "/learns.yml"), ("PUT", "/junior/a.html")])
def test_other_requests_are_passed_on(site: int, method: str, path: str) -> None:
    assert json.loads(ask(site, method, path, b"{}")[1])["path"] == f"/stage{path}?"


def test_before_the_bucket_is_there_everything_is_starting() -> None:
    def starting(_path: object) -> Any:
        raise NotYet

    with served(with_site(Proxy(starting), starting)) as port:
        for path in ("/a.html", "/mcp"):
            answer, body = ask(port, "GET", path)
            assert (answer.status, json.loads(body)) == (503, {"message": "the stack is still starting"}), path
