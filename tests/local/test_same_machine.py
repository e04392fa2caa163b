"""Servers on this machine answer programs on it, and no web page that a browser on it has open."""

import asyncio
import http.client
from collections.abc import Iterator, MutableMapping
from typing import Any

import httpx
import pytest
from sakuin_local.addresses import free_port
from sakuin_local.aws.emulator import Emulator, start
from sakuin_local.processes import Programs
from sakuin_local.same_machine import SameMachine, WithTls
from sakuin_local.serving import served
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

NAMES_OF_OURS = ["127.0.0.1:8787", "127.0.0.1", "localhost:8787", "api.localhost:8787", "[::1]:8787", "172.17.0.1:9000"]
NAMES_OF_OTHERS = ["evil.example", "evil.example:8787", "127.0.0.1.evil.example:8787", "localhost.evil.example"]
FROM_PAGES = [
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:3000"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
]
# A person who types an address, and a program.
NOT_FROM_PAGES = [{"Sec-Fetch-Site": "none"}, {}]


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


@pytest.mark.parametrize("name", NAMES_OF_OURS)
def test_a_number_and_this_machines_name_are_answered(open_to_pages: int, closed_to_pages: int, name: str) -> None:
    assert [status(port, {"Host": name}) for port in (open_to_pages, closed_to_pages)] == [200, 200]


@pytest.mark.parametrize("name", NAMES_OF_OTHERS)
def test_a_name_that_was_pointed_here_is_refused(open_to_pages: int, closed_to_pages: int, name: str) -> None:
    assert [status(port, {"Host": name}) for port in (open_to_pages, closed_to_pages)] == [403, 403]


@pytest.mark.parametrize("headers", FROM_PAGES)
def test_a_server_that_asks_for_keys_answers_pages_and_one_that_takes_any_key_does_not(
    open_to_pages: int, closed_to_pages: int, headers: dict[str, str]
) -> None:
    assert [status(port, headers) for port in (open_to_pages, closed_to_pages)] == [200, 403]


@pytest.mark.parametrize("headers", NOT_FROM_PAGES)
def test_programs_and_a_typed_address_are_answered(closed_to_pages: int, headers: dict[str, str]) -> None:
    assert status(closed_to_pages, headers) == 200


@pytest.mark.parametrize("headers", [*FROM_PAGES, {"Host": "evil.example"}])
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
