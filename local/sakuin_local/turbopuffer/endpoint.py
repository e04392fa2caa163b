"""The routes of turbopuffer's HTTP API that its SDK uses."""

import gzip
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sakuin_local.turbopuffer import limits
from sakuin_local.turbopuffer.limits import Refused
from sakuin_local.turbopuffer.store import Store

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure that a test asks for. `is_late`: the request is carried out, and then its answer is lost."""

    status: int
    is_late: bool
    retry_after_ms: int


class Failures:
    """The failures of the next requests."""

    def __init__(self) -> None:
        self._waiting: list[Failure] = []
        self._lock = threading.Lock()

    def set(self, body: Any) -> None:
        """Replaces the failures: `{"status": 429, "times": 2}`, optionally with `late` and `retry_after_ms`."""
        if not isinstance(body, dict) or not 400 <= int(body.get("status", 0)) < 600:
            raise Refused("a failure has a status of 400 to 599", status=422)
        failure = Failure(int(body["status"]), bool(body.get("late")), int(body.get("retry_after_ms", 1)))
        with self._lock:
            self._waiting = [failure] * int(body.get("times", 1))

    def next(self) -> Failure | None:
        """Returns the failure of this request, if any."""
        with self._lock:
            return self._waiting.pop() if self._waiting else None


def application(store: Store) -> Starlette:
    """Returns the API over `store`, with `POST /_stand_in/failures` for tests."""
    failures = Failures()

    def guarded(work: Callable[[Request, Any], Any], *, status: int = 200) -> Handler:
        async def handler(request: Request) -> Response:
            try:
                _check_key(request)
                failure = failures.next()
                if failure and not failure.is_late:
                    return _failed(failure)
                body = await _json(request)
                answer = await run_in_threadpool(work, request, body)
            except Refused as refusal:
                return _sent({"status": "error", "error": str(refusal)}, refusal.status)
            return _failed(failure) if failure else _sent(answer, status)

        return handler

    def listed(request: Request, body: Any) -> Any:
        asked = request.query_params
        size = asked.get("page_size", "1000")
        if not size.isdecimal():
            raise Refused("page_size is a number")
        return store.listed(asked.get("prefix", ""), asked.get("cursor", ""), int(size))

    async def failing(request: Request) -> Response:
        try:
            failures.set(orjson.loads(await request.body()))
        except Refused as refusal:
            return _sent({"status": "error", "error": str(refusal)}, refusal.status)
        return _sent({"status": "OK"}, 200)

    async def healthz(request: Request) -> Response:
        return _sent({"status": "ok"}, 200)

    def warmed(request: Request, body: Any) -> Any:
        store.schema(_name(request))
        return {"status": "ACCEPTED", "message": "cache warm hint accepted"}

    one_v1, one_v2 = "/v1/namespaces/{namespace}", "/v2/namespaces/{namespace}"
    write = guarded(lambda request, body: store.write(_name(request), body))
    delete = guarded(lambda request, body: store.delete(_name(request)))
    query = guarded(lambda request, body: store.query(_name(request), body))
    metadata = guarded(lambda request, body: store.metadata(_name(request)))
    schema = guarded(lambda request, body: store.schema(_name(request)))
    return Starlette(
        routes=[
            Route("/v1/namespaces", guarded(listed)),
            Route(one_v2, write, methods=["POST"]),
            Route(one_v2, delete, methods=["DELETE"]),
            Route(f"{one_v2}/query", query, methods=["POST"]),
            Route(f"{one_v1}/metadata", metadata),
            Route(f"{one_v2}/metadata", metadata),
            Route(f"{one_v1}/schema", schema),
            Route(f"{one_v1}/hint_cache_warm", guarded(warmed, status=202)),
            Route("/_stand_in/failures", failing, methods=["POST"]),
            Route("/healthz", healthz),
        ]
    )


def _name(request: Request) -> str:
    return str(request.path_params["namespace"])


def _check_key(request: Request) -> None:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    if scheme != "Bearer" or not key.strip():
        raise Refused("no API key", status=401)


async def _json(request: Request) -> Any:
    if int(request.headers.get("content-length", 0)) > limits.REQUEST_BYTES:
        raise Refused("the request is larger than 512 MB", status=413)
    body = await request.body()
    if request.headers.get("content-encoding") == "gzip":
        body = gzip.decompress(body)
    if len(body) > limits.REQUEST_BYTES:
        raise Refused("the request is larger than 512 MB", status=413)
    try:
        return orjson.loads(body) if body else None
    except orjson.JSONDecodeError as error:
        raise Refused(f"the body is not JSON: {error}") from error


def _failed(failure: Failure) -> Response:
    response = _sent({"status": "error", "error": "requested by a test"}, failure.status)
    response.headers["retry-after-ms"] = str(failure.retry_after_ms)
    return response


def _sent(answer: Any, status: int) -> Response:
    return Response(orjson.dumps(answer), status, media_type="application/json")
