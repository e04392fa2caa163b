"""What stands before PostgREST on loopback: at least `/rest/v1` is removed.

For the clients of this process that happens as a request leaves it; a proxy would take a tenth of what a request costs.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpcore
from sakuin_local.addresses import LOOPBACK

_PREFIX = b" /rest/v1"
_LENGTH = b"content-length:"
_LONGEST_HEAD = 1 << 20
# Where a PostgREST is served.
_PORTS: set[int] = set()
_handle: Callable[..., httpcore.Response] = httpcore.ConnectionPool.handle_request
_handle_async: Callable[..., Awaitable[httpcore.Response]] = httpcore.AsyncConnectionPool.handle_async_request


@dataclass(frozen=True, slots=True)
class PassedOn:
    """Where a request goes: a port, and the head that is sent there.

    With `is_alone` it has a connection of its own: PostgREST closes one whose request it refused before its body.
    """

    port: int
    head: bytes
    is_alone: bool = False


# Gives the target of a request by its head, or a whole answer in its place.
Route = Callable[[bytes], PassedOn | bytes]


def without_prefix(head: bytes) -> bytes:
    return head.replace(_PREFIX, b" ", 1)


@contextmanager
def served_below_prefix(port: int) -> Iterator[str]:
    """Makes every client of this process find a PostgREST below its URL and `/rest/v1`; yields the URL."""
    _PORTS.add(port)
    try:
        yield f"http://{LOOPBACK}:{port}"
    finally:
        _PORTS.remove(port)


def _cut(request: httpcore.Request) -> httpcore.Request:
    if request.url.port in _PORTS:
        request.url.target = request.url.target.removeprefix(_PREFIX.strip())
    return request


def _handle_cut(pool: httpcore.ConnectionPool, request: httpcore.Request) -> httpcore.Response:
    return _handle(pool, _cut(request))


async def _handle_cut_async(pool: httpcore.AsyncConnectionPool, request: httpcore.Request) -> httpcore.Response:
    return await _handle_async(pool, _cut(request))


httpcore.ConnectionPool.handle_request = _handle_cut
httpcore.AsyncConnectionPool.handle_async_request = _handle_cut_async


@contextmanager
def passing_on(route: Route) -> Iterator[int]:
    """Passes requests on while the block runs; yields the port."""
    started: Future[tuple[int, Callable[[], None]]] = Future()
    # Ends the connections that are still open, too.
    thread = threading.Thread(target=lambda: asyncio.run(_serve(route, started)), daemon=True)
    thread.start()
    own, stop = started.result()
    try:
        yield own
    finally:
        stop()
        thread.join()


async def _serve(route: Route, started: Future[tuple[int, Callable[[], None]]]) -> None:
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    connected = lambda *ends: _Connection(route, *ends).serve()  # noqa: E731 - as the server wants it
    server = await asyncio.start_server(connected, LOOPBACK, 0, limit=_LONGEST_HEAD)
    started.set_result((server.sockets[0].getsockname()[1], lambda: loop.call_soon_threadsafe(stopped.set)))
    await stopped.wait()
    server.close()


@dataclass(slots=True)
class _Connection:
    """A client's connection, with one of its own to each port that its requests go to."""

    route: Route
    client: asyncio.StreamReader
    answers: asyncio.StreamWriter
    servers: dict[int, asyncio.StreamWriter] = field(default_factory=dict)
    backs: list[asyncio.Task[None]] = field(default_factory=list)

    async def serve(self) -> None:
        try:
            while True:
                head = await self.client.readuntil(b"\r\n\r\n")
                length = _length(head)
                body = await self.client.readexactly(length) if length else b""
                target = self.route(head)
                if isinstance(target, bytes):
                    self.answers.write(target)
                    await self.answers.drain()
                    continue
                if target.is_alone and target.port in self.servers:
                    self.backs.pop().cancel()
                    self.servers.pop(target.port).close()
                requests = await self._server(target)
                requests.write(target.head + body)
                await requests.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            # The client has no more requests, or the tests have no more clients; or the server is away.
            for back in self.backs:
                back.cancel()
        finally:
            for requests in self.servers.values():
                requests.close()
            self.answers.close()

    async def _server(self, target: PassedOn) -> asyncio.StreamWriter:
        if target.port not in self.servers:
            server, self.servers[target.port] = await asyncio.open_connection(LOOPBACK, target.port)
            self.backs.append(asyncio.create_task(_pass_on(server, self.answers, is_alone=target.is_alone)))
        return self.servers[target.port]


async def _pass_on(server: asyncio.StreamReader, answers: asyncio.StreamWriter, *, is_alone: bool) -> None:
    answered = False
    while part := await server.read(_LONGEST_HEAD):
        answered = True
        answers.write(part)
        await answers.drain()
    if not (is_alone and answered):
        answers.close()


def _length(head: bytes) -> int:
    """How many bytes of body follow the head of a request."""
    _, found, rest = head.lower().partition(_LENGTH)
    return int(rest.partition(b"\r\n")[0]) if found else 0
