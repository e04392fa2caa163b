"""`/rest/v1` in front of PostgREST, where the product's clients look for it: bytes are passed on, answers unread."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass

from sakuin_local.addresses import LOOPBACK

_PREFIX = b" /rest/v1"
_LENGTH = b"content-length:"
_LONGEST_HEAD = 1 << 20


@contextmanager
def served_below_prefix(port: int) -> Iterator[str]:
    """Serves a PostgREST's port while the block runs; yields the URL above `/rest/v1`."""
    started: Future[tuple[int, Callable[[], None]]] = Future()
    # Ends the connections that are still open, too.
    thread = threading.Thread(target=lambda: asyncio.run(_serve(port, started)), daemon=True)
    thread.start()
    own, stop = started.result()
    try:
        yield f"http://{LOOPBACK}:{own}"
    finally:
        stop()
        thread.join()


async def _serve(port: int, started: Future[tuple[int, Callable[[], None]]]) -> None:
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    server = await asyncio.start_server(_Connections(port).serve, LOOPBACK, 0, limit=_LONGEST_HEAD)
    started.set_result((server.sockets[0].getsockname()[1], lambda: loop.call_soon_threadsafe(stopped.set)))
    await stopped.wait()
    server.close()


@dataclass(frozen=True, slots=True)
class _Connections:
    """Passes each connection on to one of its own."""

    port: int

    async def serve(self, client: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
        try:
            server, requests = await asyncio.open_connection(LOOPBACK, self.port)
        except ConnectionError:
            answers.close()
            return
        back = asyncio.create_task(_pass_on(server, answers))
        try:
            while True:
                head = await client.readuntil(b"\r\n\r\n")
                requests.write(head.replace(_PREFIX, b" ", 1))
                if length := _length(head):
                    requests.write(await client.readexactly(length))
                await requests.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            # The client has no more requests, or the tests have no more clients.
            back.cancel()
        finally:
            requests.close()
            answers.close()


async def _pass_on(server: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
    while part := await server.read(_LONGEST_HEAD):
        answers.write(part)
        await answers.drain()
    answers.close()


def _length(head: bytes) -> int:
    """How many bytes of body follow the head of a request."""
    _, found, rest = head.lower().partition(_LENGTH)
    return int(rest.partition(b"\r\n")[0]) if found else 0
