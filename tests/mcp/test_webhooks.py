"""Where webhooks may go: hostile addresses, receivers that never end, and redirects."""

import json
import socket
import time
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

import anyio
import pytest
from sakuin.errors import Invalid
from sakuin.mcp.changes import webhooks
from sakuin.mcp.changes.webhooks import Callback, CallbackFailed, Webhooks, is_public

from tests.contracts.scripted_server import Said, scripted_server

SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"
INSIDE = (
    "0.0.0.0 10.0.0.1 100.64.0.1 127.0.0.1 127.1.2.3 169.254.169.254 169.254.170.2 172.16.0.1 192.0.0.192 "
    "192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 203.0.113.9 224.0.0.1 240.0.0.1 255.255.255.255 :: ::1 "
    "::ffff:127.0.0.1 ::ffff:8.8.8.8 ::7f00:1 64:ff9b::7f00:1 64:ff9b:1::1 100::1 2001::7f00:1 2001:db8::1 "
    "2002:7f00:1:: fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1 "
)


@pytest.mark.parametrize("address", INSIDE.split())
def test_an_address_inside_is_none_to_send_to(address: str) -> None:
    assert not is_public(ip_address(address))
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(Invalid):
        Webhooks().check(f"https://{host}/hook")
    for public in ("8.8.8.8", "1.1.1.1", "2606:4700::1111", "2a00:1450:4001::200e"):
        assert is_public(ip_address(public))


@pytest.mark.parametrize(
    "url",
    [
        *("", "hook", "//example.com/", "http://example.com/", "ftp://example.com/", "file:///etc/passwd"),
        *("https://", "https:///hook", "https://u:p@example.com/", "https://u@example.com/", "https://example.com/#a"),
        *("https://exa mple.com/", "https://example.com:99999/", f"https://example.com/{'a' * 2000}"),
        *("https://例え.jp/", "javascript:alert(1)", "https://[::1", "\nhttps://example.com"),
    ],
)
def test_what_is_no_address_of_a_webhook_is_an_error(url: str) -> None:
    with pytest.raises(Invalid):
        Webhooks().check(url)


def resolve_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
    """Has every name resolve to these addresses; returns the names that are looked up."""
    names: list[str] = []

    async def found(name: str, port: int, **_how: Any) -> Sequence[Any]:
        names.append(name)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(webhooks.anyio, "getaddrinfo", found)
    return names


def sent(to: Webhooks, url: str) -> bytes:
    return anyio.run(to.send, Callback(url, "sub_1", [SECRET]), "evt", {"eventId": "evt"})


@pytest.mark.parametrize(
    "addresses", [["127.0.0.1"], ["169.254.169.254"], ["8.8.8.8", "10.0.0.1"], ["::1"], ["fd00:ec2::254"], []]
)
def test_a_name_is_judged_by_its_addresses_each_time(monkeypatch: pytest.MonkeyPatch, addresses: list[str]) -> None:
    with scripted_server(Said(204)) as inside:
        names = resolve_to(monkeypatch, *addresses)
        port = inside.url.rpartition(":")[2]
        with pytest.raises(CallbackFailed, match="connection_refused"):
            sent(Webhooks(), f"https://rebinding.example:{port}/")
    assert (names, inside.asked) == (["rebinding.example"], [])


def test_the_connection_goes_to_the_checked_address_with_the_given_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted_server(Said(200, b"ok")) as receiver:
        names = resolve_to(monkeypatch, "127.0.0.1")
        port = receiver.url.rpartition(":")[2]
        assert sent(Webhooks(to_private=True), f"http://hooks.example:{port}/a?b=c") == b"ok"
    assert (names, receiver.asked) == (["hooks.example"], ["/a?b=c"])
    assert receiver.headers[0]["host"] == f"hooks.example:{port}"


def test_a_redirect_is_a_failure_and_is_not_followed() -> None:
    with scripted_server(Said(204)) as inside:
        away = Said(307, headers=(("Location", inside.url),))
        with scripted_server(away) as receiver, pytest.raises(CallbackFailed, match="http_4xx"):
            sent(Webhooks(to_private=True), receiver.url)
    assert inside.asked == []


def test_a_receiver_that_answers_without_end_costs_a_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "_SECONDS", 0.5)
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]

    async def drip(to: Webhooks) -> None:
        async def serve() -> None:
            stream, _ = await anyio.to_thread.run_sync(listening.accept)
            while True:
                await anyio.to_thread.run_sync(stream.send, b"H")
                await anyio.sleep(0.05)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve)
            try:
                await to.send(Callback(f"http://127.0.0.1:{port}/", "sub_1", [SECRET]), "evt", {})
            finally:
                tasks.cancel_scope.cancel()

    started = time.monotonic()
    with listening, pytest.raises(BaseException) as error:  # noqa: PT011 - a group of one
        anyio.run(drip, Webhooks(to_private=True))
    assert time.monotonic() - started < 3
    assert "timeout" in repr(error.value) or "connection" in repr(error.value)


def test_the_end_of_a_long_answer_is_not_read() -> None:
    with scripted_server(Said(200, b"a" * 5_000_000)) as receiver:
        assert len(sent(Webhooks(to_private=True), receiver.url)) == 8_192


def test_a_message_of_more_than_256_kib_is_not_sent() -> None:
    with scripted_server(Said(204)) as receiver, pytest.raises(CallbackFailed) as error:
        anyio.run(
            Webhooks(to_private=True).send, Callback(receiver.url, "sub_1", [SECRET]), "evt", {"a": "あ" * 90_000}
        )
    assert (error.value.status, receiver.asked) == (413, [])


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b'{"challenge": 1}', b'{"challenge": "\\ud800"}', b"\xff"])
def test_an_answer_that_is_no_echo_proves_nothing(body: bytes) -> None:
    with scripted_server(Said(200, body)) as receiver, pytest.raises(CallbackFailed, match="challenge_failed"):
        anyio.run(Webhooks(to_private=True).challenge, Callback(receiver.url, "sub_1", [SECRET]))
    message = json.loads(receiver.bodies[0])
    assert (message.keys(), message["type"]) == ({"type", "challenge"}, "verification")
    assert receiver.headers[0]["webhook-id"].startswith("msg_verification_")
