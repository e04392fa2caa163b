"""A PostgREST on loopback below `/rest/v1`, as hosted Supabase has it.

The prefix is removed as a request leaves this process; a proxy would take a tenth of what a request costs.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpcore
import httpcore2
from sakuin_local.addresses import LOOPBACK

_PREFIX = "/rest/v1"
# Where a PostgREST is served.
_PORTS: set[int] = set()
_handle_async: Callable[..., Awaitable[httpcore.Response]] = httpcore.AsyncConnectionPool.handle_async_request


@contextmanager
def served_below_prefix(port: int) -> Iterator[str]:
    """Makes every client of this process find a PostgREST below its URL and `/rest/v1`; yields the URL."""
    _PORTS.add(port)
    try:
        yield f"http://{LOOPBACK}:{port}"
    finally:
        _PORTS.remove(port)


def _cut(request: Any) -> Any:
    if request.url.port in _PORTS:
        request.url.target = request.url.target.removeprefix(_PREFIX.encode())
    return request


def _cutting(handle: Callable[..., Any]) -> Callable[..., Any]:
    return lambda pool, request: handle(pool, _cut(request))


async def _handle_cut_async(pool: httpcore.AsyncConnectionPool, request: httpcore.Request) -> httpcore.Response:
    return await _handle_async(pool, _cut(request))


for _pool in (httpcore.ConnectionPool, httpcore2.ConnectionPool):
    _pool.handle_request = _cutting(_pool.handle_request)  # type: ignore[attr-defined]
httpcore.AsyncConnectionPool.handle_async_request = _handle_cut_async
